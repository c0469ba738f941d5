// Router arithmetic against values worked out by hand.
#include <cmath>
#include <gtest/gtest.h>

#include "primus/base/check.h"
#include "primus/nn/moe.h"

namespace primus::nn {
namespace {

// A router whose logits are the input: its weight is the identity, x [b, t, E].
class HandRouter : public testing::Test {
 protected:
  HandRouter() { context_.routes = &routes_; }

  Router& make(const spec::Moe& moe, bool plain = false, spec::Dtype dtype = spec::Dtype::Float32) {
    router_ = std::make_unique<Router>(moe, "layer.1.moe", moe.num_experts, FirstWeights{}, /*layer_index=*/1, plain);
    for (Parameter* p : router_->parameters()) {
      p->initialise(1, dtype);
      if (!p->is_vector()) p->compute.copy_(at::eye(moe.num_experts));
      p->main_grad = at::zeros(p->shape());
    }
    return *router_;
  }
  Routing route(const spec::Moe& moe, const at::Tensor& logits_te) {
    return make(moe).route(logits_te.unsqueeze(0), context_);
  }
  static std::vector<int64_t> ints(const at::Tensor& t) {
    const at::Tensor flat = t.to(at::kLong).contiguous();
    return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
  }
  static void expect_near(const at::Tensor& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.numel(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual.reshape({-1})[static_cast<int64_t>(i)].item<double>(), expected[i], 2e-6) << i;
    }
  }
  static spec::Moe four(int64_t top_k) {
    spec::Moe moe;
    moe.num_experts = 4;
    moe.top_k = top_k;
    moe.expert.ffn_size = 2;
    return moe;
  }

  Routes routes_;
  Context context_;
  std::unique_ptr<Router> router_;
};

const std::vector<double> kLogsOf4211 = {std::log(4.0), std::log(2.0), 0, 0};

TEST_F(HandRouter, TakesTheOrderOfSoftmaxAndChoiceFromTheSpec) {  // B050
  const at::Tensor logits = at::tensor(kLogsOf4211, at::kFloat).unsqueeze(0);
  spec::Moe moe = four(2);
  moe.router.normalise_over_all = true;
  const Routing over_all = route(moe, logits);
  EXPECT_EQ(ints(over_all.experts), (std::vector<int64_t>{0, 1}));
  expect_near(over_all.weights, {0.5, 0.25});
  moe.router.renormalise = true;
  expect_near(route(moe, logits).weights, {2.0 / 3, 1.0 / 3});
  moe.router.normalise_over_all = moe.router.renormalise = false;
  expect_near(route(moe, logits).weights, {2.0 / 3, 1.0 / 3});
  moe.top_k = 1;
  expect_near(route(moe, logits).weights, {1.0});
}

TEST_F(HandRouter, WeighsBySigmoidAndSquareRootOfSoftplus) {
  const at::Tensor logits = at::tensor({0.0F, 1.0F, -1.0F, -2.0F}).unsqueeze(0);
  spec::Moe moe = four(2);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.scale = 3;
  const Routing sigmoid = route(moe, logits);
  EXPECT_EQ(ints(sigmoid.experts), (std::vector<int64_t>{1, 0}));
  expect_near(sigmoid.weights, {3 * 0.7310585786, 1.5});
  moe.router.score = spec::RouterScore::SqrtSoftplus;
  moe.router.scale = 1;
  expect_near(route(moe, logits).weights, {1.1459763, 0.8325546});
}

TEST_F(HandRouter, KeepsVanishingScoresFiniteInEveryType) {  // B090
  spec::Moe moe = four(2);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.renormalise = true;
  for (const auto dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    for (const bool plain : {false, true}) {
      const at::Tensor x = at::full({1, 3, 4}, -100.0).to(to_torch(dtype)).requires_grad_(true);
      const Routing routing = make(moe, plain, dtype).route(x, context_);
      EXPECT_EQ(routing.weights.scalar_type(), at::kFloat);
      EXPECT_TRUE(at::isfinite(routing.weights).all().item<bool>());
      EXPECT_LE(routing.weights.sum(-1).max().item<double>(), 1.0);
      EXPECT_EQ(ints(routing.experts), (std::vector<int64_t>{0, 1, 0, 1, 0, 1}));  // ties: the lowest index
      routing.weights.sum().backward();
      EXPECT_TRUE(at::isfinite(x.grad()).all().item<bool>());
    }
  }
}

TEST_F(HandRouter, ComputesScoresInFloat32WhateverTheModel) {
  // 5 and 5.01 are one number in bfloat16, and so are the logits; in a router of its own type they differ.
  spec::Moe moe = four(1);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.bias = true;
  const at::Tensor x = at::tensor({5.0F, 5.0F, 0.0F, 0.0F}).view({1, 1, 4}).to(at::kBFloat16);
  for (const auto& [type, best] :
       {std::pair(spec::RouterDtype::Model, 0), {spec::RouterDtype::Float32, 1}, {spec::RouterDtype::Float64, 1}}) {
    moe.router.dtype = type;
    Router& router = make(moe, false, spec::Dtype::BFloat16);
    router.parameters()[1]->compute.copy_(at::tensor({0.0F, 0.01F, 0.0F, 0.0F}));
    EXPECT_EQ(router.route(x, context_).experts.item<int64_t>(), best);
  }
}

TEST_F(HandRouter, LimitsTheChoiceToTheBestGroups) {
  spec::Moe moe;
  moe.num_experts = 6;
  moe.top_k = 2;
  moe.router.normalise_over_all = true;
  const at::Tensor logits = at::tensor({9.0F, 0.0F, 8.0F, 8.0F, 7.0F, 7.5F}).unsqueeze(0);
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>{0, 2}));
  moe.router.groups = spec::GroupLimit{3, 1, spec::GroupScore::Max, 1};
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>{0, 1}));
  // Sums of softmax scores: e^9 alone is more than 2 e^8; with sigmoid scores the second group wins.
  moe.router.groups = spec::GroupLimit{3, 1, spec::GroupScore::SumOfTop, 2};
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>{0, 1}));
  moe.router.score = spec::RouterScore::Sigmoid;
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>{2, 3}));
  moe.router.groups->top_groups = 2;
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>{2, 3}));
}

