// The layer around router and experts: names, the report of a step, the balance over a global batch.
#include <gtest/gtest.h>

#include "primus/nn/moe.h"

namespace primus::nn {
namespace {

spec::Moe moe() {
  spec::Moe moe;
  moe.num_experts = 3;
  moe.top_k = 2;
  moe.expert = {.ffn_size = 5, .bias = true};
  moe.shared_ffn_size = 7;
  moe.shared_gate = true;
  moe.latent_size = 4;
  moe.router.bias = true;
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.expert_bias = spec::ExpertBias{};
  return moe;
}

void prepare(MoeLayer& layer) {
  for (Parameter* p : layer.parameters()) {
    p->initialise(5, spec::Dtype::Float32);
    p->main_grad = at::zeros(p->shape());
  }
}

FirstWeights spread() {
  FirstWeights first;
  first.gate = first.up = first.down = first.router = 0.5;
  return first;
}

TEST(MoeLayer, NamesItsParametersInForwardOrder) {
  MoeLayer layer(moe(), "layer.3.moe", 6, {}, 3);
  std::vector<std::string> names;
  for (const Parameter* p : layer.parameters()) {
    for (const Piece& piece : p->pieces()) names.push_back(piece.name.substr(12));
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "router.weight",        "router.bias",          "latent_down.weight", "expert.0.gate.weight",
                       "expert.0.up.weight",   "expert.1.gate.weight", "expert.1.up.weight", "expert.2.gate.weight",
                       "expert.2.up.weight",   "expert.0.gate.bias",   "expert.0.up.bias",   "expert.1.gate.bias",
                       "expert.1.up.bias",     "expert.2.gate.bias",   "expert.2.up.bias",   "expert.0.down.weight",
                       "expert.1.down.weight", "expert.2.down.weight", "expert.0.down.bias", "expert.1.down.bias",
                       "expert.2.down.bias",   "latent_up.weight",     "shared.gate.weight", "shared.up.weight",
                       "shared.gate.bias",     "shared.up.bias",       "shared.down.weight", "shared.down.bias",
                       "shared_gate.weight"}));
  EXPECT_EQ(layer.parameters()[3]->shape(), (std::vector<int64_t>{3 * 2 * 5, 4}));
  EXPECT_EQ(layer.parameters()[5]->shape(), (std::vector<int64_t>{3 * 4, 5}));
  EXPECT_EQ(layer.score_bias_name(), "layer.3.moe.router.score_bias");
  EXPECT_TRUE(at::equal(layer.score_bias(), at::zeros({3})));
  spec::Moe without = moe();
  without.router.expert_bias.reset();
  MoeLayer plain(without, "layer.3.moe", 6, {}, 3);
  EXPECT_FALSE(plain.score_bias().defined());
  plain.update_expert_bias(at::ones({3}));
}

TEST(MoeLayer, TellsTheReportOfTrainingButNotOfEvaluation) {
  Routes routes;
  RouterReport report;
  Context context;
  context.routes = &routes;
  context.router_report = &report;
  context.training = true;
  MoeLayer layer(moe(), "layer.3.moe", 6, spread(), 3);
  prepare(layer);
  at::manual_seed(1);
  const at::Tensor x = at::randn({2, 4, 6});
  {
    const at::NoGradGuard evaluation;
    layer.forward(x, context);
  }
  EXPECT_TRUE(report.layers().empty());
  layer.forward(x, context);
  layer.forward(at::randn({2, 4, 6}), context);
  ASSERT_EQ(report.layers().size(), 1U);
  EXPECT_EQ(report.layers().at(3).num_micro_batches, 2);
  EXPECT_EQ(report.counts(3).sum().item<double>(), 2 * 2 * 4 * 2);
  EXPECT_FALSE(report.counts(4).defined());
  const at::Tensor before = layer.score_bias().clone();
  layer.update_expert_bias(report.counts(3));
  EXPECT_TRUE(at::equal(layer.score_bias() - before,
                        (1e-3 * (report.counts(3).mean() - report.counts(3)).sign()).to(at::kFloat)));
  report.begin_step();
  EXPECT_TRUE(report.layers().empty());
}

TEST(RouterReport, SumsEverythingOverRanks) {
  RouterReport report([](at::Tensor& t) { t.mul_(3); }, 3);  // three equal ranks
  report.add_counts(0, at::tensor({6, 1, 2}, at::kLong), 4, at::tensor({2, 1, 2}, at::kLong));
  report.add_counts(0, at::tensor({0, 0, 3}, at::kLong), 1);
  report.add_loss(0, RouterLoss::Z, 0.5);
  report.add_loss(0, RouterLoss::Z, 0.7);
  report.add_counts(2, at::tensor({1, 1}, at::kLong), 0);
  report.add_loss(2, RouterLoss::Z, 1.0);
  report.sum_over_ranks();
  EXPECT_TRUE(at::equal(report.counts(0), at::tensor({18.0, 3.0, 15.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(report.counts(2), at::tensor({3.0, 3.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(report.taken(0), at::tensor({6.0, 3.0, 15.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(report.taken(2), report.counts(2)));
  EXPECT_EQ(report.layers().at(0).num_dropped, 15);
  EXPECT_DOUBLE_EQ(report.layers().at(0).max_violation(), 0.5);
  EXPECT_DOUBLE_EQ(report.mean_losses().at(RouterLoss::Z), (0.6 + 1.0) / 2);
}

TEST(RouterReport, BalancesOverMicroBatchesAndRanks) {
  RouterReport report([](at::Tensor& t) { t.add_(at::tensor({0.0, 8.0}, at::kDouble)); }, 2);
  const at::Tensor first = report.mean_balance_counts(1, at::tensor({8, 0}, at::kLong));
  EXPECT_TRUE(at::equal(first, at::tensor({4.0, 4.0}, at::kDouble)));
  const at::Tensor second = report.mean_balance_counts(1, at::tensor({4, 4}, at::kLong));
  EXPECT_TRUE(at::equal(second, at::tensor({3.0, 5.0}, at::kDouble)));
  report.begin_step();
  EXPECT_TRUE(at::equal(report.mean_balance_counts(1, at::tensor({8, 0}, at::kLong)), first));
}

}  // namespace
}  // namespace primus::nn
