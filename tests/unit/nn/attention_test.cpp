// Masks, sinks and temperatures of attention, by hand; gradients are those of tests/gradcheck/models.
#include "primus/nn/attention.h"

#include <cmath>
#include <gtest/gtest.h>

namespace primus::nn {
namespace {

class Attention : public testing::Test {
 protected:
  Attention() { context_.routes = &routes_; }

  // One head of width 2 that likes all keys alike (queries are zero): the mean of the values that each token sees.
  at::Tensor means(const at::Tensor& values_t, const spec::Attention& kind, Parameter* sinks = nullptr) const {
    spec::Attention shape = kind;
    shape.num_heads = shape.num_kv_heads = 1;
    shape.head_dim = 2;
    shape.softmax_scale = 1;
    const int64_t t = values_t.numel();
    const at::Tensor qkv = at::zeros({1, t, 6});
    qkv.narrow(2, 2, 2).normal_();  // keys
    qkv.narrow(2, 4, 2).copy_(values_t.view({1, t, 1}).expand({1, t, 2}));
    const AttentionSetting setting{.shape = &shape, .sinks = sinks, .name = "layer.0.attn"};
    return attention(qkv, setting, context_).select(2, 1).flatten();
  }
  static Parameter sinks_of(double value) {
    Parameter sinks("layer.0.attn.sinks", {1}, InitKind::Zeros);
    sinks.initialise(1, spec::Dtype::Float32);
    sinks.compute.fill_(value);
    return sinks;
  }

