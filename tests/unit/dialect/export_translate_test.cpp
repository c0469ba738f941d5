// The same run in another dialect.
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/to_spec.h"
#include "primus/dialect/translate.h"
#include "primus/spec/to_json.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using ::testing::HasSubstr;
using testing::little;
using testing::replaced;
using testing::shipped;

std::vector<std::string> fields_of(const Translated& translated) {
  std::vector<std::string> fields;
  for (const NotCarried& one : translated.not_carried) fields.push_back(one.key);
  return fields;
}
std::string reason_of(const Translated& translated, const std::string& field) {
  for (const NotCarried& one : translated.not_carried)
    if (one.key == field) return one.reason;
  return "";
}
spec::RunSpec run_of(const config::Experiment& source) {
  return value_or_throw(to_spec(source, {}, {.world_size = 1, .for_training = false}));
}
const config::Value* param(const Translated& translated, const char* path) {
  return translated.experiment.modules[0].params.find_path(path);
}

TEST(Translation, OfLlama31FromMegatronToTorchTitanDiffersInTheDocumentedFieldsOnly) {
  const auto source = shipped("examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml");
  const auto translated = translate_experiment(source, {}, "torchtitan");
  ASSERT_TRUE(translated.ok()) << render(translated.diagnostics());
  EXPECT_EQ(fields_of(*translated), (std::vector<std::string>{"model.init",
                                                              "lr",
                                                              "model.padded_vocab_size",
                                                              "model.vocab_divisor",
                                                              "model.layers[0-31].attention.rope.interleaved",
                                                              "model.layers[0-31].attention.rope.llama3",
                                                              "optimizer.decay_vectors",
                                                              "optimizer.shard_state",
                                                              "loss",
                                                              "data.mock",
                                                              "data.split",
                                                              "data.order",
                                                              "data.mask_loss_at_eod",
                                                              "data.texts",
                                                              "evaluation.interval_steps",
                                                              "checkpoint.override_schedule",
                                                              "logging.device_memory_steps",
                                                              "exit.fail_on_nan",
                                                              "parallel.overlap_grad_reduce",
                                                              "parallel.timeout_minutes"}));
  const spec::RunSpec before = run_of(source), after = run_of(translated->experiment);
  EXPECT_EQ(after.identity.framework, "torchtitan");
  EXPECT_EQ(after.model.hidden_size, 4096);
  EXPECT_EQ(after.model.layers.size(), 32U);
  EXPECT_EQ(after.model.layers[0].mlp.ffn_size, 14336);
  EXPECT_EQ(after.model.layers[0].attention.num_kv_heads, 8);
  EXPECT_EQ(after.batch.global_batch_size, before.batch.global_batch_size);
  EXPECT_EQ(after.lr.max_lr, before.lr.max_lr);
  EXPECT_EQ(after.weight_decay.start, before.weight_decay.start);
  EXPECT_EQ(param(*translated, "model.flavor")->as_string(), "8B");
  EXPECT_EQ(param(*translated, "model.rope_scaling_args.scaling_factor")->as_double(), 1);  // no scaling
  EXPECT_EQ(param(*translated, "model.dim"), nullptr);  // what the flavor says is not said again
}

TEST(Translation, ToTorchTitanOverridesWhatNoFlavorHas) {
  const auto translated = translate_experiment(experiment(little()), {}, "torchtitan");
  ASSERT_TRUE(translated.ok()) << render(translated.diagnostics());
  EXPECT_EQ(param(*translated, "model.dim")->as_int(), 96);
  EXPECT_EQ(param(*translated, "model.n_layers")->as_int(), 3);
  EXPECT_EQ(run_of(translated->experiment).model.layers[0].mlp.ffn_size,
            run_of(experiment(little())).model.layers[0].mlp.ffn_size);
  const auto form = export_launch(translated->experiment);
  ASSERT_TRUE(form.ok());
  EXPECT_THAT(launch_text(*form), HasSubstr("model.dim: 96  (no upstream form"));
}

