// The lines at the start of a run: what is trained, on what, with what.
#pragma once

#include "primus/train/trainer.h"

namespace primus::train {

// Logged by rank 0, one fact a line.
void log_header(Trainer& trainer);

}  // namespace primus::train
