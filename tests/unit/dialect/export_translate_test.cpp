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

TEST(Translation, CarriesDataThatTheRecipeReads) {
  const auto source = experiment(
      "model: {name: qwen3, flavor: 8B}\ntraining: {local_batch_size: 1, steps: 20, mock_data: false, dataset_path: "
      "/data/texts}\nlr_scheduler: {warmup_steps: 5}\noptimizer: {beta2: 0.91}\n",
      "torchtitan");
  auto megatron = translate_experiment(source, {}, "megatron");
  ASSERT_TRUE(megatron.ok()) << render(megatron.diagnostics());
  config::Map& params = megatron->experiment.modules[0].params.as_map();
  params.set("mock_data", config::Value(false));
  params.set("data_path", config::Value(config::List{config::Value("0.25"), config::Value("a"), config::Value("0.75"),
                                                     config::Value("b")}));
  params.set("lr_decay_style", config::Value("linear"));
  const auto bridge = translate_experiment(megatron->experiment, {}, "megatron_bridge");
  ASSERT_TRUE(bridge.ok()) << render(bridge.diagnostics());
  const spec::RunSpec after = run_of(bridge->experiment);
  EXPECT_FALSE(after.data.mock);
  ASSERT_EQ(after.data.blend.files.size(), 2U);
  EXPECT_EQ(after.data.blend.files[1].prefix, "b");
  EXPECT_EQ(after.data.blend.files[1].weight, 0.75);
  // Fields of the container that no argument of the recipe sets.
  EXPECT_EQ(after.optimizer.beta2, 0.91);
  EXPECT_EQ(after.lr.decay, spec::LrDecay::Linear);
  EXPECT_EQ(after.weight_decay.start, run_of(megatron->experiment).weight_decay.start);
  EXPECT_EQ(reason_of(*bridge, "optimizer.beta2"), "");
}

TEST(Translation, OfPostTrainingGoesFromMegatronBridgeToMegatron) {
  const auto source = shipped("examples/megatron_bridge/configs/MI355X/qwen3_8b_lora_posttrain.yaml");
  const auto there = translate_experiment(source, {}, "megatron");
  ASSERT_TRUE(there.ok()) << render(there.diagnostics());
  EXPECT_EQ(there->experiment.modules[0].config, "sft_trainer.yaml");
  EXPECT_EQ(param(*there, "stage")->as_string(), "sft");
  EXPECT_EQ(param(*there, "sft_conversation_format")->as_string(), "squad");
  EXPECT_EQ(param(*there, "lora.dim")->as_int(), 32);
  EXPECT_EQ(param(*there, "train_data_path"), nullptr) << "records are no .bin files";
  const spec::RunSpec before = run_of(source), after = run_of(there->experiment);
  ASSERT_TRUE(after.finetune && after.finetune->adapter);
  EXPECT_EQ(after.finetune->dataset, before.finetune->dataset);
  EXPECT_EQ(after.finetune->pretrained_folder, "Qwen/Qwen3-8B");
  EXPECT_EQ(after.finetune->adapter->targets, before.finetune->adapter->targets);
  EXPECT_EQ(after.lr.max_lr, 1e-4);
  EXPECT_EQ(after.weight_decay.start, before.weight_decay.start);
  EXPECT_EQ(fields_of(*there),
            (std::vector<std::string>{"model.init", "model.vocab_size", "logging.device_memory_steps"}));
  const auto back = translate_experiment(there->experiment, {}, "megatron_bridge");
  ASSERT_TRUE(back.ok()) << render(back.diagnostics());
  EXPECT_EQ(param(*back, "flavor")->as_string(), "qwen3_8b_finetune_config");
  EXPECT_EQ(param(*back, "peft")->as_string(), "lora");
  EXPECT_EQ(param(*back, "hf_path")->as_string(), "Qwen/Qwen3-8B");
  EXPECT_EQ(param(*back, "finetune_lr")->as_double(), 1e-4);
  EXPECT_EQ(param(*back, "lr"), nullptr) << "recipes of fine-tuning take finetune_lr";
}

TEST(Translation, OfPostTrainingSaysWhatTheRecipeFixes) {
  const auto there = translate_experiment(shipped("examples/megatron/configs/MI355X/llama3_8B-BF16-lora-sft.yaml"), {},
                                          "megatron_bridge");
  ASSERT_TRUE(there.ok()) << render(there.diagnostics());
  EXPECT_EQ(param(*there, "flavor")->as_string(), "llama3_8b_finetune_config");
  EXPECT_EQ(param(*there, "hf_path"), nullptr) << "this recipe stops when it is given";
  EXPECT_NE(param(*there, "pretrained_checkpoint"), nullptr);
  EXPECT_EQ(param(*there, "tensor_model_parallel_size"), nullptr) << "this recipe drops it";
  EXPECT_EQ(reason_of(*there, "finetune.adapter.rank"), "becomes 8");
  EXPECT_EQ(reason_of(*there, "finetune.adapter.alpha"), "becomes 16.0");
  EXPECT_EQ(reason_of(*there, "finetune.dataset"), "");
  EXPECT_EQ(reason_of(*there, "checkpoint.load_weights_only"), "");
}

TEST(Translation, OfPostTrainingIsRefusedKeyByKeyWhereThereIsNone) {
  const auto refused = translate_experiment(
      shipped("examples/megatron_bridge/configs/MI355X/qwen3_8b_lora_posttrain.yaml"), {}, "torchtitan");
  ASSERT_FALSE(refused.ok());
  ASSERT_EQ(refused.diagnostics().size(), 3U) << render(refused.diagnostics());
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("--to megatron_bridge"));
  std::vector<std::string> keys;
  for (const Diagnostic& one : refused.diagnostics()) {
    keys.push_back(one.key);
    EXPECT_GT(one.place.line, 0) << one.key;
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"flavor", "dataset.dataset_name", "peft"}));
  const auto packed = translate_experiment(
      shipped("examples/megatron/configs/MI355X/llama3_8B-BF16-sft-packed-bridge_aligned.yaml"), {}, "maxtext");
  ASSERT_FALSE(packed.ok());
  EXPECT_THAT(render(packed.diagnostics()), HasSubstr("'enable_packed_sequences' has no counterpart in maxtext"));
}

TEST(Translation, OfATrainingWithoutEndComparesItsBeginning) {
  const auto endless =
      translate_experiment(experiment(replaced(little(), "train_iters", "100000000000")), {}, "maxtext");
  ASSERT_TRUE(endless.ok()) << render(endless.diagnostics());
  EXPECT_EQ(param(*endless, "steps")->as_int(), 100'000'000'000);
}

TEST(Translation, ToAnUnknownDialectNamesThem) {
  const auto refused = translate_experiment(experiment(little()), {}, "megatorn");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("did you mean 'megatron'?"));
}

}  // namespace
}  // namespace primus::dialect
