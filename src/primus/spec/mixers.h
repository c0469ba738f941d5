// Mixers that are no attention: how a token learns of those before it. No torch, no dialect names.
#pragma once

#include <cstdint>

#include "primus/spec/norm.h"

namespace primus::spec {

// LFM2's short convolution: (B, C, x) = W_in u, y = W_out (C * conv(B * x)); the convolution is causal, each channel by
// itself.
struct ShortConv {
  int64_t kernel_size = 3;
  bool bias = false;  // of both projections and of the convolution
};

// Gated delta net (arXiv 2412.06464), as Qwen3-Next has it: q, k and v through a causal convolution and SiLU, q and k
// of length 1, the delta rule with a decaying state, a norm of every head gated by SiLU(z).
struct GatedDelta {
  int64_t num_key_heads = 0, num_value_heads = 0;  // a key head serves value heads in a row
  int64_t key_head_dim = 0, value_head_dim = 0;
  int64_t kernel_size = 4;
  Norm output_norm;
};

// Mamba 2 (arXiv 2405.21060): the state-space duality with one decay a head.
struct Mamba2 {
  int64_t num_heads = 0, head_dim = 0;
  int64_t num_groups = 1;  // heads in a row share B and C, and the channels of a group share a norm
  int64_t state_dim = 128;
  int64_t kernel_size = 4;
  bool bias = false;  // of both projections
  bool conv_bias = true;
  Norm output_norm;         // of y * SiLU(z), in every group
  double least_step = 0;    // steps are not shorter
  double longest_step = 0;  // and not longer; 0: no bound
};

}  // namespace primus::spec
