// The architecture, expanded layer by layer. No torch, no dialect names.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace primus::spec {

enum class NormKind { RmsNorm, LayerNorm };

struct Norm {
  NormKind kind = NormKind::RmsNorm;
  double eps = 1e-5;
  bool zero_centered_gain = false;  // y * (1 + g), g starts at 0
};

// Frequencies rescaled band by band: dialects' llama3 rule.
struct Llama3RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_positions = 8192;
};

struct Rope {
  double base = 10000;
  double fraction = 1;       // part of the head that is rotated; the rest passes through
  bool interleaved = false;  // pairs (2i, 2i+1); otherwise (i, i + rotary/2)
  std::optional<Llama3RopeScaling> llama3;
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
};

enum class Activation { Silu, Gelu, QuickGelu, SquaredRelu, GeluTanh };  // Gelu is the erf form

struct Mlp {
  int64_t ffn_size = 0;
  Activation activation = Activation::Silu;
  bool gated = true;  // W2(act(W_gate x) * W_up x)
  bool bias = false;
};

struct LayerSpec {
  Norm input_norm;
  Attention attention;
  Norm post_attention_norm;  // in front of the MLP
  Mlp mlp;
  double hidden_dropout = 0;  // after the attention projection and after the MLP
};

enum class InitLaw { Normal, XavierUniform };

struct Init {
  InitLaw law = InitLaw::Normal;
  double std = 0.02;  // qkv, fc1, output layer
  double embedding_std = 0.02;
  double residual_output_std = 0;  // attention projection and fc2; megatron: std / sqrt(2 L)
};

// Which published FLOP formula `model_flops` follows (dialects differ in what they count).
enum class FlopsFormula { Megatron };

struct Model {
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;         // ids that data may hold
  int64_t padded_vocab_size = 0;  // what FLOP formulas and reports count; rows beyond vocab_size are never built
  int64_t vocab_divisor = 128;  // a padded size that nobody gave is a multiple of it (times the tensor-parallel ranks)
  int64_t max_positions = 0;
  bool learned_positions = false;
  bool tied_embeddings = false;
  double embedding_dropout = 0;
  bool fp32_residual = false;
  std::vector<LayerSpec> layers;
  Norm final_norm;
  Init init;
  FlopsFormula flops_formula = FlopsFormula::Megatron;
};

}  // namespace primus::spec
