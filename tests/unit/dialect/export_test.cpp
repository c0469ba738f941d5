// What upstream trainers would be started with: bytes of shipped experiments, and the rules one by one.
#include "primus/dialect/export.h"

#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/export_megatron_flags.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

using ::testing::Contains;
using testing::experiment;
using ::testing::HasSubstr;
using testing::little;
using ::testing::Not;
using testing::replaced;
using testing::shipped;

LaunchForm form_of(const config::Experiment& source, const ExportOptions& options = {}) {
  return value_or_throw(export_launch(source, {}, options));
}
std::string text_of(const config::Experiment& source) {
  return launch_text(form_of(source));
}
LaunchForm megatron(const std::string& more) {
  return form_of(experiment(little(more)));
}
// The words behind a flag, up to the next one; nothing when the flag is not there.
std::optional<std::string> after(const LaunchForm& form, const std::string& flag) {
  for (size_t i = 0; i < form.arguments.size(); ++i) {
    if (form.arguments[i] != flag) continue;
    std::string words;
    for (size_t j = i + 1; j < form.arguments.size() && !form.arguments[j].starts_with("--"); ++j)
      words += (words.empty() ? "" : " ") + form.arguments[j];
    return words;
  }
  return std::nullopt;
}
std::string lost(const LaunchForm& form, const std::string& key) {
  for (const NotCarried& one : form.not_carried)
    if (one.key == key) return one.value + ": " + one.reason;
  return "";
}

// Made with: env -i bin/primus config export --config EXAMPLE --to FRAMEWORK
TEST(ExportedForm, OfShippedExperimentsIsTheCommittedOneByteByByte) {
  const std::pair<const char*, const char*> cases[] = {
      {"megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml", "megatron-llama3.1_8B.txt"},
      {"megatron/configs/MI300X/deepseek_v2_lite-BF16-pretrain.yaml", "megatron-deepseek_v2_lite.txt"},
      {"torchtitan/configs/MI300X/llama3.1_8B-FP8-pretrain.yaml", "torchtitan-llama3.1_8B-FP8.txt"},
      {"maxtext/configs/MI300X/mixtral_8x7B-bf16-pretrain.yaml", "maxtext-mixtral_8x7B.txt"},
      {"megatron_bridge/configs/MI355X/qwen3_8b_lora_posttrain.yaml", "megatron_bridge-qwen3_8b_lora.txt"},
      {"megatron_bridge/configs/MI300X/qwen3_32b_pretrain.yaml", "megatron_bridge-qwen3_32b.txt"},
  };
  for (const auto& [example, file] : cases) {
    const std::string path = "tests/cases/export/" + std::string(file);
    EXPECT_EQ(text_of(shipped("examples/" + std::string(example))), value_or_throw(read_text_file(path))) << path;
  }
}

TEST(MegatronExport, WritesRenamedAndInvertedFlags) {
  const LaunchForm form = megatron(
      "layernorm_epsilon: 3.0e-7\nlayernorm_zero_centered_gamma: true\ngradient_accumulation_fusion: false\n"
      "overlap_p2p_comm: false\napply_rope_fusion: false\nmicrobatch_group_size_per_vp_stage: 5\nbias_swiglu_fusion: "
      "true\n");
  EXPECT_EQ(after(form, "--norm-epsilon"), "3.0e-07");
  EXPECT_EQ(after(form, "--apply-layernorm-1p"), "");
  EXPECT_EQ(after(form, "--disable-bias-linear"), "");  // add_bias_linear: false of the little model
  EXPECT_EQ(after(form, "--no-gradient-accumulation-fusion"), "");
  EXPECT_EQ(after(form, "--no-overlap-p2p-communication"), "");
  EXPECT_EQ(after(form, "--no-rope-fusion"), "");
  EXPECT_EQ(after(form, "--microbatch-group-size-per-virtual-pipeline-stage"), "5");
  EXPECT_FALSE(after(form, "--no-bias-swiglu-fusion"));  // true is upstream's default
  EXPECT_EQ(after(form, "--swiglu"), "");
}

TEST(MegatronExport, LeavesDefaultsAndNullsOut) {
  const LaunchForm form = megatron("adam_beta1: 0.9\nadam_beta2: 0.95\nkv_channels: null\nfp16: false\n");
  EXPECT_FALSE(after(form, "--adam-beta1"));
  EXPECT_EQ(after(form, "--adam-beta2"), "0.95");
  EXPECT_FALSE(after(form, "--kv-channels"));
  EXPECT_FALSE(after(form, "--fp16"));
  EXPECT_EQ(after(form, "--bf16"), "");
}

TEST(MegatronExport, DerivesWhatPrimusDerives) {
  const LaunchForm form = megatron(
      "save: elsewhere\nsave_interval: 7\nsequence_parallel: true\ntokenizer_type: "
      "Llama3Tokenizer\ntokenizer_model: a/b\ndisable_tensorboard: false\n");
  EXPECT_EQ(after(form, "--save"), "./output/amd/root/odd-name/checkpoints");
  EXPECT_EQ(after(form, "--tensorboard-dir"), "./output/amd/root/odd-name/tensorboard");
  EXPECT_FALSE(after(form, "--sequence-parallel"));  // one tensor-parallel rank
  EXPECT_EQ(after(form, "--mock-data"), "");
  EXPECT_EQ(after(form, "--tokenizer-type"), "NullTokenizer");
  EXPECT_EQ(after(form, "--vocab-size"), "131072");
  EXPECT_FALSE(after(form, "--tokenizer-model"));
}