TEST(Translation, ThereAndBackGivesTheSameTraining) {
  const auto source = experiment(little("lr_decay_style: cosine\nlr_warmup_iters: 7\nadam_beta2: 0.95\nseed: 77\n"));
  const auto there = translate_experiment(source, {}, "torchtitan");
  ASSERT_TRUE(there.ok()) << render(there.diagnostics());
  const auto back = translate_experiment(there->experiment, {}, "megatron");
  ASSERT_TRUE(back.ok()) << render(back.diagnostics());
  const spec::RunSpec before = run_of(source), after = run_of(back->experiment);
  EXPECT_EQ(after.lr.max_lr, before.lr.max_lr);
  EXPECT_EQ(after.lr.min_lr, before.lr.min_lr);
  EXPECT_EQ(after.lr.warmup_samples, before.lr.warmup_samples);
  EXPECT_EQ(after.lr.decay, spec::LrDecay::WarmupStableDecay);  // with no stable phase: the same curve
  EXPECT_EQ(after.lr.wsd_samples, before.lr.decay_samples - before.lr.warmup_samples);
  EXPECT_EQ(after.optimizer.beta2, 0.95);
  EXPECT_EQ(after.batch.micro_batch_size, 3);
  EXPECT_EQ(after.exit.train_steps, 70);
  EXPECT_EQ(after.seed, 77);
  EXPECT_EQ(after.model.layers.size(), 3U);
}

TEST(Translation, ListsWhatTheOtherDialectCannotSay) {
  const auto source = experiment(little("exit_duration_in_mins: 30\nlr_warmup_init: 1.0e-5\nlr_warmup_iters: 5\n"));
  const auto translated = translate_experiment(source, {}, "torchtitan");
  ASSERT_TRUE(translated.ok()) << render(translated.diagnostics());
  EXPECT_THAT(reason_of(*translated, "exit.duration_minutes"), HasSubstr("becomes null"));
  EXPECT_THAT(reason_of(*translated, "lr"), HasSubstr("there the schedules differ most"));
  EXPECT_THAT(reason_of(*translated, "loss"), HasSubstr("equal as long as"));
}

TEST(Translation, IsRefusedWhereTheArchitectureWouldBeAnother) {
  const auto gelu = translate_experiment(experiment(replaced(little(), "swiglu", "false")), {}, "torchtitan");
  ASSERT_FALSE(gelu.ok());
  EXPECT_THAT(render(gelu.diagnostics()), HasSubstr("cannot be expressed in the dialect torchtitan"));
  EXPECT_THAT(render(gelu.diagnostics()), HasSubstr("mlp.gated (false)"));
  const auto experts = translate_experiment(
      shipped("examples/megatron/configs/MI300X/mixtral_8x7B_v0.1-BF16-pretrain.yaml"), {}, "torchtitan");
  ASSERT_FALSE(experts.ok());
  EXPECT_THAT(render(experts.diagnostics()), HasSubstr("cannot be expressed"));
  const auto learned = translate_experiment(
      experiment(replaced(little(), "position_embedding_type", "learned_absolute")), {}, "torchtitan");
  ASSERT_FALSE(learned.ok());
  EXPECT_THAT(render(learned.diagnostics()), HasSubstr("learned_positions"));
}

TEST(Translation, ToMaxTextTakesTheNameOfAModelThatItKnows) {
  const auto named =
      translate_experiment(shipped("examples/torchtitan/configs/MI300X/qwen3_8B-pretrain.yaml"), {}, "maxtext");
  ASSERT_TRUE(named.ok()) << render(named.diagnostics());
  EXPECT_EQ(param(*named, "model_name")->as_string(), "qwen3-8b");
  const auto sized = translate_experiment(experiment(little()), {}, "maxtext");
  ASSERT_TRUE(sized.ok()) << render(sized.diagnostics());
  EXPECT_EQ(param(*sized, "model_name")->as_string(), "default");
  EXPECT_EQ(param(*sized, "base_emb_dim")->as_int(), 96);
  EXPECT_EQ(param(*sized, "gradient_accumulation_steps")->as_int(), 4);  // 12 sequences in portions of 3
  EXPECT_EQ(run_of(sized->experiment).batch.global_batch_size, 12);
}

TEST(Translation, ToMegatronBridgeNeedsARecipe) {
  const auto found =
      translate_experiment(shipped("examples/torchtitan/configs/MI300X/qwen3_8B-pretrain.yaml"), {}, "megatron_bridge");
  ASSERT_TRUE(found.ok()) << render(found.diagnostics());
  EXPECT_EQ(param(*found, "flavor")->as_string(), "qwen3_8b_pretrain_config");
  const auto refused = translate_experiment(experiment(little()), {}, "megatron_bridge");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("no pre-training recipe"));
}

TEST(Translation, OfPostTrainingStaysInItsDialect) {
  const auto refused = translate_experiment(
      shipped("examples/megatron_bridge/configs/MI355X/qwen3_8b_lora_posttrain.yaml"), {}, "torchtitan");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("--to megatron_bridge"));
}

TEST(Translation, ToAnUnknownDialectNamesThem) {
  const auto refused = translate_experiment(experiment(little()), {}, "megatorn");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("did you mean 'megatron'?"));
}

}  // namespace
}  // namespace primus::dialect
