// Ops on their own: what the gradient tests of the whole decoder (tests/gradcheck/models) cannot see.
#include "primus/nn/functions.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "primus/base/check.h"

namespace primus::nn {
namespace {

class Functions : public testing::Test {
 protected:
  Functions() {
    context_.routes = &routes_;
    context_.training = true;
    context_.seed = 5;
    context_.step = 2;
    context_.sample_index = at::tensor({3, 8}, at::kLong);
    at::manual_seed(1);
  }
  static Parameter& ready(Parameter& parameter) {
    parameter.initialise(1, spec::Dtype::Float32);
    parameter.main_grad = at::zeros(parameter.shape());
    return parameter;
  }

  Routes routes_;
  Context context_;
};

TEST_F(Functions, LinearWritesWeightGradientsItselfAndCountsThem) {
  Parameter weight("a.weight", {4, 3}, InitKind::Normal, 1), bias("a.bias", {4}, InitKind::Ones);
  int counted = 0;
  for (Parameter* parameter : {&weight, &bias}) ready(*parameter).on_gradient = [&](Parameter&) { ++counted; };
  const at::Tensor x = at::randn({2, 5, 3}).requires_grad_(true);
  const at::Tensor dy = at::randn({2, 5, 4});
  linear(x, weight, &bias, context_).backward(dy);
  EXPECT_EQ(counted, 2);
  EXPECT_FALSE(weight.compute.grad().defined());
  EXPECT_TRUE(at::allclose(weight.main_grad, dy.reshape({-1, 4}).t().matmul(x.detach().reshape({-1, 3})), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(bias.main_grad, dy.sum({0, 1}), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(x.grad(), dy.matmul(weight.master), 1e-5, 1e-6));
}

TEST_F(Functions, NormHandsTheResidualOnWithItsGradient) {
  Parameter gain("n.weight", {6}, InitKind::Ones);
  ready(gain);
  const spec::Norm kind;
  const at::Tensor x = at::randn({2, 3, 6}).requires_grad_(true);
  const at::Tensor d_sum = at::randn({2, 3, 6}), dy = at::randn({2, 3, 6});
  const auto gradient = [&](const at::Tensor& of_sum, const at::Tensor& of_y) {
    x.mutable_grad() = at::Tensor();
    auto [sum, y] = norm(x, gain, nullptr, kind);
    (sum * of_sum + y * of_y).sum().backward();
    return x.grad().clone();
  };
  const at::Tensor zero = at::zeros({2, 3, 6});
  EXPECT_TRUE(at::allclose(gradient(d_sum, dy), gradient(zero, dy) + d_sum, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(gradient(d_sum, zero), d_sum, 1e-5, 1e-6));
}

TEST_F(Functions, AddNormReadsTheRoundedSum) {
  Parameter gain("n.weight", {6}, InitKind::Ones);
  gain.initialise(1, spec::Dtype::BFloat16);
  gain.main_grad = at::zeros({6});
  const at::Tensor residual = at::randn({2, 3, 6}).to(at::kBFloat16), branch = at::randn({2, 3, 6}).to(at::kBFloat16);
  const spec::Norm kind;
  const auto [sum, y] = add_norm(residual, branch, gain, nullptr, kind);
  EXPECT_TRUE(at::equal(sum, residual + branch));
  EXPECT_TRUE(at::equal(y, norm(sum, gain, nullptr, kind).second));
}

TEST_F(Functions, DropoutDependsOnSampleAndStepAndNameButNotOnTheBatch) {
  const at::Tensor x = at::ones({2, 7, 12});
  const at::Tensor both = dropout(x, 0.5, "here", context_);
  Context second = context_;
  second.sample_index = at::tensor({8}, at::kLong);
  EXPECT_TRUE(at::equal(dropout(x.narrow(0, 1, 1), 0.5, "here", second), both.narrow(0, 1, 1)));
  EXPECT_FALSE(at::equal(dropout(x, 0.5, "there", context_), both));
  second = context_;
  second.step = 3;
  EXPECT_FALSE(at::equal(dropout(x, 0.5, "here", second), both));
  EXPECT_FALSE(at::equal(both[0], both[1]));
  EXPECT_EQ(((both == 0).logical_or(both == 2)).all().item<bool>(), true);
}

TEST_F(Functions, DropoutRestsInEvaluation) {
  const at::Tensor x = at::ones({2, 7, 12});
  EXPECT_TRUE(dropout(x, 0, "here", context_).is_same(x));
  context_.training = false;
  EXPECT_TRUE(dropout(x, 0.5, "here", context_).is_same(x));
}

TEST_F(Functions, DropoutWithoutSamplesIsAMistakeOfOurs) {
  context_.sample_index = at::Tensor();
  EXPECT_THROW(dropout(at::ones({2, 7, 12}), 0.5, "here", context_), InternalError);
}

TEST_F(Functions, HeadLossMustBeTheRootOfTheBackwardPass) {
  Parameter head("head.weight", {9, 6}, InitKind::Normal, 1);
  ready(head);
  const at::Tensor x = at::randn({2, 3, 6}).requires_grad_(true);
  const at::Tensor labels = at::randint(9, {2, 3}, at::kLong);
  at::Tensor token_loss;
  const at::Tensor loss = head_loss(x, head, labels, at::ones({2, 3}), token_loss, /*soft_cap=*/0, context_);
  EXPECT_THROW((loss * 2).backward(), InternalError);
}

TEST_F(Functions, HeadLossCapsItsLogits) {
  Parameter head("head.weight", {9, 6}, InitKind::Normal, 1);
  ready(head);
  const at::Tensor x = at::randn({2, 3, 6}).requires_grad_(true);
  const at::Tensor labels = at::randint(9, {2, 3}, at::kLong), weights = at::rand({2, 3});
  at::Tensor token_loss;
  head_loss(x, head, labels, weights, token_loss, /*soft_cap=*/0.8, context_).backward();
  const at::Tensor wide = x.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor logits = 0.8 * (wide.matmul(head.master.to(at::kDouble).t()) / 0.8).tanh();
  const at::Tensor wanted = -at::log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  (wanted * weights.to(at::kDouble)).sum().backward();
  EXPECT_TRUE(at::allclose(token_loss.to(at::kDouble), wanted, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(x.grad().to(at::kDouble), wide.grad(), 1e-5, 1e-6));
  EXPECT_TRUE(at::equal(head_token_losses(x.detach(), head, labels, 0.8, context_), token_loss));
}

TEST_F(Functions, ActivationClampsAndShifts) {
  spec::Mlp mlp = {.ffn_size = 3, .activation = spec::Activation::Silu, .clamp = 2, .up_offset = 1};
  const at::Tensor x = at::tensor({5.0, -5.0, 1.0, 3.0, -3.0, 0.5}, at::kFloat).view({1, 1, 6}).requires_grad_(true);
  const at::Tensor y = activation(x, mlp).flatten();
  const auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  EXPECT_NEAR(y[0].item<double>(), silu(2) * 3, 1e-5);      // the gate at most 2, up at most 2
  EXPECT_NEAR(y[1].item<double>(), silu(-5) * (-1), 1e-6);  // the gate has no lower bound, up has
  EXPECT_NEAR(y[2].item<double>(), silu(1) * 1.5, 1e-6);
  y.sum().backward();
  const at::Tensor d = x.grad().flatten();
  EXPECT_EQ(d[0].item<float>(), 0);
  EXPECT_EQ(d[3].item<float>(), 0);
  EXPECT_EQ(d[4].item<float>(), 0);
  EXPECT_NEAR(d[5].item<double>(), silu(1), 1e-6);
}

TEST_F(Functions, RecomputeRunsItsSegmentAgainAndKeepsOnlyItsInput) {
  int runs = 0;
  const Segment segment = [&](const at::Tensor& x) {
    ++runs;
    return x.sin() * x;
  };
  const at::Tensor x = at::randn({2, 3, 6}).requires_grad_(true);
  const at::Tensor y = recompute(segment, x);
  EXPECT_EQ(runs, 1);
  y.sum().backward();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(at::allclose(x.grad(), x.detach().sin() + x.detach() * x.detach().cos(), 1e-5, 1e-6));
}

TEST_F(Functions, ReleasedValuesAreMadeAgainWhenTheGradientOfTheResultArrives) {
  const at::Tensor x = at::randn({2, 3, 6}).requires_grad_(true);
  int made = 0;
  const auto gradient = [&](bool release) {
    x.mutable_grad() = at::Tensor();
    const at::Tensor middle = x.sin(), view = middle.view({6, 6});  // what is saved may be a view
    const at::Tensor result = (view * view).cos() + view.exp();
    if (release) {
      release_until_backward(middle, result, [&] { return ++made, x.sin(); });
      EXPECT_EQ(middle.storage().data(), nullptr);
      EXPECT_EQ(made, 0);
    }
    result.square().sum().backward();
    return x.grad().clone();
  };
  const at::Tensor kept = gradient(false);
  EXPECT_TRUE(at::equal(gradient(true), kept));
  EXPECT_EQ(made, 1);
}

TEST_F(Functions, NothingIsReleasedWithoutGradientsAndNoPartOfAnotherTensor) {
  const at::Tensor x = at::randn({4, 6}), twice = x * 2;
  const at::Tensor before = x.clone();
  release_until_backward(x, twice, [&]() -> at::Tensor { throw std::logic_error("not called"); });
  EXPECT_TRUE(at::equal(x, before));
  const at::Tensor leaf = at::randn({4, 6}).requires_grad_(true), middle = leaf.sin();
  EXPECT_THROW(release_until_backward(middle.narrow(0, 1, 2), middle.cos(), [] { return at::Tensor(); }),
               std::exception);
}

}  // namespace
}  // namespace primus::nn
