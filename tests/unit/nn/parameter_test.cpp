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
