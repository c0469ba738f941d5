// The architecture, expanded layer by layer. No torch, no dialect names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primus/spec/attention.h"
#include "primus/spec/mixers.h"
#include "primus/spec/mlp.h"
#include "primus/spec/norm.h"

namespace primus::spec {

inline constexpr int64_t kMostLayers = 10'000;  // of any description: a slip of the keyboard must not fill the memory

// Standard deviations of a layer's first weights, where they depend on the layer; biases and sinks of 0 start at zero.
struct LayerInit {
  double qkv_std = 0.02;  // projections into the heads, latents included
  double attention_out_std = 0.02;
  double mlp_gate_std = 0.02, mlp_up_std = 0.02, mlp_down_std = 0.02;  // of every expert and the shared MLP too
  double router_std = 0.02;
  double bias_std = 0, sink_std = 0;  // biases of attention and experts, not of the router
  double query_std = 0;               // of the query projection alone; 0: qkv_std
  double mlp_cut = 0;                 // MLP weights within +-cut standard deviations, others drawn again; 0: no cut
};

struct LayerSpec {
  bool norms_in_front = true;  // false: attention and MLP read the residual stream itself; both norms below are unused
  Norm input_norm;
  Attention attention;  // unused where one of the next three stands in its place
  std::optional<ShortConv> short_conv;
  std::optional<GatedDelta> gated_delta;
  std::optional<Mamba2> mamba2;
  Norm post_attention_norm;  // in front of the MLP
  Mlp mlp;                   // the dense MLP; unused where `moe` is set
  std::optional<Moe> moe;
  bool has_mixer = true, has_mlp = true;  // hybrid stacks: a layer may have one half alone, with its norm
  std::optional<Norm> attention_output_norm, mlp_output_norm;  // in front of the residual additions
  double hidden_dropout = 0;                                   // after the attention projection and after the MLP
  std::string other_mixer;        // "mamba", ...: a mixer that this description does not hold; empty: attention
  std::optional<LayerInit> init;  // nothing: model.init
  int64_t other_parameters = 0;   // weights that no field above stands for: counted, not described
};

// Whether the layer's first half is attention that `attention` describes.
inline bool attends(const LayerSpec& layer) {
  return layer.has_mixer && layer.other_mixer.empty() && !layer.short_conv && !layer.gated_delta && !layer.mamba2;
}

enum class InitLaw { Normal, XavierUniform };

struct Init {
  InitLaw law = InitLaw::Normal;
  double std = 0.02;  // qkv, fc1, output layer
  double embedding_std = 0.02;
  double residual_output_std = 0;  // attention projection and fc2; megatron: std / sqrt(2 L)
  double layer_cut = 0;            // layers' normal weights lie within +-cut, others are drawn again; 0: no cut
  double head_std = 0;             // output layer, and a table tied to it; 0: std (tied: embedding_std)
  double head_cut = 0;             // the same cut for the head
};

// One more prediction per depth: the token after the next one (arXiv 2412.19437 section 2.2).
struct MultiTokenPrediction {
  int64_t depth = 1;
  double loss_scale = 0.1;
};

// Which published FLOP formula `model_flops` follows (dialects differ in what they count).
enum class FlopsFormula { Megatron, TorchTitan, MaxText, MegatronBridge };

struct Model {
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;         // ids that data may hold
  int64_t padded_vocab_size = 0;  // what FLOP formulas and reports count; rows beyond vocab_size are never built
  int64_t vocab_divisor = 128;  // a padded size that nobody gave is a multiple of it (times the tensor-parallel ranks)
  int64_t max_positions = 0;
  bool learned_positions = false;
  bool tied_embeddings = false;
  double embedding_multiplier = 1;
  double logit_multiplier = 1;
  double logit_soft_cap = 0;  // cap * tanh(logit / cap); 0: none
  double embedding_dropout = 0;
  std::optional<int64_t> padding_id;  // its row of the embedding is never trained
  bool fp32_residual = false;
  std::vector<LayerSpec> layers;
  Norm final_norm;
  std::optional<MultiTokenPrediction> mtp;
  Init init;
  FlopsFormula flops_formula = FlopsFormula::Megatron;
};

}  // namespace primus::spec
