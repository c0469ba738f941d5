// A run that is stopped, saved, built anew and restored goes on to the very same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace.h"
#include "unit/hub/temp_folder.h"

#include "primus/spec/schedule_values.h"
#include "primus/train/checkpointing.h"

namespace primus::train {
namespace {

using testing::HasSubstr;

constexpr int64_t kBefore = 4, kAfter = 4;

spec::RunSpec noisy_run(spec::Dtype dtype) {
  spec::RunSpec run = test::tiny_run();
  run.precision.compute = dtype;
  run.lr = {.decay = spec::LrDecay::Cosine, .max_lr = 5e-3, .min_lr = 1e-4, .warmup_samples = 8, .decay_samples = 40};
  for (spec::LayerSpec& layer : run.model.layers) layer.hidden_dropout = layer.attention.dropout = 0.2;
  return run;
}

void save(Trainer& trainer, const fs::path& run_folder) {
  ckpt::Writer writer({.checkpoints = hub::checkpoints_folder(run_folder), .in_background = false});
  writer.save(save_request(trainer));
}

hub::FoundCheckpoint newest(const fs::path& run_folder) {
  return value_or_throw(hub::find_latest(run_folder)).value();
}

void expect_exact_resume(const spec::RunSpec& run) {
  const test::TempFolder folder = test::TempFolder::in_memory();
  const test::Trace uninterrupted = test::train_fresh(run, kBefore + kAfter);
  test::TinyTrainer first(run);
  test::train_steps(first, kBefore);
  save(first.trainer(), folder.path());

  test::TinyTrainer second(run);
  test::train_steps(second, 1);  // what is restored must replace everything that a used trainer holds
  restore(second.trainer(), newest(folder.path()), /*weights_only=*/false);
  EXPECT_EQ(to_json(second.trainer().state), to_json(first.trainer().state));
  EXPECT_EQ(second.trainer().loss_scaler.state(), first.trainer().loss_scaler.state());
  const test::Trace rest = test::train_steps(second, kAfter);
  const auto tail = [](const std::vector<double>& all) {
    return std::vector<double>(all.begin() + kBefore, all.end());
  };
  test::expect_equal_numbers(rest.losses, tail(uninterrupted.losses));
  test::expect_equal_numbers(rest.grad_norms, tail(uninterrupted.grad_norms));
  test::expect_equal_weights(rest.weights, uninterrupted.weights);
}

TEST(Resume, IsExactInFp32) {
  expect_exact_resume(noisy_run(spec::Dtype::Float32));
}
TEST(Resume, IsExactInBf16) {
  expect_exact_resume(noisy_run(spec::Dtype::BFloat16));
}

TEST(Resume, IsExactInFp16WithADynamicLossScale) {
  spec::RunSpec run = noisy_run(spec::Dtype::Float16);
  // So high that the first steps overflow, and growing again soon: the saved state lies in the middle of both counters.
  run.precision.loss_scale = {.initial = 1LL << 21, .window_steps = 2, .hysteresis = 1};
  test::TinyTrainer probe(run);
  test::train_steps(probe, kBefore);
  EXPECT_GT(probe.trainer().state.num_skipped, 0);
  EXPECT_GT(probe.trainer().optimizer->num_updates(), 0);
  EXPECT_LT(probe.trainer().loss_scaler.scale(), 1LL << 21);
  EXPECT_LT(probe.trainer().optimizer->num_updates(), kBefore);
  expect_exact_resume(run);
}

TEST(Resume, IsExactWithSgd) {
  spec::RunSpec run = noisy_run(spec::Dtype::BFloat16);
  run.optimizer = {.kind = spec::OptimizerKind::Sgd, .momentum = 0.9, .clip_grad_norm = 1.0};
  expect_exact_resume(run);
}

TEST(Resume, IsExactWithTiedEmbeddingsBiasesAndASkippedStep) {
  spec::RunSpec run = noisy_run(spec::Dtype::Float32);
  run.model.tied_embeddings = run.model.learned_positions = true;
  for (spec::LayerSpec& layer : run.model.layers) layer.attention.qkv_bias = layer.mlp.bias = true;
  run.exit.steps_to_skip = {2, 6};
  expect_exact_resume(run);
}

TEST(Resume, IsExactWithTheRulesOfOtherDialects) {
  spec::RunSpec run = noisy_run(spec::Dtype::BFloat16);
  test::like_other_dialects(run);
  expect_exact_resume(run);
}

TEST(Resume, IsExactWithWeightsStoredInBf16) {
  spec::RunSpec run = noisy_run(spec::Dtype::BFloat16);
  run.precision.stored = spec::Dtype::BFloat16;
  run.lr = {.decay = spec::LrDecay::Cosine, .max_lr = 3e-2, .decay_samples = 40, .ends_at_last_step = true};
  expect_exact_resume(run);
}

TEST(Restore, TakesTheWholeScheduleOfTheCheckpoint) {
  const test::TempFolder folder = test::TempFolder::in_memory();
  spec::RunSpec run = test::tiny_run();
  test::like_other_dialects(run);
  const spec::LrSchedule saved = run.lr;
  test::TinyTrainer first(run);
  save(first.trainer(), folder.path());
  run.lr = {.max_lr = 1};
  run.checkpoint.use_checkpoint_schedule = true;
  test::TinyTrainer second(run);
  restore(second.trainer(), newest(folder.path()), false);
  for (const double n : {0.0, 4.0, 12.0, 40.0, 60.0, 79.0}) {
    EXPECT_EQ(spec::learning_rate(second.trainer().spec.lr, n, 4), spec::learning_rate(saved, n, 4)) << n;
  }
}

TEST(Resume, GoesOnWithTheNextSample) {  // B117
  const test::TempFolder folder = test::TempFolder::in_memory();
  const spec::RunSpec run = test::tiny_run();
  test::TinyTrainer first(run);
  test::train_steps(first, 3);
  save(first.trainer(), folder.path());
  test::TinyTrainer second(run);
  restore(second.trainer(), newest(folder.path()), false);
  data::BatchLoader loader =
      second.loader(std::make_shared<test::CountingData>(20, run.data.sequence_length, run.model.vocab_size));
  EXPECT_THAT(loader.next()->sample_indices, testing::ElementsAre(12, 13));
}

TEST(Restore, RefusesTheCheckpointOfAnotherModelAndNamesTheDifferences) {
  const test::TempFolder folder = test::TempFolder::in_memory();
  spec::RunSpec run = test::tiny_run();
  test::TinyTrainer first(run);
  save(first.trainer(), folder.path());
  run.model.layers[1].mlp.ffn_size = 60;
  run.model.tied_embeddings = true;
  test::TinyTrainer second(run);
  try {
    restore(second.trainer(), newest(folder.path()), false);
    FAIL() << "weights of another model were taken";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tied_embeddings"));
    EXPECT_THAT(error.what(), HasSubstr("ffn_size"));
    EXPECT_THAT(error.what(), HasSubstr(folder.path().string()));
  }
}

TEST(Restore, TakesOnlyWeightsWhenAsked) {
  const test::TempFolder folder = test::TempFolder::in_memory();
  spec::RunSpec run = noisy_run(spec::Dtype::BFloat16);
  test::TinyTrainer first(run);
  test::train_steps(first, 3);
  save(first.trainer(), folder.path());
  run.seed = 99;
  run.optimizer.kind = spec::OptimizerKind::Sgd;  // its state is not in the file, and is not asked for
  test::TinyTrainer second(run);
  restore(second.trainer(), newest(folder.path()), /*weights_only=*/true);
  test::expect_equal_weights(test::weights_of(second.trainer()), test::weights_of(first.trainer()));
  EXPECT_EQ(to_json(second.trainer().state), to_json(TrainState{}));
  EXPECT_EQ(second.trainer().optimizer->num_updates(), 0);
  for (const nn::Parameter* parameter : second.trainer().model.parameters()) {
    EXPECT_TRUE(at::equal(parameter->compute, parameter->master.to(at::kBFloat16))) << parameter->name();
  }
}

TEST(Restore, OfAnotherOptimizerNamesTheMissingState) {
  const test::TempFolder folder = test::TempFolder::in_memory();
  spec::RunSpec run = test::tiny_run();
  test::TinyTrainer first(run);
  save(first.trainer(), folder.path());
  run.optimizer.kind = spec::OptimizerKind::Sgd;
  test::TinyTrainer second(run);
  try {
    restore(second.trainer(), newest(folder.path()), false);
    FAIL() << "a momentum that is not in the file was made up";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("optimizer.momentum.embed.weight"));
  }
}

TEST(Checkpoint, HoldsUnfusedTensorsByTheirOwnNames) {
  spec::RunSpec run = test::tiny_run();
  test::TinyTrainer tiny(run);
  std::vector<std::string> names;
  int64_t num_elements = 0;
  for (const ckpt::NamedShard& shard : shards_of(tiny.trainer())) {
    names.push_back(shard.name);
    num_elements += shard.data.numel();
    EXPECT_EQ(shard.data.sizes().vec(), shard.global_shape) << shard.name;
  }
  EXPECT_THAT(names,
              testing::IsSupersetOf({"master.embed.weight", "optimizer.exp_avg.layer.0.attn.k.weight",
                                     "optimizer.exp_avg_sq.layer.1.mlp.gate.weight", "master.final_norm.weight"}));
  int64_t num_parameters = 0;
  for (const nn::Parameter* parameter : tiny.trainer().model.parameters()) num_parameters += parameter->num_elements();
  EXPECT_EQ(num_elements, 3 * num_parameters);
}

}  // namespace
}  // namespace primus::train
