// A model's preset in the megatron dialect. Private to the room.
#pragma once

#include "primus/dialect/preset_from_model.h"

namespace primus::dialect {

// Every key of the architecture. What the dialect cannot say is left out: the caller translates back and compares.
ModelPreset megatron_preset(const spec::Model& model);

// A list of switches as upstream writes it: "([0]*3+[1]*58)", "([0]*1+[1]*1)*24".
std::string layer_pattern_text(const std::vector<bool>& pattern);

}  // namespace primus::dialect
