// Recomputed activations change nothing: losses, gradient norms and weights keep their bits.
#include <gtest/gtest.h>

#include "support/trace.h"

namespace primus::train {
namespace {

constexpr int64_t kLayers = 5, kSteps = 3;

spec::RunSpec noisy_run(spec::Dtype dtype, bool fp32_residual) {
  spec::RunSpec run = test::tiny_run({.num_layers = kLayers});
  run.precision.compute = dtype;
  run.model.fp32_residual = fp32_residual;
  run.model.embedding_dropout = 0.15;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.hidden_dropout = 0.2;
    layer.attention.dropout = 0.1;
  }
  return run;
}

struct Case {
  std::string name;
  spec::Recompute rule;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

std::vector<Case> cases() {
  const auto full = [](std::vector<int64_t> layers, int64_t block) {
    return spec::Recompute{
        .kind = spec::RecomputeKind::Full, .layer_ids = std::move(layers), .layers_per_block = block};
  };
  const auto selective = [](std::vector<std::string> modules) {
    return spec::Recompute{.kind = spec::RecomputeKind::Selective, .modules = std::move(modules)};
  };
  return {{"EveryLayer", full({0, 1, 2, 3, 4}, 1)},
          {"BlocksOfTwo", full({0, 1, 2, 3, 4}, 2)},
          {"OneBlock", full({0, 1, 2, 3, 4}, 5)},
          {"FirstLayers", full({0, 1}, 1)},
          {"SomeLayers", full({1, 4}, 3)},
          {"AttentionCore", selective({"core_attn"})},
          {"Mlp", selective({"mlp"})},
          {"Norms", selective({"layernorm"})},
          {"AttentionCoreNormsAndMlp", selective({"core_attn", "layernorm", "mlp"})}};
}

class Recomputation : public testing::TestWithParam<Case> {
 protected:
  void expect_same(spec::RunSpec run) {
    const test::Trace kept = test::train_fresh(run, kSteps);
    run.recompute = GetParam().rule;
    test::expect_equal_bits(test::train_fresh(run, kSteps), kept);
  }
};

TEST_P(Recomputation, KeepsTheBitsOfFp32) {
  expect_same(noisy_run(spec::Dtype::Float32, false));
}
TEST_P(Recomputation, KeepsTheBitsOfBf16) {
  expect_same(noisy_run(spec::Dtype::BFloat16, false));
}
TEST_P(Recomputation, KeepsTheBitsOfBf16WithAnFp32Residual) {
  expect_same(noisy_run(spec::Dtype::BFloat16, true));
}
TEST_P(Recomputation, KeepsTheBitsOfLayerNormAndBiases) {
  spec::RunSpec run = noisy_run(spec::Dtype::BFloat16, false);
  run.model.tied_embeddings = true;
  run.model.learned_positions = true;
  run.model.final_norm.kind = spec::NormKind::LayerNorm;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.input_norm.kind = layer.post_attention_norm.kind = spec::NormKind::LayerNorm;
    layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.bias = true;
    layer.attention.rope.reset();
    layer.mlp.gated = false;
    layer.mlp.activation = spec::Activation::Gelu;
  }
  expect_same(run);
}

INSTANTIATE_TEST_SUITE_P(Rules, Recomputation, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace primus::train
