// Megatron's Mamba stacks, as megatron and megatron_bridge describe them: layers of one letter each. Source:
// megatron.core 0.19 (ssm: mamba_mixer, mamba_hybrid_layer_allocation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "primus/dialect/translation.h"

namespace primus::dialect {

struct MambaStack {
  int64_t head_dim = 64, state_dim = 128, num_groups = 8;
  std::optional<int64_t> num_heads;  // nothing: twice the hidden size over the width of a head
  double attention_ratio = 0, mlp_ratio = 0;
  std::optional<std::string> pattern;  // M (Mamba), * (attention), - (MLP), E (experts); instead of the ratios
  std::string prefix;                  // of the dialect's keys, in errors
};

// A layer of these stacks is one half of ours: a mixer or an MLP, with its norm. The layers of t.run.model keep only
// the half that the stack gives them.
void use_mamba_stack(Translation& t, const MambaStack& stack);

}  // namespace primus::dialect
