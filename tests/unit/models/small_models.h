// Small decoders of every kind of attention.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "primus/models/decoder.h"
#include "primus/tensor/runtime.h"

namespace primus::models::small {

// Work this small takes twenty times as long when it is handed to other threads.
struct OneThread {
  OneThread() : before(tensor::num_threads()) { tensor::set_num_threads(1); }
  ~OneThread() { tensor::set_num_threads(before); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  int before;
};

inline spec::Model plain() {
  spec::LayerSpec layer;
  layer.attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 6, .softmax_scale = 0.4, .rope = spec::Rope{}};
  layer.mlp = {.ffn_size = 20};
  spec::Model model;
  model.hidden_size = 16;
  model.vocab_size = 31;
  model.padded_vocab_size = 64;  // rows that no data reaches are never allocated
  model.max_positions = 24;
  model.layers.assign(2, layer);
  model.init = {.std = 0.4, .embedding_std = 0.7, .residual_output_std = 0.3};
  return model;
}

inline spec::Model with(const std::function<void(spec::Model&, spec::LayerSpec&)>& change) {
  spec::Model model = plain();
  for (spec::LayerSpec& layer : model.layers) change(model, layer);
  return model;
}

inline void make_latent(spec::LayerSpec& layer, int64_t q_rank, int64_t value_width) {
  layer.attention.num_kv_heads = 4;
  layer.attention.latent = spec::LatentAttention{
      .q_lora_rank = q_rank, .kv_lora_rank = 7, .nope_head_dim = 6, .rope_head_dim = 4, .v_head_dim = value_width};
}

inline void make_mixture(spec::LayerSpec& layer) {
  layer.moe = spec::Moe{.num_experts = 5, .top_k = 2, .shared_ffn_size = 9};
  layer.moe->expert.ffn_size = 11;
  layer.moe->router.score = spec::RouterScore::Sigmoid;
  layer.moe->router.expert_bias = spec::ExpertBias{};
}

// All that decoding token by token has to get right.
inline std::vector<std::pair<std::string, spec::Model>> all_kinds() {
  using M = spec::Model;
  using L = spec::LayerSpec;
  M alternating = with([](M&, L& l) { l.attention.window_keys = 5; });
  alternating.layers[1].attention.window_keys.reset();
  return {
      {"grouped queries", plain()},
      {"one key head", with([](M&, L& l) { l.attention.num_kv_heads = 1; })},
      {"windows", with([](M&, L& l) { l.attention.window_keys = 5; })},
      {"a window of one key", with([](M&, L& l) { l.attention.window_keys = 1; })},
      {"alternating windows", alternating},
      {"chunks", with([](M&, L& l) { l.attention.chunk_size = 4; })},
      {"sinks in windows", with([](M& m, L& l) {
         l.attention.sink = spec::Sink::Learned;
         l.attention.window_keys = 6;
         l.init = spec::LayerInit{.qkv_std = m.init.std, .attention_out_std = 0.3, .sink_std = 1};
       })},
      {"zero sinks", with([](M&, L& l) { l.attention.sink = spec::Sink::Zero; })},
      {"score caps", with([](M&, L& l) { l.attention.logit_soft_cap = 0.7; })},
      {"temperature without rope", with([](M&, L& l) {
         l.attention.rope.reset();
         l.attention.temperature = spec::TemperatureTuning{.scale = 0.5, .floor_scale = 3};
       })},
      {"capped scores that grow", with([](M&, L& l) {
         l.attention.logit_soft_cap = 0.7;
         l.attention.temperature = spec::TemperatureTuning{.log_length = 3};
       })},
      {"norms and a gate", with([](M&, L& l) {
         l.attention.qk_norm = spec::QkNorm{};
         l.attention.output_gate = true;
       })},
      {"learned positions", with([](M& m, L& l) {
         m.learned_positions = m.tied_embeddings = true;
         l.attention.rope.reset();
       })},
      {"latents", with([](M&, L& l) { make_latent(l, 0, 5); })},
      {"latents with a query rank and wide values", with([](M&, L& l) {
         make_latent(l, 5, 13);
         l.attention.rope->interleaved = true;
       })},
      {"latents in windows with sinks", with([](M&, L& l) {
         make_latent(l, 5, 10);
         l.attention.window_keys = 4;
         l.attention.sink = spec::Sink::Zero;
       })},
      {"short convolutions", with([](M&, L& l) { l.short_conv = spec::ShortConv{3, true}; })},
      {"gated delta nets", with([](M&, L& l) {
         l.gated_delta = spec::GatedDelta{
             .num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 5, .value_head_dim = 3, .kernel_size = 4};
       })},
      {"state spaces alone", with([](M&, L& l) {
         l.mamba2 = spec::Mamba2{.num_heads = 4, .head_dim = 5, .num_groups = 2, .state_dim = 6, .kernel_size = 4};
         l.has_mlp = false;
       })},
      {"mixtures and logit caps", with([](M& m, L& l) {
         m.logit_soft_cap = 2;
         make_mixture(l);
       })},
  };
}

}  // namespace primus::models::small
