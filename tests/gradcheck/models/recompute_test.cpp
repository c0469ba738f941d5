// What is computed again in backward gives the bits of what was kept, and takes less memory.
#include <gtest/gtest.h>

#include "gradcheck/models/decoder_fixture.h"

#include "primus/tensor/memory_meter.h"

namespace primus::models {
namespace {

using test::Case;

struct Step {
  at::Tensor token_losses;
  std::vector<at::Tensor> gradients;
  std::vector<std::string> names;
};

Step step_of(const Case& c, spec::Dtype dtype, const spec::Recompute& recompute) {
  const nn::Routes routes;
  Decoder decoder(c.model, dtype, recompute);
  test::random_weights(decoder, dtype);
  Step step;
  step.token_losses =
      decoder.forward_backward(test::random_batch(c), test::make_context(routes, c.documents), c.loss_scale);
  for (const nn::Parameter* parameter : decoder.parameters()) {
    step.gradients.push_back(parameter->main_grad);
    step.names.push_back(parameter->name());
  }
  return step;
}

class Recomputation : public test::DecoderCases {};

TEST_P(Recomputation, ChangesNoBitOfLossesAndGradients) {
  for (const spec::Dtype dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    const Step kept = step_of(GetParam(), dtype, {});
    for (const spec::Recompute& recompute :
         {test::recomputed_blocks(), test::recomputed_parts(), test::recomputed_inner_parts()}) {
      const Step again = step_of(GetParam(), dtype, recompute);
      EXPECT_TRUE(at::equal(again.token_losses, kept.token_losses));
      for (size_t i = 0; i < kept.gradients.size(); ++i) {
        EXPECT_TRUE(at::equal(again.gradients[i], kept.gradients[i])) << kept.names[i];
      }
    }
  }
}

// Most bytes of a step at once, without weights and their gradients.
int64_t peak_bytes(const Case& c, const spec::Recompute& recompute) {
  const nn::Routes routes;
  Decoder decoder(c.model, spec::Dtype::Float32, recompute);
  test::random_weights(decoder, spec::Dtype::Float32);
  const MicroBatch batch = test::random_batch(c);
  const nn::Context context = test::make_context(routes, c.documents);
  const tensor::MemoryMeter meter;
  decoder.forward_backward(batch, context, c.loss_scale);
  return meter.peak_bytes();
}

TEST(RecomputationMemory, IsLessForEveryModule) {
  spec::Model dense = test::llama(), mixed = dense, latent = dense;
  for (spec::Model* model : {&dense, &mixed, &latent}) model->layers.assign(12, model->layers[0]);
  for (spec::LayerSpec& layer : mixed.layers) {
    layer.moe = spec::Moe{.num_experts = 5, .top_k = 2, .shared_ffn_size = 90};
    layer.moe->expert.ffn_size = 40;
  }
  for (spec::LayerSpec& layer : latent.layers) {
    test::make_latent(layer.attention,
                      {.q_lora_rank = 5, .kv_lora_rank = 7, .nope_head_dim = 12, .rope_head_dim = 4, .v_head_dim = 12});
  }
  const auto saved_bytes = [](const spec::Model& model, const char* module) {
    const Case c{"", model};
    return peak_bytes(c, {}) - peak_bytes(c, {.kind = spec::RecomputeKind::Selective, .modules = {module}});
  };
  // Two outputs of norms in each layer but the two around the peak.
  EXPECT_GE(saved_bytes(dense, "layernorm"), 2 * 10 * test::kBatch * test::kTokens * dense.hidden_size * 4);
  for (const auto& [model, module] :
       std::vector<std::pair<const spec::Model*, const char*>>{{&dense, "core_attn"},
                                                               {&dense, "mlp"},
                                                               {&mixed, "moe"},
                                                               {&mixed, "shared_experts"},
                                                               {&latent, "mla_up_proj"}}) {
    // At least what the attention leaves beside its output: one f32 of statistics per token and head (there are 6).
    EXPECT_GE(saved_bytes(*model, module), 11 * test::kBatch * test::kTokens * 6 * 4) << module;
  }
}

INSTANTIATE_TEST_SUITE_P(Options, Recomputation, testing::ValuesIn(test::all_cases()), test::name_of);

}  // namespace
}  // namespace primus::models
