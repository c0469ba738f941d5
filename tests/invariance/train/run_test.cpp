// What must not change a run: the split into micro-batches, threads, evaluations, a second start from the same seed.
#include <cmath>
#include <gtest/gtest.h>

#include "support/trace.h"

#include "primus/tensor/runtime.h"
#include "primus/train/evaluation.h"

namespace primus::train {
namespace {

constexpr int64_t kSteps = 4;

spec::RunSpec noisy_run(spec::Dtype dtype) {
  spec::RunSpec run = test::tiny_run();
  run.precision.compute = dtype;
  run.model.embedding_dropout = 0.1;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.hidden_dropout = 0.2;
    layer.attention.dropout = 0.3;
  }
  return run;
}

double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  return largest;
}

// With the per-token rule nothing depends on the split; were a dropout mask to depend on it, losses would differ by
// 1e-2.
TEST(MicroBatchSplit, ChangesNoLossWithTheTokenMeanAndDropout) {
  spec::RunSpec run = noisy_run(spec::Dtype::Float32);
  run.loss = spec::LossNormalisation::GlobalTokenMean;
  run.optimizer = {.kind = spec::OptimizerKind::Sgd,
                   .clip_grad_norm = 1.0};  // Adam blows up rounding where moments are tiny
  run.batch.micro_batch_size = 4;
  const test::Trace whole = test::train_fresh(run, kSteps);
  for (const int64_t micro : {2, 1}) {
    run.batch.micro_batch_size = micro;
    const test::Trace split = test::train_fresh(run, kSteps);
    for (size_t i = 0; i < whole.losses.size(); ++i) {
      EXPECT_NEAR(split.losses[i], whole.losses[i], 1e-6 * whole.losses[i])
          << "micro batch " << micro << ", step " << i + 1;
      EXPECT_NEAR(split.grad_norms[i], whole.grad_norms[i], 1e-5 * whole.grad_norms[i]);
    }
    EXPECT_LT(largest_difference(split.weights, whole.weights), 1e-6);
  }
}

TEST(MicroBatchSplit, ChangesTheWeightsWithTheMeanOfMeans) {
  spec::RunSpec run = test::tiny_run();
  run.loss = spec::LossNormalisation::MicroBatchMean;
  run.batch.micro_batch_size = 4;
  const test::Trace whole = test::train_fresh(run, 1);
  run.batch.micro_batch_size = 1;
  const test::Trace split = test::train_fresh(run, 1);
  EXPECT_NEAR(split.losses[0], whole.losses[0], 1e-6);
  EXPECT_GT(std::abs(split.grad_norms[0] - whole.grad_norms[0]), 1e-3);
}

TEST(Seed, GivesTheSameBitsTwiceAndOthersForAnotherSeed) {
  for (const spec::Dtype dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    spec::RunSpec run = noisy_run(dtype);
    const test::Trace once = test::train_fresh(run, kSteps);
    test::expect_equal_bits(test::train_fresh(run, kSteps), once);
    run.seed += 1;
    EXPECT_NE(test::train_fresh(run, 1).losses[0], once.losses[0]);
  }
}

TEST(Threads, ChangeNoBits) {
  const int before = tensor::num_threads();
  for (const spec::Dtype dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    tensor::set_num_threads(1);
    const test::Trace one = test::train_fresh(noisy_run(dtype), kSteps);
    tensor::set_num_threads(2);
    const test::Trace two = test::train_fresh(noisy_run(dtype), kSteps);
    test::expect_equal_bits(two, one);
  }
  tensor::set_num_threads(before);
}

TEST(Evaluation, GivesTheSameValueEachTimeAndTouchesNothing) {
  const spec::RunSpec run = noisy_run(spec::Dtype::BFloat16);
  const test::Trace undisturbed = test::train_fresh(run, kSteps);
  test::TinyTrainer tiny(run);
  // Ten samples, three batches of four a round: the third one is short, and no round goes on where the last one ended.
  const auto dataset = std::make_shared<test::CountingData>(10, run.data.sequence_length, run.model.vocab_size);
  const double before = evaluate(tiny.trainer(), dataset, 3);
  EXPECT_EQ(evaluate(tiny.trainer(), dataset, 3), before);
  EXPECT_EQ(tiny.trainer().state.consumed_samples, 0);
  data::BatchLoader loader =
      tiny.loader(std::make_shared<test::CountingData>(400, run.data.sequence_length, run.model.vocab_size));
  for (int64_t i = 0; i < kSteps; ++i) {
    const std::vector<at::Tensor> weights = test::weights_of(tiny.trainer());
    const double loss = evaluate(tiny.trainer(), dataset, 3);
    EXPECT_EQ(evaluate(tiny.trainer(), dataset, 3), loss);
    test::expect_equal_weights(test::weights_of(tiny.trainer()), weights);
    EXPECT_EQ(train_step(tiny.trainer(), loader).loss, undisturbed.losses[static_cast<size_t>(i)]);
  }
  EXPECT_NE(evaluate(tiny.trainer(), dataset, 3), before);
}

TEST(Evaluation, CountsEverySampleOnceWhateverTheBatchSize) {
  spec::RunSpec run = test::tiny_run();
  const auto dataset = std::make_shared<test::CountingData>(7, run.data.sequence_length, run.model.vocab_size);
  run.batch = {.micro_batch_size = 1, .global_batch_size = 1};
  test::TinyTrainer one(run);
  const double wanted = evaluate(one.trainer(), dataset, 7);
  run.batch = {.micro_batch_size = 2, .global_batch_size = 4};
  test::TinyTrainer two(run);
  EXPECT_NEAR(evaluate(two.trainer(), dataset, 99), wanted, 1e-6);
  EXPECT_GT(std::abs(evaluate(two.trainer(), dataset, 1) - wanted), 1e-6);
  EXPECT_TRUE(std::isnan(evaluate(two.trainer(), nullptr, 3)));
}

TEST(SkippedStep, ConsumesDataButNotTheSchedule) {
  spec::RunSpec run = test::tiny_run();
  run.lr = {.decay = spec::LrDecay::Linear, .max_lr = 1e-2, .min_lr = 0, .warmup_samples = 8, .decay_samples = 80};
  run.exit.steps_to_skip = {2};
  test::TinyTrainer tiny(run);
  data::BatchLoader loader =
      tiny.loader(std::make_shared<test::CountingData>(400, run.data.sequence_length, run.model.vocab_size));
  const StepResult first = train_step(tiny.trainer(), loader);
  const std::vector<at::Tensor> before = test::weights_of(tiny.trainer());
  const StepResult skipped = train_step(tiny.trainer(), loader);
  EXPECT_FALSE(skipped.updated);
  test::expect_equal_weights(test::weights_of(tiny.trainer()), before);
  EXPECT_EQ(tiny.trainer().optimizer->num_updates(), 1);
  const StepResult third = train_step(tiny.trainer(), loader);
  EXPECT_EQ(first.lr, 0);
  EXPECT_DOUBLE_EQ(third.lr, 0.5e-2);  // the second step of the warm-up, although it is the third of the run
  const TrainState& state = tiny.trainer().state;
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(state.consumed_samples, 12);
  EXPECT_EQ(state.schedule_samples, 8);
  EXPECT_EQ(state.num_skipped, 1);
}

}  // namespace
}  // namespace primus::train
