// Text from the model in training, shown at the end of a run.
#pragma once

#include <string>

#include "primus/train/trainer.h"

namespace primus::train {

// Two hundred tokens behind the end-of-document token, or behind a line break, and what came before them.
std::string sample_text(Trainer& trainer);

}  // namespace primus::train