TEST_F(HandRouter, LetsTheScoreBiasChooseButNeverWeigh) {
  spec::Moe moe = four(2);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.expert_bias = spec::ExpertBias{};
  Router& router = make(moe);
  router.score_bias.copy_(at::tensor({0.0F, 0.0F, 0.9F, 0.0F}));
  const at::Tensor x = at::tensor({1.0F, 0.0F, -1.0F, -9.0F}).view({1, 1, 4});
  const Routing routing = router.route(x, context_);
  EXPECT_EQ(ints(routing.experts), (std::vector<int64_t>{2, 0}));
  expect_near(routing.weights, {0.2689414214, 0.7310585786});
  router.score_bias.add_(17);  // a constant changes nothing
  EXPECT_EQ(ints(router.route(x, context_).experts), (std::vector<int64_t>{2, 0}));
}

TEST_F(HandRouter, MovesTheScoreBiasByTheSignOfTheLoadError) {  // B089
  spec::Moe moe = four(2);
  moe.router.expert_bias = spec::ExpertBias{.update_rate = 1e-3, .centred = false};
  Router& router = make(moe);
  router.update_score_bias(at::tensor({8, 4, 2, 2}, at::kLong));
  expect_near(router.score_bias * 1000, {-1, 0, 1, 1});
  moe.router.expert_bias->centred = true;
  Router& centred = make(moe);
  centred.update_score_bias(at::tensor({8, 4, 2, 2}, at::kLong));
  expect_near(centred.score_bias * 1000, {-1.25, -0.25, 0.75, 0.75});
}

TEST_F(HandRouter, CapsLogitsSoftly) {
  spec::Moe moe = four(2);
  moe.router.logit_soft_cap = 2;
  const double low = 2 * std::tanh(0.5), high = 2 * std::tanh(2.0), weight = 1 / (1 + std::exp(low - high));
  expect_near(route(moe, at::tensor({4.0F, 1.0F, 0.0F, 0.0F}).unsqueeze(0)).weights, {weight, 1 - weight});
}