  Routes routes_;
  Context context_;
};

TEST_F(Attention, CountsASinkAsAKeyWithoutAValue) {  // B049
  const at::Tensor values = at::tensor({3.0, 9.0}, at::kFloat);
  EXPECT_NEAR(means(values, {})[1].item<double>(), 6, 1e-6);
  EXPECT_NEAR(means(values, {.sink = spec::Sink::Zero})[1].item<double>(), 4, 1e-6);
  EXPECT_NEAR(means(values, {.sink = spec::Sink::Zero})[0].item<double>(), 1.5, 1e-6);
  Parameter zero = sinks_of(0), one = sinks_of(1);
  EXPECT_NEAR(means(values, {.sink = spec::Sink::Learned}, &zero)[1].item<double>(), 4, 1e-6);
  EXPECT_NEAR(means(values, {.sink = spec::Sink::Learned}, &one)[1].item<double>(), 2.5433, 5e-5);
}

TEST_F(Attention, SeesAsManyKeysAsItsWindowWithItself) {  // B047
  const at::Tensor values = at::arange(12, at::kFloat);
  EXPECT_NEAR(means(values, {.window_keys = 4})[10].item<double>(), 8.5, 1e-5);  // 7, 8, 9, 10
  EXPECT_NEAR(means(values, {.window_keys = 4})[2].item<double>(), 1, 1e-6);
  EXPECT_NEAR(means(values, {.window_keys = 1})[10].item<double>(), 10, 1e-5);
  EXPECT_NEAR(means(values, {})[10].item<double>(), 5, 1e-5);
  EXPECT_NEAR(means(values, {.window_keys = 12})[10].item<double>(), 5, 1e-5);
}

TEST_F(Attention, SeesItsOwnChunkOnly) {
  const at::Tensor values = at::arange(12, at::kFloat);
  const at::Tensor out = means(values, {.chunk_size = 4});
  EXPECT_NEAR(out[7].item<double>(), 5.5, 1e-5);
  EXPECT_NEAR(out[8].item<double>(), 8, 1e-5);
  EXPECT_NEAR(out[10].item<double>(), 9, 1e-5);
}

TEST_F(Attention, FirstVisiblePositionIsTheLatestOfAllRules) {
  const auto first = [this](const spec::Attention& shape) {
    const at::Tensor all = first_visible(shape, context_, 1, 9);
    return all.defined() ? std::vector<int32_t>(all.const_data_ptr<int32_t>(), all.const_data_ptr<int32_t>() + 9)
                         : std::vector<int32_t>{};
  };
  using V = std::vector<int32_t>;
  EXPECT_EQ(first({}), V());
  EXPECT_EQ(first({.window_keys = 9}), V());
  EXPECT_EQ(first({.window_keys = 3}), V({0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(first({.chunk_size = 4}), V({0, 0, 0, 0, 4, 4, 4, 4, 8}));
  EXPECT_EQ(first({.window_keys = 3, .chunk_size = 4}), V({0, 0, 0, 1, 4, 4, 4, 5, 8}));
  // A document of five tokens, then one of four whose positions, and with them its chunks, start again.
  context_.document_start = at::tensor({0, 0, 0, 0, 0, 5, 5, 5, 5}, at::kInt).unsqueeze(0);
  context_.positions = at::tensor({0, 1, 2, 3, 4, 0, 1, 2, 3}, at::kLong).unsqueeze(0);
  EXPECT_EQ(first({}), V({0, 0, 0, 0, 0, 5, 5, 5, 5}));
  EXPECT_EQ(first({.window_keys = 3}), V({0, 0, 0, 1, 2, 5, 5, 5, 6}));
  EXPECT_EQ(first({.chunk_size = 3}), V({0, 0, 0, 3, 3, 5, 5, 5, 8}));
}

// Two keys, 0 and 1, whose values are 0 and 1: the output is the sigmoid of the grown query.
TEST_F(Attention, QueriesGrowWithTheirPlace) {
  spec::Attention shape = {.num_heads = 1,
                           .num_kv_heads = 1,
                           .head_dim = 2,
                           .softmax_scale = 1,
                           .temperature = spec::TemperatureTuning{.scale = 0.1, .floor_scale = 8192}};
  const auto growth_at = [&](int64_t position) {
    const at::Tensor qkv = at::zeros({1, 2, 6});
    qkv.select(2, 0).fill_(3);  // queries
    qkv[0][1][2] = 1;           // key of the second token
    qkv[0][1][4] = 1;           // its value
    Context context = context_;
    context.positions = at::tensor({position - 1, position}, at::kLong).unsqueeze(0);
    const double share = attention(qkv, {.shape = &shape, .name = "a"}, context)[0][1][0].item<double>();
    return std::log(share / (1 - share));
  };
  const auto temperature_at = [&](int64_t position) { return growth_at(position) / 3; };  // Llama 4
  EXPECT_NEAR(temperature_at(1), 1, 1e-5);
  EXPECT_NEAR(temperature_at(8190), 1, 1e-5);
  EXPECT_NEAR(temperature_at(8191), 1 + 0.1 * std::log(2.0), 1e-5);
  EXPECT_NEAR(temperature_at(16382), 1 + 0.1 * std::log(2.0), 1e-5);
  EXPECT_NEAR(temperature_at(16383), 1 + 0.1 * std::log(3.0), 1e-5);
  shape.temperature = spec::TemperatureTuning{.log_length = 1024};  // Grok 2: behind the cap
  shape.logit_soft_cap = 2;
  const double capped = 2 * std::tanh(3.0 / 2);
  EXPECT_NEAR(growth_at(1), capped, 1e-5);
  EXPECT_NEAR(growth_at(1024), capped, 1e-5);
  EXPECT_NEAR(growth_at(1025), capped * std::log(1025) / std::log(1024), 1e-5);
  EXPECT_NEAR(growth_at(1024 * 1024), capped * 2, 1e-5);
}

TEST_F(Attention, ScoresAreCappedBeforeTheyAreHidden) {
  spec::Attention shape = {.num_heads = 1, .num_kv_heads = 1, .head_dim = 2, .softmax_scale = 1, .logit_soft_cap = 2};
  const at::Tensor qkv = at::zeros({1, 2, 6});
  qkv[0][1][0] = 50;
  qkv[0][1][2] = 1;  // score 50 becomes 2
  qkv[0][1][4] = 1;
  const double share = attention(qkv, {.shape = &shape, .name = "a"}, context_)[0][1][0].item<double>();
  EXPECT_NEAR(std::log(share / (1 - share)), 2, 1e-5);
}

}  // namespace
}  // namespace primus::nn
