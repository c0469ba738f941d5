// Schedules where the golden file does not look: ramp-up, lengths in samples, degenerate values.
#include "primus/spec/schedule_values.h"

#include <gtest/gtest.h>

namespace primus::spec {
namespace {

Batch ramped() {
  Batch batch;
  batch.global_batch_size = 10;
  batch.rampup = BatchRampup{4, 3, 20};
  return batch;
}

TEST(GlobalBatchSize, ClimbsInEqualPartsOfTheRamp) {
  // Two increments in 20 samples: 4 up to 9, 7 up to 19, then 10.
  for (const auto& [consumed, size] :
       {std::pair<int64_t, int64_t>{0, 4}, {9, 4}, {10, 7}, {19, 7}, {20, 10}, {21, 10}, {999, 10}})
    EXPECT_EQ(global_batch_size(ramped(), consumed), size) << consumed;
}

TEST(GlobalBatchSize, SurvivesARampOfNothing) {
  Batch batch = ramped();
  batch.rampup->ramp_samples = 0;
  EXPECT_EQ(global_batch_size(batch, 0), 10);
  batch.rampup = BatchRampup{10, 3, 20};
  EXPECT_EQ(global_batch_size(batch, 5), 10);
}

TEST(StepsForSamples, DropsThePartialLastBatch) {
  Batch batch;
  batch.global_batch_size = 7;
  EXPECT_EQ(steps_for_samples(batch, 27), 3);
  // 4, 4, 4, 7, 7: 26 samples, beyond the ramp; of the other 25 two whole batches.
  EXPECT_EQ(steps_for_samples(ramped(), 51), 5 + 2);
  EXPECT_EQ(steps_for_samples(ramped(), 3), 1);
}

TEST(StepValues, ReportsConsumedSamplesBehindEachStep) {
  RunSpec run;
  run.batch = ramped();
  run.exit.train_steps = 6;
  run.lr.decay = LrDecay::Constant;
  run.lr.max_lr = 0.3;
  const auto steps = step_values(run);
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[0].step, 1);
  EXPECT_EQ(steps[4].samples, 26);
  EXPECT_EQ(steps[5].global_batch_size, 10);
  EXPECT_EQ(steps[5].samples, 36);
  EXPECT_EQ(steps[5].lr, 0.3);
}

TEST(StepValues, OfNoStepsIsEmpty) {
  EXPECT_TRUE(step_values(RunSpec{}).empty());
}

TEST(LearningRate, OfConstantIgnoresLowestRateAndDecayLengthButNotTheWarmUp) {
  LrSchedule s;
  s.decay = LrDecay::Constant;
  s.max_lr = 2;
  s.min_lr = 1;
  s.warmup_samples = 4;
  s.decay_samples = 8;
  EXPECT_EQ(learning_rate(s, 0, 1), 0);
  EXPECT_EQ(learning_rate(s, 2, 1), 1);
  EXPECT_EQ(learning_rate(s, 900, 1), 2);
}

TEST(LearningRate, InverseSquareRootTakesOneSampleAsReferenceWithoutWarmUp) {
  LrSchedule s;
  s.decay = LrDecay::InverseSquareRoot;
  s.max_lr = 1;
  s.min_lr = 0.01;
  s.decay_samples = 100;
  EXPECT_EQ(learning_rate(s, 16, 16), 0.25);  // step 2: lr / sqrt(global batch)
  EXPECT_EQ(learning_rate(s, 101, 16), 0.01);
}

}  // namespace
}  // namespace primus::spec
