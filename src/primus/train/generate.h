// Text from the model in training, shown at the end of a run.
#pragma once

#include <string>
#include <string_view>

#include "primus/train/trainer.h"

namespace primus::train {

// Two hundred tokens behind the end-of-document token, or behind a line break, and what came before them.
std::string sample_text(Trainer& trainer);

// UTF-8 text with U+FFFD for what a terminal would obey: control characters other than newline and tab.
std::string without_controls(std::string_view text);

}  // namespace primus::train