TEST_F(HandRouter, SpreadsTokensEvenlyWhenForced) {
  spec::Moe moe = four(3);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.forced_balance = spec::ForcedBalance::RoundRobin;
  const at::Tensor logits = at::zeros({5, 4});
  logits.select(1, 2).fill_(50);
  const Routing routing = route(moe, logits);
  EXPECT_EQ(ints(routing.experts), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2}));
  expect_near(routing.weights[0], {0.5, 0.5, 1});  // each expert's own score

  moe.router.forced_balance = spec::ForcedBalance::Random;
  context_.seed = 3;
  context_.sample_index = at::tensor({6}, at::kLong);
  const at::Tensor many = at::zeros({400, 4});
  many.select(1, 2).fill_(50);
  const Routing random = route(moe, many);
  const at::Tensor counts = at::bincount(random.experts.reshape({-1}), {}, 4);
  EXPECT_LT(counts.max().item<double>(), 1.2 * 300);
  EXPECT_GT(counts.min().item<double>(), 0.8 * 300);
  EXPECT_TRUE(at::equal(route(moe, many).experts, random.experts));
  context_.step = 1;
  EXPECT_FALSE(at::equal(route(moe, many).experts, random.experts));
}

TEST_F(HandRouter, PassesTheGradientThroughRandomLogits) {
  spec::Moe moe = four(2);
  moe.router.forced_balance = spec::ForcedBalance::Random;
  const at::Tensor x = at::zeros({1, 3, 4}).requires_grad_(true);
  const Routing routing = make(moe).route(x, context_);
  routing.weights.select(1, 0).sum().backward();
  const at::Tensor w = routing.weights.detach().select(1, 0), slope = w * (1 - w);
  EXPECT_TRUE(at::allclose(x.grad().view({3, 4}).gather(1, routing.experts.narrow(1, 0, 1)).squeeze(1), slope));
}

TEST_F(HandRouter, JittersItsInputInTrainingOnlyBySampleAndPosition) {
  spec::Moe moe = four(4);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.input_jitter = 0.1;
  context_.sample_index = at::tensor({3, 8}, at::kLong);
  const at::Tensor x = at::ones({2, 5, 4});
  const auto factors = [&](const at::Tensor& in) {
    const Routing r = make(moe).route(in, context_);
    return at::zeros({in.size(0) * 5, 4}).scatter(1, r.experts, r.weights.logit());
  };
  EXPECT_LT((factors(x) - 1).abs().max().item<double>(), 1e-5);
  context_.training = true;
  const at::Tensor both = factors(x);
  EXPECT_LT((both - 1).abs().max().item<double>(), 0.1001);
  EXPECT_GT((both - 1).abs().max().item<double>(), 0.05);
  context_.sample_index = at::tensor({8}, at::kLong);
  EXPECT_TRUE(at::equal(factors(x.narrow(0, 0, 1)), both.narrow(0, 5, 5)));
}

