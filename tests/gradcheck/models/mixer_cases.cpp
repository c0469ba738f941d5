// Short convolutions, gated delta nets, state spaces, and stacks whose layers have one half.
#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

namespace {

// The middle layer attends.
spec::Model with_mixers(const std::function<void(spec::LayerSpec&)>& change) {
  spec::Model model = llama();
  for (size_t i = 0; i < model.layers.size(); ++i)
    if (i != 1) change(model.layers[i]);
  return model;
}

spec::Mamba2 state_space() {
  return {
      .num_heads = 6, .head_dim = 5, .num_groups = 3, .state_dim = 7, .kernel_size = 4, .output_norm = {.eps = 0.02}};
}

// Mamba, attention, MLP, Mamba, experts: one half a layer.
spec::Model hybrid() {
  spec::Model model = llama();
  model.layers.resize(5, model.layers.front());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    spec::LayerSpec& layer = model.layers[i];
    if (i == 0 || i == 3) layer.mamba2 = state_space();
    layer.has_mixer = i != 2 && i != 4;
    layer.has_mlp = !layer.has_mixer;
    if (i != 4) continue;
    layer.moe = spec::Moe{.num_experts = 4, .top_k = 2};
    layer.moe->expert.ffn_size = 13;
  }
  return model;
}

}  // namespace

std::vector<Case> mixer_cases() {
  using L = spec::LayerSpec;
  const std::vector<std::pair<std::string, spec::Model>> models = {
      {"ShortConv", with_mixers([](L& l) { l.short_conv = spec::ShortConv{3, false}; })},
      {"ShortConvBias", with_mixers([](L& l) { l.short_conv = spec::ShortConv{4, true}; })},
      {"GatedDelta", with_mixers([](L& l) {
         l.gated_delta = spec::GatedDelta{.num_key_heads = 2,
                                          .num_value_heads = 4,
                                          .key_head_dim = 6,
                                          .value_head_dim = 5,
                                          .kernel_size = 4,
                                          .output_norm = {.eps = 0.02}};
       })},
      {"GatedDeltaZeroCentred", with_mixers([](L& l) {
         l.gated_delta = spec::GatedDelta{.num_key_heads = 3,
                                          .num_value_heads = 3,
                                          .key_head_dim = 4,
                                          .value_head_dim = 8,
                                          .kernel_size = 2,
                                          .output_norm = {.eps = 0.02, .zero_centered_gain = true}};
       })},
      {"Mamba2", with_mixers([](L& l) { l.mamba2 = state_space(); })},
      {"Mamba2Bounded", with_mixers([](L& l) {
         l.mamba2 = state_space();
         l.mamba2->bias = true;
         l.mamba2->conv_bias = false;
         l.mamba2->num_groups = 1;
         l.mamba2->least_step = 0.4;
         l.mamba2->longest_step = 1.5;
       })},
      {"Hybrid", hybrid()}};
  std::vector<Case> all;
  for (const auto& [name, model] : models) {
    all.push_back({.name = name, .model = model, .bf16_tolerance = 0.6});
    all.push_back({.name = name + "InDocuments", .model = model, .documents = true, .bf16_tolerance = 0.6});
  }
  return all;
}

}  // namespace primus::test
