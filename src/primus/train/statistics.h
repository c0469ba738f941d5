// Numbers about weights and gradients that a run logs when asked to.
#pragma once

#include "primus/train/trainer.h"

namespace primus::train {

// L2 norm of all master weights. A collective when the optimizer is sharded: every rank calls it.
double parameters_norm(Trainer& trainer);
// Elements of the summed gradients that are exactly zero.
int64_t num_zero_gradients(Trainer& trainer);

}  // namespace primus::train
