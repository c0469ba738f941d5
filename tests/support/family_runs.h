// Small models with the pieces of the families, for tests of the engine; odd sizes, values that shout.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "support/tiny_run.h"

namespace primus::test {

struct FamilyRun {
  std::string name;
  spec::RunSpec run;
  // Why a step's numbers follow from how the global batch is cut; empty: they must not.
  std::string per_micro_batch = {};
  friend void PrintTo(const FamilyRun& family, std::ostream* out) { *out << family.name; }
};

inline spec::RunSpec dense_family() {
  spec::RunSpec run = tiny_run({.hidden = 24, .num_heads = 4, .head_dim = 10, .ffn = 36, .vocab = 61, .sequence = 13});
  run.model.embedding_dropout = 0.1;
  for (spec::LayerSpec& layer : run.model.layers) layer.hidden_dropout = layer.attention.dropout = 0.1;
  run.model.tied_embeddings = true;
  return run;
}

// Latent attention, a dense layer first, groups, shared experts, score biases, one more prediction.
inline spec::RunSpec deepseek_family(spec::BalanceScope scope) {
  spec::RunSpec run =
      tiny_run({.hidden = 24, .num_kv_heads = 4, .head_dim = 10, .ffn = 36, .vocab = 61, .sequence = 13});
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.attention.latent = spec::LatentAttention{
        .q_lora_rank = 9, .kv_lora_rank = 7, .nope_head_dim = 6, .rope_head_dim = 4, .v_head_dim = 5};
    layer.attention.rope->interleaved = true;
  }
  spec::Moe moe{.num_experts = 6, .top_k = 2, .expert = {.ffn_size = 11}, .shared_ffn_size = 9};
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.renormalise = true;
  moe.router.scale = 2.5;
  moe.router.groups = spec::GroupLimit{.num_groups = 3, .top_groups = 2, .sum_of = 2};
  moe.router.expert_bias = spec::ExpertBias{.update_rate = 0.01};
  moe.router.balance_losses = {{.scope = scope, .coefficient = 0.03}};
  run.model.layers.back().moe = moe;
  run.model.mtp = spec::MultiTokenPrediction{.depth = 1, .loss_scale = 0.3};
  return run;
}

// No token is dropped; two losses of the router that are means over the tokens of a micro-batch.
inline spec::RunSpec mixtral_family() {
  spec::RunSpec run = tiny_run({.hidden = 24, .num_heads = 4, .head_dim = 10, .ffn = 36, .vocab = 61, .sequence = 13});
  spec::Moe moe{.num_experts = 5, .top_k = 2, .expert = {.ffn_size = 11}, .shared_ffn_size = 9, .shared_gate = true};
  moe.router.balance_losses = {{.scope = spec::BalanceScope::MicroBatch, .coefficient = 0.05}};
  moe.router.z_loss = 0.01;
  for (spec::LayerSpec& layer : run.model.layers) layer.moe = moe;
  return run;
}

// Sinks, alternating windows, biases everywhere, clamped experts.
inline spec::RunSpec gpt_oss_family() {
  spec::RunSpec run = tiny_run({.hidden = 24, .num_heads = 4, .head_dim = 10, .ffn = 36, .vocab = 61, .sequence = 13});
  spec::Moe moe{.num_experts = 4, .top_k = 2, .expert = {.ffn_size = 11, .bias = true, .clamp = 0.7, .up_offset = 1}};
  moe.expert.activation = spec::Activation::QuickGelu;
  moe.router.bias = true;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.attention.sink = spec::Sink::Learned;
    layer.attention.qkv_bias = layer.attention.out_bias = true;
    layer.moe = moe;
    layer.init = spec::LayerInit{.qkv_std = 0.2, .attention_out_std = 0.1, .bias_std = 0.1, .sink_std = 1};
  }
  run.model.layers.front().attention.window_keys = 4;
  return run;
}

// Sandwich norms, soft caps, multipliers, one dense layer and one of experts with a capped router.
inline spec::RunSpec capped_family() {
  spec::RunSpec run = tiny_run({.hidden = 24, .num_heads = 4, .head_dim = 10, .ffn = 36, .vocab = 61, .sequence = 13});
  run.model.tied_embeddings = true;
  run.model.embedding_multiplier = 4.9;
  run.model.logit_multiplier = 0.6;
  run.model.logit_soft_cap = 1.5;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.attention.logit_soft_cap = 0.8;
    layer.input_norm.zero_centered_gain = layer.post_attention_norm.zero_centered_gain = true;
    layer.attention_output_norm = layer.mlp_output_norm = spec::Norm{};
    layer.mlp.activation = spec::Activation::GeluTanh;
  }
  run.model.layers.front().attention.window_keys = 5;
  spec::Moe moe{.num_experts = 5, .top_k = 2, .expert = {.ffn_size = 11, .activation = spec::Activation::GeluTanh}};
  moe.router.normalise_over_all = true;
  moe.router.logit_soft_cap = 2;
  run.model.layers.back().moe = moe;
  return run;
}

// Tokens of one micro-batch compete for places.
inline spec::RunSpec dropping_family() {
  spec::RunSpec run = mixtral_family();
  for (spec::LayerSpec& layer : run.model.layers) layer.moe->capacity = spec::Capacity{.factor = 0.8};
  return run;
}

inline std::vector<FamilyRun> family_runs() {
  return {{"DenseWithDropout", dense_family()},
          {"MixtralKind", mixtral_family(), "balance is the product of two means over one micro-batch"},
          {"DeepSeekKind", deepseek_family(spec::BalanceScope::Sequence)},
          {"GptOssKind", gpt_oss_family()},
          {"SoftCapsAndSandwichNorms", capped_family()},
          {"DroppingTokens", dropping_family(), "an expert's places are those of one micro-batch"}};
}

}  // namespace primus::test
