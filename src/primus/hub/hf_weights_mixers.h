// The stored tensors of mixers that are no plain attention. Private to the room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/hub/hf_weights.h"
#include "primus/hub/hf_weights_naming.h"

namespace primus::hub {

// hf: "model.layers.3.", piece: "layer.3.". Nothing where the family has no name for such a mixer.
std::optional<std::vector<HfTensor>> mixer_tensors(const spec::LayerSpec& layer, int64_t hidden, const HfNaming& naming,
                                                   const std::string& hf, const std::string& piece);

// q_proj of attention with a gate on its output: head by head the queries, then the gate.
// hf: "model.layers.3.self_attn.", piece: "layer.3.attn.".
std::vector<HfTensor> gated_queries(const spec::Attention& attention, int64_t hidden, const std::string& hf,
                                    const std::string& piece);

}  // namespace primus::hub
