#include "primus/optim/loss_scaler.h"

#include <gtest/gtest.h>

namespace primus::optim {
namespace {

spec::Precision fp16(spec::LossScale rule) {
  return {.compute = spec::Dtype::Float16, .loss_scale = rule};
}

// By hand from megatron/core/optimizer/grad_scaler.py, DynamicGradScaler: + a good step, - a bad one.
TEST(LossScaler, FollowsMegatronsDynamicRule) {
  LossScaler scaler(fp16({.initial = 64, .minimum = 4, .window_steps = 3, .hysteresis = 2}));
  EXPECT_TRUE(scaler.is_dynamic());
  const std::string steps =
      "++"
      "+"
      "-"
      "-"
      "-"
      "++"
      "-"
      "+++"
      "-"
      "-"
      "----"
      "+++";
  const std::vector<double> scales = {64,  64, 128,  // the third good step doubles
                                      128, 64, 32,   // the first bad step is forgiven, the second and later ones halve
                                      32,  32, 16,   // good steps short of the window do not forgive again
                                      16,  16, 32,   // a whole window does
                                      32,  16,       // forgiven once
                                      8,   4,  4,   4,  // never below the minimum
                                      4,   4,  8};
  ASSERT_EQ(steps.size(), scales.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    scaler.update(steps[i] == '+');
    EXPECT_EQ(scaler.scale(), scales[i]) << "after step " << i + 1;
  }
}

TEST(LossScaler, NeverMovesAConstantScale) {
  LossScaler scaler(fp16({.constant = 128}));
  EXPECT_FALSE(scaler.is_dynamic());
  for (int i = 0; i < 5; ++i) scaler.update(false);
  EXPECT_EQ(scaler.scale(), 128);
}

TEST(LossScaler, IsOneUnlessTheRunComputesInFp16) {
  for (const spec::Dtype dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    LossScaler scaler({.compute = dtype, .loss_scale = {.constant = 128}});
    scaler.update(false);
    EXPECT_EQ(scaler.scale(), 1);
  }
}

TEST(LossScaler, GoesOnFromItsSavedState) {
  const spec::LossScale rule{.initial = 64, .minimum = 1, .window_steps = 3, .hysteresis = 2};
  const std::string steps = "-+-++--+++-+-";
  for (size_t cut = 0; cut < steps.size(); ++cut) {
    LossScaler whole(fp16(rule)), first(fp16(rule)), second(fp16(rule));
    for (const char step : steps) whole.update(step == '+');
    for (const char step : steps.substr(0, cut)) first.update(step == '+');
    second.restore(first.state());
    for (const char step : steps.substr(cut)) second.update(step == '+');
    EXPECT_EQ(second.state(), whole.state()) << "cut after " << cut;
  }
}

}  // namespace
}  // namespace primus::optim