TEST_F(HandRouter, BalancesBySinkhornInTrainingAndWeighsByTheLogits) {
  spec::Moe moe = four(1);
  moe.router.sinkhorn = true;
  // All tokens like expert 0 best, each another one nearly as well.
  const at::Tensor logits = at::full({8, 4}, -3.0F);
  logits.select(1, 0).fill_(1.0);
  for (int64_t n = 0; n < 8; ++n) logits[n][n % 4] = n % 4 == 0 ? 1.5 : 0.9;
  EXPECT_EQ(ints(route(moe, logits).experts), (std::vector<int64_t>(8, 0)));
  context_.training = true;
  const Routing routing = route(moe, logits);
  EXPECT_EQ(ints(routing.experts), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  expect_near(routing.weights[1], {1 / (1 + std::exp(-0.9))});
}

TEST_F(HandRouter, DropsTheLowestWeightsOrTheLastPositionsBeyondTheCapacity) {
  spec::Moe moe = four(1);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.capacity = spec::Capacity{.factor = 1};  // 2 sequences of 4 tokens: 2 places an expert
  at::Tensor x = at::full({2, 4, 4}, -5.0F);
  // Sequence 0 asks for expert 0 with 1, 4, 2, 3; sequence 1 for 0, 0, 1, 1 with 5, 0.5, 1, 1.
  for (int64_t i = 0; i < 4; ++i) x[0][i][0] = std::vector<float>{1, 4, 2, 3}[static_cast<size_t>(i)];
  x[1][0][0] = 5;
  x[1][1][0] = 0.5;
  x[1][2][1] = x[1][3][1] = 1;
  const auto kept = [&] { return ints(make(moe).route(x, context_).keep); };
  EXPECT_EQ(kept(), (std::vector<int64_t>{0, 1, 0, 0, 1, 0, 1, 1}));
  moe.capacity->policy = spec::DropPolicy::LastPosition;  // position 0 of both, then 1, ...
  EXPECT_EQ(kept(), (std::vector<int64_t>{1, 0, 0, 0, 1, 0, 1, 1}));
  moe.capacity->per_sequence = true;  // floor(ceil(4 / 4) * factor) places in each sequence
  moe.capacity->factor = 2.9;
  EXPECT_EQ(kept(), (std::vector<int64_t>{1, 1, 0, 0, 1, 1, 1, 1}));
  moe.capacity->pad = true;  // padding moves no token
  EXPECT_EQ(kept(), (std::vector<int64_t>{1, 1, 0, 0, 1, 1, 1, 1}));
}

TEST_F(HandRouter, GivesTheCoefficientForUniformRoutingInEveryScope) {  // B088
  for (const auto scope :
       {spec::BalanceScope::MicroBatch, spec::BalanceScope::Sequence, spec::BalanceScope::GlobalBatch}) {
    for (const auto score : {spec::RouterScore::Softmax, spec::RouterScore::Sigmoid, spec::RouterScore::SqrtSoftplus}) {
      for (const int64_t num_micro_batches : {1, 4}) {
        spec::Moe moe = four(2);
        moe.router.score = score;
        moe.router.balance_losses = {{scope, 0.01}};
        RouterReport report;
        context_.router_report = &report;
        context_.training = true;
        Router& router = make(moe);
        for (int64_t m = 0; m < num_micro_batches; ++m) router.route(at::zeros({2, 6, 4}).requires_grad_(), context_);
        ASSERT_EQ(report.mean_losses().size(), 1U);
        EXPECT_NEAR(report.mean_losses().begin()->second, 0.01, 1e-9);
        EXPECT_EQ(report.counts(1).sum().item<double>(), static_cast<double>(num_micro_batches * 24));
      }
    }
  }
}

TEST_F(HandRouter, GivesTheSameRouterGradientHoweverTheBatchIsSplit) {  // B088
  for (const bool balance : {true, false}) {
    spec::Moe moe = four(2);
    moe.router.score = spec::RouterScore::Sigmoid;
    if (balance) moe.router.balance_losses = {{spec::BalanceScope::Sequence, 0.3}};
    moe.router.z_loss = balance ? 0 : 0.2;
    context_.training = true;
    at::manual_seed(2);
    const at::Tensor x = at::randn({4, 5, 4});
    const auto gradient = [&](int64_t num_micro_batches) {
      context_.auxiliary_loss_scale = 6.0 / static_cast<double>(num_micro_batches);
      Router& router = make(moe);
      for (const at::Tensor& part : x.chunk(num_micro_batches)) {
        (router.route(part.detach().requires_grad_(true), context_).weights * 0).sum().backward();
      }
      return router.parameters()[0]->main_grad.clone();
    };
    const at::Tensor whole = gradient(1);
    EXPECT_GT(whole.abs().max().item<double>(), 1e-2);
    EXPECT_TRUE(at::allclose(gradient(2), whole, 1e-5, 1e-7));
    EXPECT_TRUE(at::allclose(gradient(4), whole, 1e-5, 1e-7));
  }
}

TEST_F(HandRouter, HasNoAuxiliaryLossOutsideTrainingNorAtScaleZero) {
  spec::Moe moe = four(2);
  moe.router.balance_losses = {{spec::BalanceScope::MicroBatch, 0.3}};
  const auto gradient = [&] {
    const at::Tensor x = at::randn({1, 5, 4}).requires_grad_(true);
    (make(moe).route(x, context_).weights * 0).sum().backward();
    return x.grad().abs().max().item<double>();
  };
  EXPECT_EQ(gradient(), 0);
  context_.training = true;
  EXPECT_GT(gradient(), 0);
  context_.auxiliary_loss_scale = 0;
  EXPECT_EQ(gradient(), 0);
}

TEST_F(HandRouter, RefusesMoreExpertsThanTheGroupsHold) {
  spec::Moe moe = four(3);
  moe.router.groups = spec::GroupLimit{2, 1, spec::GroupScore::Max, 1};
  EXPECT_THROW(route(moe, at::zeros({2, 4})), InternalError);
}

}  // namespace
}  // namespace primus::nn
