// How tokens look at each other: positions, heads, masks. No torch, no dialect names.
#pragma once

#include <cstdint>
#include <optional>

#include "primus/spec/norm.h"

namespace primus::spec {

// Frequencies rescaled band by band: the llama3 rule.
struct Llama3RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_positions = 8192;
};

// YaRN (arXiv 2309.00071): the ramp between interpolated and kept frequencies.
struct YarnRopeScaling {
  double factor = 40, beta_fast = 32, beta_slow = 1;
  int64_t original_max_positions = 4096;
  bool whole_bounds = true;   // the ends of the ramp are floored and ceiled
  double cos_sin_factor = 1;  // cosine and sine are multiplied by it
};

struct Rope {
  double base = 10000;
  double fraction = 1;          // part of the head that is rotated; the rest passes through
  bool interleaved = false;     // pairs (2i, 2i+1); otherwise (i, i + rotary/2)
  double position_divisor = 1;  // linear scaling: position / divisor
  std::optional<Llama3RopeScaling> llama3;
  std::optional<YarnRopeScaling> yarn;
};

// Multi-head latent attention (arXiv 2405.04434): queries, keys and values from low-rank latents.
struct LatentAttention {
  int64_t q_lora_rank = 0;  // 0: queries come from one projection
  int64_t kv_lora_rank = 0;
  int64_t nope_head_dim = 0, rope_head_dim = 0, v_head_dim = 0;
  bool norm_latents = true;
  double latent_norm_eps = 1e-6;
};

enum class QkNormScope { PerHead, WholeProjection };

struct QkNorm {
  Norm norm;
  bool has_gain = true;  // false: x / rms(x), no weight
  QkNormScope scope = QkNormScope::PerHead;
  bool after_rope = false;
};

// One more logit per head in the softmax denominator.
enum class Sink { None, Zero, Learned };

// Scores grow with the place of their query (position from 0), by one of two rules:
//   1 + scale * ln(1 + floor((position + 1) / floor_scale)), in front of the cap (Llama 4), or
//   ln(position) / ln(log_length) behind position log_length, behind the cap (Grok 2).
struct TemperatureTuning {
  double scale = 0.1, floor_scale = 8192;
  int64_t log_length = 0;  // > 0: the second rule
};

struct Attention {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  bool qkv_bias = false;
  bool out_bias = false;
  double softmax_scale = 0;  // logits are multiplied by it
  double dropout = 0;
  std::optional<Rope> rope;  // nothing: this layer has no rotary positions
  std::optional<LatentAttention> latent;
  std::optional<QkNorm> qk_norm;
  std::optional<int64_t> window_keys;  // keys that a query sees, itself included
  std::optional<int64_t> chunk_size;   // a query sees keys of its own chunk only
  Sink sink = Sink::None;
  double logit_soft_cap = 0;  // cap * tanh(logit / cap); 0: none
  std::optional<TemperatureTuning> temperature;
  bool output_gate = false;          // out * sigmoid(gate), the gate from a doubled query projection
  bool values_are_keys = false;      // no value projection: values are the keys before their norm and rotation
  std::optional<QkNorm> value_norm;  // on the values
};

}  // namespace primus::spec
