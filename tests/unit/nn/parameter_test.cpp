#include "primus/nn/parameter.h"

#include <cmath>
#include <gtest/gtest.h>

#include "primus/base/check.h"

namespace primus::nn {
namespace {

TEST(Parameter, DrawsEveryPieceFromAStreamOfItsOwnName) {
  Parameter fused({{"layer.0.attn.q.weight", 6}, {"layer.0.attn.k.weight", 2}}, {8, 5}, InitKind::Normal, 0.3);
  Parameter alone("layer.0.attn.k.weight", {2, 5}, InitKind::Normal, 0.3);
  fused.initialise(17, spec::Dtype::Float32);
  alone.initialise(17, spec::Dtype::Float32);
  EXPECT_TRUE(at::equal(fused.master.narrow(0, 6, 2), alone.master));
  alone.initialise(18, spec::Dtype::Float32);
  EXPECT_FALSE(at::equal(fused.master.narrow(0, 6, 2), alone.master));
}

TEST(Parameter, FollowsItsLawOfInitialisation) {
  Parameter normal("a.weight", {300, 200}, InitKind::Normal, 0.25);
  normal.initialise(1, spec::Dtype::Float32);
  EXPECT_NEAR(normal.master.std().item<double>(), 0.25, 0.005);
  EXPECT_NEAR(normal.master.mean().item<double>(), 0, 0.005);
  // Xavier's limit is sqrt(6 / (inputs + outputs)) of each piece, not of the fused tensor.
  Parameter uniform({{"b.weight", 30}, {"c.weight", 90}}, {120, 50}, InitKind::XavierUniform);
  uniform.initialise(1, spec::Dtype::Float32);
  const auto largest = [&](int64_t row, int64_t count) {
    return uniform.master.narrow(0, row, count).abs().max().item<double>();
  };
  EXPECT_LE(largest(0, 30), std::sqrt(6.0 / 80));
  EXPECT_GT(largest(0, 30), std::sqrt(6.0 / 80) * 0.98);
  EXPECT_LE(largest(30, 90), std::sqrt(6.0 / 140));
  Parameter ones("d.weight", {7}, InitKind::Ones), zeros("e.bias", {7}, InitKind::Zeros);
  ones.initialise(1, spec::Dtype::BFloat16);
  zeros.initialise(1, spec::Dtype::BFloat16);
  EXPECT_TRUE(at::equal(ones.compute, at::ones({7}, at::kBFloat16)));
  EXPECT_TRUE(at::equal(zeros.master, at::zeros({7})));
}

TEST(Parameter, DrawsDecaysAndStepsBetweenTheirBounds) {
  Parameter flat("a.weight", {400, 5}, InitKind::Uniform, Spread::between(-0.5, 0.5));
  flat.initialise(1, spec::Dtype::Float32);
  EXPECT_LE(flat.master.abs().max().item<double>(), 0.5);
  EXPECT_NEAR(flat.master.std().item<double>(), 1 / std::sqrt(12.0), 0.02);
  Parameter decay("a_log", {4000}, InitKind::LogOfUniform, Spread::between(1, 16));
  decay.initialise(1, spec::Dtype::Float32);
  EXPECT_NEAR(decay.master.exp().mean().item<double>(), 8.5, 0.3);
  EXPECT_GE(decay.master.min().item<double>(), 0);
  Parameter bias("dt_bias", {4000}, InitKind::StepBias, Spread::between(1e-3, 1e-1));
  bias.initialise(1, spec::Dtype::Float32);
  const at::Tensor steps = at::softplus(bias.master.to(at::kDouble));
  EXPECT_GE(steps.min().item<double>(), 0.999e-3);
  EXPECT_LE(steps.max().item<double>(), 1.001e-1);
  EXPECT_NEAR(steps.log().mean().item<double>(), std::log(1e-2), 0.1);
}

// The spread of a normal law that is cut at 2 of its standard deviations is 0.8796 of it.
TEST(Parameter, CutsANormalLawWithoutPilingUpAtTheCuts) {
  Parameter cut("a.weight", {300, 200}, InitKind::Normal, {0.25, 0.5});
  cut.initialise(1, spec::Dtype::Float32);
  const at::Tensor size = cut.master.abs();
  EXPECT_LE(size.max().item<double>(), 0.5);
  EXPECT_GT(size.max().item<double>(), 0.499);
  EXPECT_NEAR(cut.master.std().item<double>(), 0.25 * 0.879626, 0.003);
  EXPECT_NEAR(cut.master.mean().item<double>(), 0, 0.004);
  // Within half a standard deviation: 38.29 % of the whole law, 40.12 % of what the cuts leave (of 60,000: +-0.2 %).
  EXPECT_NEAR((size < 0.125).to(at::kDouble).mean().item<double>(), 0.401175, 0.008);
  EXPECT_NEAR((size > 0.49).to(at::kDouble).mean().item<double>(), 0.0047, 0.0012);
}

TEST(Parameter, IgnoresACutThatNoValueReaches) {
  Parameter cut("a.weight", {30, 20}, InitKind::Normal, {0.02, 2}), whole("a.weight", {30, 20}, InitKind::Normal, 0.02);
  cut.initialise(5, spec::Dtype::Float32);
  whole.initialise(5, spec::Dtype::Float32);
  EXPECT_TRUE(at::equal(cut.master, whole.master));
}

TEST(Parameter, GivesEveryPieceItsOwnSpread) {
  Parameter fused({{"q.weight", 60, Spread(0.01)}, {"k.weight", 40, Spread(0.3, 0.3)}, {"v.weight", 40}}, {140, 50},
                  InitKind::Normal, 2);
  fused.initialise(9, spec::Dtype::Float32);
  const auto std_of = [&](int64_t row, int64_t count) {
    return fused.master.narrow(0, row, count).std().item<double>();
  };
  EXPECT_NEAR(std_of(0, 60), 0.01, 0.0005);
  EXPECT_NEAR(std_of(60, 40), 0.3 * 0.539560, 0.008);
  EXPECT_LE(fused.master.narrow(0, 60, 40).abs().max().item<double>(), 0.3);
  EXPECT_NEAR(std_of(100, 40), 2, 0.1);
  Parameter alone("k.weight", {40, 50}, InitKind::Normal, {0.3, 0.3});
  alone.initialise(9, spec::Dtype::Float32);
  EXPECT_TRUE(at::equal(fused.master.narrow(0, 60, 40), alone.master));
}

TEST(Parameter, IsStoredInBf16WithoutACopyInMoreBits) {
  Parameter wide("a.weight", {9, 5}, InitKind::Normal, {1, 1.5}),
      stored("a.weight", {9, 5}, InitKind::Normal, {1, 1.5});
  wide.initialise(3, spec::Dtype::Float32);
  stored.initialise(3, spec::Dtype::BFloat16, spec::Dtype::BFloat16);
  EXPECT_TRUE(stored.compute.is_same(stored.master));
  EXPECT_TRUE(at::equal(stored.master, wide.master.to(at::kBFloat16)));
  stored.initialise(3, spec::Dtype::Float32, spec::Dtype::BFloat16);
  EXPECT_EQ(stored.master.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(stored.compute, stored.master.to(at::kFloat)));
}

TEST(Parameter, ComputesWithItsMasterInFp32AndWithARoundedCopyElsewhere) {
  Parameter parameter("a.weight", {3, 5}, InitKind::Normal, 1);
  parameter.initialise(3, spec::Dtype::Float32);
  EXPECT_TRUE(parameter.compute.is_same(parameter.master));
  const at::Tensor values = parameter.master.clone();
  for (const spec::Dtype dtype : {spec::Dtype::BFloat16, spec::Dtype::Float16}) {
    parameter.initialise(3, dtype);
    EXPECT_TRUE(at::equal(parameter.master, values)) << "the values do not depend on the number format";
    EXPECT_TRUE(at::equal(parameter.compute, values.to(to_torch(dtype))));
  }
}

TEST(Parameter, RefusesPiecesThatDoNotCoverIt) {
  EXPECT_THROW(Parameter({{"q", 3}, {"k", 4}}, {8, 5}, InitKind::Zeros), InternalError);
}

TEST(Parameter, CountsEveryGradientThatIsAddedToIt) {
  Parameter parameter("a.weight", {2, 3}, InitKind::Zeros);
  parameter.initialise(1, spec::Dtype::BFloat16);
  parameter.main_grad = at::zeros({2, 3});
  int count = 0;
  parameter.on_gradient = [&](Parameter& which) { count += &which == &parameter; };
  parameter.accumulate_grad(at::full({2, 3}, 0.5, at::kBFloat16));
  parameter.accumulate_grad(at::full({2, 3}, 1e-4, at::kFloat));  // would be lost in bf16
  EXPECT_EQ(count, 2);
  EXPECT_FLOAT_EQ(parameter.main_grad[1][2].item<float>(), 0.5001F);
}

TEST(Parameter, KeepsOnlyOwnedRowsOfItsMaster) {
  Parameter parameter("a.weight", {5, 3}, InitKind::Normal, 1);
  parameter.initialise(1, spec::Dtype::BFloat16);
  const at::Tensor whole = parameter.master.clone(), copy = parameter.compute.clone();
  parameter.keep_owned_rows(1, 4);
  EXPECT_TRUE(at::equal(parameter.master, whole.narrow(0, 1, 3)));
  parameter.master.fill_(2.0);
  parameter.refresh_compute();
  copy.narrow(0, 1, 3).fill_(2.0);
  EXPECT_TRUE(at::equal(parameter.compute, copy));
}

}  // namespace
}  // namespace primus::nn
