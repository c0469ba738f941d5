// The parts of a step that are not mathematics: rates, refusals, counters.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace.h"

namespace primus::train {
namespace {

using testing::HasSubstr;

std::shared_ptr<test::CountingData> counting(int64_t num_samples, const spec::RunSpec& run) {
  return std::make_shared<test::CountingData>(num_samples, run.data.sequence_length, run.model.vocab_size);
}

// Peak 1, six steps, warm-up 2, linear to 0: megatron begins at its initial value and logs the rate that the step used.
TEST(TrainStep, ReportsTheRateThatItUsed) {
  spec::RunSpec run = test::tiny_run();
  run.batch = {.micro_batch_size = 2, .global_batch_size = 4};
  run.lr = {.decay = spec::LrDecay::Linear, .max_lr = 1, .min_lr = 0, .warmup_samples = 8, .decay_samples = 24};
  run.optimizer = {
      .kind = spec::OptimizerKind::Sgd, .momentum = 0, .clip_grad_norm = 1e-9};  // moves by the rate, harmlessly
  run.weight_decay = {};
  test::TinyTrainer tiny(run);
  data::BatchLoader loader = tiny.loader(counting(400, run));
  for (const double wanted : {0.0, 0.5, 1.0, 0.75, 0.5, 0.25}) {
    const std::vector<at::Tensor> before = test::weights_of(tiny.trainer());
    EXPECT_DOUBLE_EQ(train_step(tiny.trainer(), loader).lr, wanted);
    bool moved = false;
    const std::vector<at::Tensor> after = test::weights_of(tiny.trainer());
    for (size_t i = 0; i < before.size(); ++i) moved = moved || !at::equal(before[i], after[i]);
    EXPECT_EQ(moved, wanted > 0);
  }
}

TEST(TrainStep, GivesEmbeddingAndHeadTheirOwnSchedule) {
  spec::RunSpec run = test::tiny_run();
  run.lr = {.decay = spec::LrDecay::Constant, .max_lr = 0};
  run.weight_decay = {};
  run.optimizer.embedding_and_head_lr = 0.5;
  test::TinyTrainer tiny(run);
  const std::vector<at::Tensor> before = test::weights_of(tiny.trainer());
  const std::vector<at::Tensor> after = test::train_steps(tiny, 1).weights;
  const std::vector<nn::Parameter*> parameters = tiny.trainer().model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(!at::equal(before[i], after[i]), parameters[i]->is_embedding_or_head) << parameters[i]->name();
  }
}

TEST(TrainStep, ClipsTheLengthOfTheUpdate) {
  spec::RunSpec run = test::tiny_run();
  run.lr = {.decay = spec::LrDecay::Constant, .max_lr = 1};
  run.weight_decay = {};
  run.optimizer = {.kind = spec::OptimizerKind::Sgd, .momentum = 0, .clip_grad_norm = 0.25};
  test::TinyTrainer tiny(run);
  const std::vector<at::Tensor> before = test::weights_of(tiny.trainer());
  const test::Trace trace = test::train_steps(tiny, 1);
  EXPECT_GT(trace.grad_norms[0], 0.3);  // reported before clipping
  double square = 0;
  for (size_t i = 0; i < before.size(); ++i)
    square += (trace.weights[i] - before[i]).to(at::kDouble).square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(square), 0.25, 1e-5);
}

TEST(TrainStep, StopsAtANumberThatIsNotFiniteAndNamesStepAndSamples) {
  spec::RunSpec run = test::tiny_run();
  test::TinyTrainer tiny(run);
  data::BatchLoader loader = tiny.loader(counting(400, run));
  train_step(tiny.trainer(), loader);
  tiny.trainer().model.parameters()[0]->master.fill_(std::nan(""));
  try {
    train_step(tiny.trainer(), loader);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 2"));
    EXPECT_THAT(error.what(), HasSubstr("4 5 6 7"));
    EXPECT_THAT(error.what(), HasSubstr("iterations_to_skip"));
  }
}

TEST(TrainStep, SkipsTheUpdateOfANumberThatIsNotFiniteWhenTold) {
  spec::RunSpec run = test::tiny_run();
  run.exit.fail_on_nan = false;
  test::TinyTrainer tiny(run);
  data::BatchLoader loader = tiny.loader(counting(400, run));
  nn::Parameter* gain = tiny.trainer().model.parameters()[1];
  gain->master[0] = std::nan("");
  const std::vector<at::Tensor> before = test::weights_of(tiny.trainer());
  const StepResult step = train_step(tiny.trainer(), loader);
  EXPECT_FALSE(step.updated);
  EXPECT_FALSE(step.finite);
  const std::vector<at::Tensor> after = test::weights_of(tiny.trainer());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(at::equal(at::nan_to_num(before[i]), at::nan_to_num(after[i])));
  const TrainState& state = tiny.trainer().state;
  EXPECT_EQ(state.num_skipped, 1);
  EXPECT_EQ(state.num_nan, 1);
  EXPECT_EQ(state.schedule_samples, 0);
  EXPECT_EQ(state.consumed_samples, 4);
  gain->master[0] = 1.0;
  EXPECT_TRUE(train_step(tiny.trainer(), loader).updated);
}

TEST(TrainStep, SaysWhereTheDataEnds) {
  spec::RunSpec run = test::tiny_run();
  test::TinyTrainer tiny(run);
  data::BatchLoader loader = tiny.loader(counting(7, run));
  train_step(tiny.trainer(), loader);
  try {
    train_step(tiny.trainer(), loader);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ends at step 2"));
    EXPECT_THAT(error.what(), HasSubstr("4 samples"));
  }
}

TEST(TrainStep, FollowsABatchRampUp) {
  spec::RunSpec run = test::tiny_run();
  run.batch = {.micro_batch_size = 2,
               .global_batch_size = 8,
               .rampup = spec::BatchRampup{.start_samples = 4, .increment_samples = 2, .ramp_samples = 16}};
  test::TinyTrainer tiny(run);
  data::BatchLoader loader = tiny.loader(counting(400, run));
  std::vector<int64_t> sizes;
  int64_t samples = 0;
  for (int i = 0; i < 6; ++i) {
    const StepResult step = train_step(tiny.trainer(), loader);
    sizes.push_back(step.global_batch_size);
    samples += step.global_batch_size;
    EXPECT_EQ(step.num_tokens, step.global_batch_size * run.data.sequence_length);
  }
  EXPECT_EQ(sizes.front(), 4);
  EXPECT_EQ(sizes.back(), 8);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  EXPECT_THAT(sizes, testing::Contains(6));
  EXPECT_EQ(tiny.trainer().state.consumed_samples, samples);
}

TEST(TrainState, SurvivesJson) {
  const TrainState state{
      .step = 1, .consumed_samples = 2, .consumed_tokens = 3, .schedule_samples = 4, .num_skipped = 5, .num_nan = 6};
  EXPECT_EQ(to_json(train_state_from_json(to_json(state))), to_json(state));
  EXPECT_EQ(to_json(state)["schedule_samples"], 4);
}

}  // namespace
}  // namespace primus::train
