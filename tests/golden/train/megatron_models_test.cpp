// Whole models against megatron-core's GPTModel (tests/golden/megatron_core/make_models.py says version and command):
// token losses, losses of the prediction depths, of the routers, and the gradient of every parameter.
#include <algorithm>
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/base/json.h"

namespace primus::models {
namespace {

const std::string kModels = "tests/golden/megatron_core/models";

spec::Moe mixture() {
  spec::Moe moe{.num_experts = 5, .top_k = 2};
  moe.expert.ffn_size = 10;
  return moe;
}

void describe_mixture(const std::string& name, spec::Moe& moe) {
  spec::Router& r = moe.router;
  if (name != "dropping" && name != "on_input") moe.shared_ffn_size = 14;
  if (name == "mixture" || name == "two_ahead") {
    moe.shared_gate = name == "mixture";
    r.balance_losses = {{spec::BalanceScope::MicroBatch, 0.2}};
    r.z_loss = 0.03;
  }
  if (name == "sigmoid") {
    moe.num_experts = 6;
    moe.top_k = 4;
    r.score = spec::RouterScore::Sigmoid;
    r.renormalise = true;
    r.groups = spec::GroupLimit{.num_groups = 3, .top_groups = 2, .sum_of = 2};
    r.expert_bias = spec::ExpertBias{};
    r.scale = 2.5;
    r.balance_losses = {{spec::BalanceScope::Sequence, 0.15}};
  }
  r.normalise_over_all = name == "dropping" || name == "on_input";
  if (name == "dropping") {
    moe.capacity = spec::Capacity{.factor = 0.7};
    r.balance_losses = {{spec::BalanceScope::GlobalBatch, 0.25}};
  }
  if (name == "on_input") {
    moe.top_k = 1;
    r.weight_on_input = true;
  }
}

spec::Model described(const std::string& name) {
  spec::RunSpec run = test::tiny_run({.hidden = 20,
                                      .num_layers = 2,
                                      .num_heads = 4,
                                      .num_kv_heads = 2,
                                      .head_dim = 6,
                                      .ffn = 26,
                                      .vocab = 61,
                                      .sequence = 13});
  spec::Model& model = run.model;
  const spec::Norm norm{.kind = name == "layer_norm" ? spec::NormKind::LayerNorm : spec::NormKind::RmsNorm,
                        .eps = 1e-3};
  model.final_norm = norm;
  for (spec::LayerSpec& layer : model.layers) {
    layer.input_norm = layer.post_attention_norm = norm;
    layer.attention.rope->base = 777;
    if (name == "one_ahead") layer.attention.qk_norm = spec::QkNorm{.norm = norm};
    if (name != "layer_norm") continue;
    layer.attention.rope.reset();
    layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.bias = true;
    layer.mlp.gated = false;
    layer.mlp.activation = spec::Activation::Gelu;
  }
  model.learned_positions = name == "layer_norm";
  model.tied_embeddings = name == "layer_norm" || name == "two_ahead";
  if (name == "one_ahead") model.mtp = spec::MultiTokenPrediction{.depth = 1, .loss_scale = 0.3};
  if (name == "two_ahead") model.mtp = spec::MultiTokenPrediction{.depth = 2, .loss_scale = 0.4};
  if (name != "dense" && name != "layer_norm" && name != "one_ahead") {
    model.layers[1].moe = mixture();
    describe_mixture(name, *model.layers[1].moe);
  }
  return model;
}

class MegatronModels : public testing::TestWithParam<std::string> {
 protected:
  // Of this case, by names without it.
  static std::map<std::string, at::Tensor> recorded() {
    std::map<std::string, at::Tensor> own;
    const std::string prefix = GetParam() + ".";
    for (const auto& [name, tensor] : test::read_safetensors(kModels + ".safetensors"))
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
    return own;
  }
};

void expect_equal(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  // The gradient of a key's bias is 0 but for rounding.
  const double largest = std::max(5e-3, expected.abs().max().item<double>());
  EXPECT_LE((actual - expected).abs().max().item<double>(), 1e-5 * largest) << what;
}

TEST_P(MegatronModels, EqualMegatronCore) {
  const std::map<std::string, at::Tensor> golden = recorded();
  const Json numbers =
      value_or_throw(parse_json(value_or_throw(read_text_file(kModels + ".json")), "golden"))["cases"][GetParam()];
  Decoder model(described(GetParam()), spec::Dtype::Float32, {});
  model.initialise(1);
  test::set_weights(model, golden);
  for (const Buffer& buffer : model.buffers()) at::Tensor(buffer.values).copy_(golden.at(buffer.name));
  for (nn::Parameter* parameter : model.parameters()) parameter->main_grad = at::zeros(parameter->shape());

  const at::Tensor tokens = golden.at("tokens").to(at::kLong), mask = golden.at("mask");
  const int64_t t = mask.size(1);
  const MicroBatch batch{tokens.narrow(1, 0, t).contiguous(), tokens.narrow(1, 1, t).contiguous(), mask / mask.sum(),
                         true};
  const nn::Routes routes;
  nn::RouterReport report;
  nn::Context context;
  context.routes = &routes;
  context.training = true;
  context.router_report = &report;
  std::vector<DepthLoss> depths;
  expect_equal(model.forward_backward(batch, context, 1, &depths), golden.at("token_loss"), "token losses");

  ASSERT_EQ(depths.size(), numbers["ahead"].size());
  for (size_t d = 0; d < depths.size(); ++d)
    EXPECT_NEAR(depths[d].loss / depths[d].num_tokens, numbers["ahead"][d].get<double>(), 5e-5) << d;
  const std::map<nn::RouterLoss, double> losses = report.mean_losses();
  EXPECT_EQ(losses.size(), numbers["routers"].size());
  for (const auto& [loss, value] : losses) {
    const double expected = numbers["routers"][std::string(nn::to_string(loss))].get<double>();
    EXPECT_NEAR(value, expected, 1e-5 * expected) << nn::to_string(loss);
  }
  size_t num_compared = 0;
  for (nn::Parameter* parameter : model.parameters()) {
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      expect_equal(parameter->main_grad.narrow(0, row, piece.num_rows), golden.at("grad." + piece.name), piece.name);
      row += piece.num_rows;
      ++num_compared;
    }
  }
  const auto is_gradient = [](const auto& entry) { return entry.first.starts_with("grad."); };
  EXPECT_EQ(num_compared, static_cast<size_t>(std::count_if(golden.begin(), golden.end(), is_gradient)));
}

INSTANTIATE_TEST_SUITE_P(Cases, MegatronModels,
                         testing::Values("dense", "layer_norm", "mixture", "sigmoid", "dropping", "on_input",
                                         "one_ahead", "two_ahead"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace primus::models