TEST(MegatronExport, NamesTheTokenizerClassThatUpstreamHas) {
  const std::string yaml = replaced(little("data_path: 0.3 a_text 0.7 b_text\ntokenizer_type: Llama3Tokenizer\n"
                                           "tokenizer_model: meta-llama/Llama-3.1-8B\n"),
                                    "mock_data", "false");
  const LaunchForm form = form_of(experiment(yaml));
  EXPECT_EQ(after(form, "--tokenizer-type"), "HuggingFaceTokenizer");
  EXPECT_EQ(after(form, "--tokenizer-model"), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(after(form, "--data-path"), "0.3 a_text 0.7 b_text");
}

TEST(MegatronExport, TellsEveryKeyThatUpstreamDoesNotKnow) {
  const LaunchForm form = megatron(
      "nemo_aligned_lr_warmup: true\nrecompute_granularity: full\nrecompute_layer_ids: [1]\nsoftmax_scale: "
      "0.3\nnorm_epsilon: 1.0e-6\n");
  EXPECT_THAT(lost(form, "nemo_aligned_lr_warmup"), HasSubstr("has no such setting"));
  EXPECT_THAT(lost(form, "recompute_layer_ids"), HasSubstr("[1]"));
  EXPECT_THAT(lost(form, "softmax_scale"), HasSubstr("without a flag"));
  EXPECT_THAT(lost(form, "norm_epsilon"), HasSubstr("upstream reads it nowhere"));
}

TEST(MegatronExport, GivesPatternsAsText) {
  const LaunchForm form = megatron(
      "num_experts: 6\nmoe_router_topk: 2\nmoe_layer_freq: '([0]*1+[1]*2)'\n"
      "moe_router_load_balancing_type: seq_aux_loss\nmoe_aux_loss_coeff: 0.02\n");
  EXPECT_EQ(after(form, "--moe-layer-freq"), "([0]*1+[1]*2)");
  EXPECT_EQ(after(form, "--moe-router-load-balancing-type"), "seq_aux_loss");
  EXPECT_THAT(launch_text(form), HasSubstr("--moe-layer-freq '([0]*1+[1]*2)'"));
}

TEST(MegatronExport, LabelsFlagsThatTheRealParserHasNoMore) {
  const LaunchForm form = megatron("enable_gloo_process_groups: false\n");
  EXPECT_EQ(after(form, "--disable-gloo-process-groups"), "");
  EXPECT_THAT(form.unproven, Contains("--disable-gloo-process-groups"));
  EXPECT_THAT(launch_text(form), HasSubstr("# Not known to that parser:\n#   --disable-gloo-process-groups\n"));
}

TEST(MegatronFlags, AreKeysOfTheTableAndNamedOnce) {
  ASSERT_GT(megatron_flags().size(), 450U);
  std::string last;
  for (const MegatronFlag& flag : megatron_flags()) {
    EXPECT_NE(find_parameter("megatron", flag.dest), nullptr) << flag.dest;
    EXPECT_NE(flag.dest, last);
    EXPECT_TRUE(flag.flag.starts_with("--")) << flag.flag;
    EXPECT_THAT(flag.flag, Not(HasSubstr("_"))) << flag.flag;
    last = flag.dest;
  }
}

constexpr const char* kTitan =
    "model: {name: llama3, flavor: 8B, n_layers: 4, converters: [primus_turbo, quantize.linear.float8]}\n"
    "training: {local_batch_size: 3, seq_len: 48, steps: 70, mock_data: true, max_norm: 2}\n"
    "optimizer: {lr: 5e-5, eps: 1.0e-9}\nprimus_turbo: {enable_primus_turbo: true}\n"
    "lr_scheduler: {decay_ratio: null}\nvalidation: {dataset_path: null}\n";

TEST(TorchTitanExport, WritesSectionsAndTypes) {
  const LaunchForm form = form_of(experiment(kTitan, "torchtitan"));
  ASSERT_EQ(form.files.size(), 1U);
  const std::string& toml = form.files[0].text;
  EXPECT_THAT(toml, HasSubstr("[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                              "converters = [\"quantize.linear.float8\"]\n"));
  EXPECT_THAT(toml, HasSubstr("[optimizer]\nlr = 5.0e-05\neps = 1.0e-09\n"));  // text in YAML 1.1 is a number here
  EXPECT_THAT(toml, HasSubstr("max_norm = 2"));
  EXPECT_THAT(toml, Not(HasSubstr("None")));
  EXPECT_THAT(toml, Not(HasSubstr("decay_ratio")));
  EXPECT_THAT(toml, Not(HasSubstr("n_layers")));
  EXPECT_EQ(form.arguments, (std::vector<std::string>{"--job.config_file", "odd-name.toml"}));
}

TEST(TorchTitanExport, TellsOverridesConvertersAndMockData) {
  const LaunchForm form = form_of(experiment(kTitan, "torchtitan"));
  EXPECT_THAT(lost(form, "model.n_layers"), HasSubstr("4: no upstream form"));
  EXPECT_THAT(lost(form, "model.converters"), HasSubstr("primus_turbo"));
  EXPECT_THAT(lost(form, "primus_turbo.enable_primus_turbo"), HasSubstr("an extension of Primus"));
  EXPECT_NE(lost(form, "training.mock_data"), "");
}

TEST(MaxTextExport, HandsOverridesOverBesideTheFile) {
  const LaunchForm form =
      form_of(experiment("model_name: llama3-8b\nbase_config: base.yml\noverride_model_config: true\nsteps: 70\n"
                         "override_model: {base_num_decoder_layers: 4, mlp_activations: [silu, linear]}\n"
                         "dataset_type: synthetic\nstderr_sink_level: INFO\ntrainable: true\nmodel: llama3.yaml\n",
                         "maxtext"),
              {.folder = "run/config"});
  EXPECT_EQ(form.arguments, (std::vector<std::string>{"run/config/odd-name.yml", "base_num_decoder_layers=4",
                                                      "mlp_activations=[silu,linear]"}));
  EXPECT_FALSE(form.by_torchrun);
  const std::string& yml = form.files[0].text;
  EXPECT_THAT(yml, HasSubstr("model_name: llama3-8b\n"));
  for (const char* key : {"override_model:", "stderr_sink_level", "trainable", "model: "})
    EXPECT_THAT(yml, Not(HasSubstr(key))) << key;
}

TEST(BridgeExport, CallsTheRecipeWithWhatItTakesAndAssignsTheRest) {
  const LaunchForm form =
      form_of(experiment("recipe: qwen.qwen3\nflavor: qwen3_8b_pretrain_config\ntrain_iters: 700\n"
                         "mock_data: true\nlog_interval: 3\nmodel: {attention_dropout: 0.25}\n"
                         "train: {exit_interval: 5}\nfinetune_lr: 1.0e-4\n",
                         "megatron_bridge"));
  const std::string& python = form.files[0].text;
  EXPECT_THAT(python, HasSubstr("from megatron.bridge.recipes.qwen.qwen3 import qwen3_8b_pretrain_config\n"));
  EXPECT_THAT(python, HasSubstr("train_iters=700,\n"));
  EXPECT_THAT(python, HasSubstr("cfg.logger.log_interval = 3\n"));
  EXPECT_THAT(python, HasSubstr("cfg.model.attention_dropout = 0.25\n"));
  EXPECT_THAT(python, Not(HasSubstr("finetune_lr")));
  EXPECT_NE(lost(form, "finetune_lr"), "");
  EXPECT_THAT(lost(form, "train.exit_interval"), HasSubstr("null"));  // Primus puts no value where null was
  EXPECT_THAT(launch_text(form), HasSubstr("# No real parser has accepted this form.\n"));
}

TEST(ExportedForm, MasksSecretsForPeopleOnly) {
  config::LoadOptions options;
  options.path = "examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml";
  options.presets_root = ".";
  options.environment = environment_of({});
  options.command_line_overrides = {"disable_wandb=false", "wandb_entity=me", "wandb_api_key=geheim"};
  options.command_line_overrides.pop_back();
  config::Experiment source = value_or_throw(config::load_experiment(options));
  config::Value secret(std::string("geheim"));
  secret.origin().is_secret = true;
  source.modules[0].params.as_map().set("wandb_project", secret);
  EXPECT_THAT(text_of(source), HasSubstr("--wandb-project '***'"));
  EXPECT_THAT(text_of(source), Not(HasSubstr("geheim")));
  EXPECT_THAT(launch_text(form_of(source, {.folder = {}, .show_secrets = true})), HasSubstr("--wandb-project geheim"));
}

TEST(ExportedForm, OfAWrongExperimentIsRefusedWithItsFindings) {
  const auto form = export_launch(experiment(little("train_iter: 3\n")));
  ASSERT_FALSE(form.ok());
  EXPECT_THAT(render(form.diagnostics()), HasSubstr("train_iters"));
}

// Those that upstream or a check refuses are listed and counted by the test of shipped experiments.
TEST(ExportedForm, ExistsForEveryShippedExperimentThatDescribesARun) {
  size_t number = 0;
  for (const auto& entry : fs::recursive_directory_iterator("examples")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".yaml") || path.find("/configs/MI355X/") == std::string::npos) continue;
    config::LoadOptions options;
    options.path = path;
    options.presets_root = ".";
    options.environment = environment_of({});
    const auto source = config::load_experiment(options);
    if (!source.ok() || !to_spec(*source, {}, {.for_training = false}).ok()) continue;
    const auto form = export_launch(*source);
    ASSERT_TRUE(form.ok()) << path << "\n" << render(form.diagnostics());
    EXPECT_FALSE(launch_text(*form).empty());
    ++number;
  }
  EXPECT_GT(number, 100U);
}

}  // namespace
}  // namespace primus::dialect
