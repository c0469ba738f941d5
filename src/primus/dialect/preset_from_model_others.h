// Model presets of the dialects that name architectures. Private to the room.
#pragma once

#include "primus/dialect/preset_from_model.h"

namespace primus::dialect {

// The nearest the dialect can say: the caller translates back and compares. Decisions tell what was chosen.
Result<ModelPreset> titan_preset(const spec::Model& model);
Result<ModelPreset> maxtext_preset(const spec::Model& model);
// Errors: no recipe has this architecture; found names the nearest and what it has differently.
Result<ModelPreset> bridge_preset(const spec::Model& model);

// The sequence length at which a model and its preset are compared. TorchTitan's YaRN depends on it: all positions that
// the model has. MaxText and Megatron Bridge only refuse longer ones than they have positions: a short one.
int64_t compared_length(const spec::Model& model, std::string_view framework);

}  // namespace primus::dialect
