#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

namespace {

// Every second layer in a window, learned sinks, biases everywhere, clamped experts, YaRN with its amplitude.
spec::Model gpt_oss() {
  spec::Model model = llama();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    spec::LayerSpec& layer = model.layers[i];
    layer.attention.qkv_bias = layer.attention.out_bias = true;
    layer.attention.sink = spec::Sink::Learned;
    if (i % 2 == 0) layer.attention.window_keys = 6;
    layer.attention.rope->yarn = spec::YarnRopeScaling{.factor = 6,
                                                       .beta_fast = 2,
                                                       .beta_slow = 0.1,
                                                       .original_max_positions = 64,
                                                       .whole_bounds = false,
                                                       .cos_sin_factor = 1.18};
    layer.moe = spec::Moe{.num_experts = 5, .top_k = 2};
    layer.moe->expert = {
        .ffn_size = 17, .activation = spec::Activation::QuickGelu, .bias = true, .clamp = 1.1, .up_offset = 1};
    layer.moe->router.bias = true;
    layer.moe->router.balance_losses = {{spec::BalanceScope::MicroBatch, 0.2}};
  }
  return model;
}

// Latent attention with a query rank, one dense layer, biased sigmoid routing in groups, one more prediction.
spec::Model deepseek_v3() {
  spec::Model model = llama();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    spec::LayerSpec& layer = model.layers[i];
    make_latent(layer.attention,
                {.q_lora_rank = 13, .kv_lora_rank = 11, .nope_head_dim = 8, .rope_head_dim = 6, .v_head_dim = 9});
    layer.attention.rope->interleaved = true;
    layer.attention.rope->yarn =
        spec::YarnRopeScaling{.factor = 4, .beta_fast = 2, .beta_slow = 0.1, .original_max_positions = 64};
    if (i == 0) continue;
    spec::Moe moe{.num_experts = 8, .top_k = 3};
    moe.expert.ffn_size = 13;
    moe.shared_ffn_size = 26;
    moe.router.score = spec::RouterScore::Sigmoid;
    moe.router.renormalise = true;
    moe.router.scale = 2.5;
    moe.router.groups = spec::GroupLimit{.num_groups = 4, .top_groups = 2};
    moe.router.expert_bias = spec::ExpertBias{};
    moe.router.balance_losses = {{spec::BalanceScope::Sequence, 0.3}};
    layer.moe = moe;
  }
  model.mtp = spec::MultiTokenPrediction{.depth = 1, .loss_scale = 0.3};
  return model;
}

// Chunks with rotary positions and normed queries; every third layer sees all, without positions, with temperature.
spec::Model llama4() {
  spec::Model model = llama();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    spec::LayerSpec& layer = model.layers[i];
    if (i == 2) {
      layer.attention.rope.reset();
      layer.attention.temperature = spec::TemperatureTuning{.scale = 0.2, .floor_scale = 6};
    } else {
      layer.attention.chunk_size = 8;
      layer.attention.rope->interleaved = true;
      layer.attention.qk_norm = spec::QkNorm{.norm = {.eps = 0.05}, .has_gain = false, .after_rope = true};
    }
    if (i % 2 == 0) continue;
    layer.moe = spec::Moe{.num_experts = 4, .top_k = 1};
    layer.moe->expert.ffn_size = 19;
    layer.moe->shared_ffn_size = 19;
    layer.moe->router.score = spec::RouterScore::Sigmoid;
    layer.moe->router.weight_on_input = true;
  }
  return model;
}

// Norms on both sides, multipliers, soft caps on scores, logits and the router.
spec::Model grok() {
  spec::Model model = llama();
  model.embedding_multiplier = 3.1;
  model.logit_multiplier = 0.4;
  model.logit_soft_cap = 3;
  for (spec::LayerSpec& layer : model.layers) {
    layer.attention.logit_soft_cap = 2;
    layer.attention_output_norm = layer.mlp_output_norm = spec::Norm{};
    layer.moe = spec::Moe{.num_experts = 4, .top_k = 2};
    layer.moe->expert = {.ffn_size = 15, .activation = spec::Activation::GeluTanh};
    layer.moe->router.normalise_over_all = true;
    layer.moe->router.logit_soft_cap = 2;
  }
  return model;
}

// Besides: capped scores that grow with the place; an MLP beside the experts, and both together scaled.
spec::Model grok2() {
  spec::Model model = grok();
  for (spec::LayerSpec& layer : model.layers) {
    layer.attention.temperature = spec::TemperatureTuning{.log_length = 5};
    layer.moe->shared_ffn_size = 21;
    layer.moe->output_multiplier = 0.7;
  }
  return model;
}

}  // namespace

std::vector<Case> family_cases() {
  std::vector<Case> all;
  const std::vector<std::pair<std::string, spec::Model>> families = {
      {"GptOss", gpt_oss()}, {"DeepSeekV3", deepseek_v3()}, {"Llama4", llama4()}, {"Grok", grok()}, {"Grok2", grok2()}};
  for (const auto& [name, model] : families) {
    all.push_back({.name = name, .model = model, .bf16_tolerance = 0.6});
    all.push_back({.name = name + "InDocuments", .model = model, .documents = true, .bf16_tolerance = 0.6});
  }
  return all;
}

}  // namespace primus::test
