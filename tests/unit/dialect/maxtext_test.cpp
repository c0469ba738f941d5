// The order in which MaxText's settings win, and what the keys of a run mean.
#include <filesystem>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/schedule_values.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using testing::replaced;

// A little_maxtext model that the engine could hold, synthetic data.
std::string little_maxtext(const std::string& more = "") {
  return "base_emb_dim: 96\nbase_num_query_heads: 6\nbase_num_kv_heads: 2\nbase_mlp_dim: 160\nhead_dim: 16\n"
         "base_num_decoder_layers: 3\nvocab_size: 778\nmax_target_length: 40\nsteps: 70\nper_device_batch_size: 3\n"
         "enable_checkpointing: false\nremat_policy: none\ngradient_clipping_threshold: 0\n" +
         more;
}

Result<spec::RunSpec> describe_maxtext(const std::string& yaml, int64_t world = 1) {
  return to_spec(experiment(yaml, "maxtext"), {}, {.world_size = world, .for_training = false});
}

spec::RunSpec described_maxtext(const std::string& yaml, int64_t world = 1) {
  auto run = describe_maxtext(yaml, world);
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}

Diagnostics train_findings(const std::string& yaml, int64_t world = 1) {
  return to_spec(experiment(yaml, "maxtext"), {}, {.world_size = world}).diagnostics();
}

std::vector<std::string> error_keys(const Diagnostics& findings) {
  std::vector<std::string> keys;
  for (const Diagnostic& finding : findings)
    if (finding.severity == Severity::Error) keys.push_back(finding.key);
  return keys;
}

const Diagnostic* find(const Diagnostics& findings, std::string_view key) {
  for (const Diagnostic& finding : findings)
    if (finding.key == key) return &finding;
  return nullptr;
}

TEST(MaxtextSettings, TheModelsFileWinsOverTheModuleAndSaysSo) {
  const auto run = describe_maxtext("model_name: llama3-8b\nvocab_size: 999\nbase_num_decoder_layers: 32\n");
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.vocab_size, 128256);
  const Diagnostic* warning = find(run.diagnostics(), "vocab_size");
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->severity, Severity::Warning);
  EXPECT_EQ(warning->place.line, 2);
  EXPECT_THAT(warning->message, ::testing::HasSubstr("model_name llama3-8b sets 'vocab_size: 128256'"));
  EXPECT_THAT(warning->suggestion, ::testing::HasSubstr("override_model: {vocab_size: 999}"));
  EXPECT_EQ(find(run.diagnostics(), "base_num_decoder_layers"), nullptr);  // the same value: nothing is lost
}

TEST(MaxtextSettings, OverrideModelWinsOverEverything) {
  const auto run = describe_maxtext(
      "model_name: llama3-8b\noverride_model_config: true\nvocab_size: 999\n"
      "override_model:\n  base_num_decoder_layers: 5\n  vocab_size: 333\n");
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.layers.size(), 5U);
  EXPECT_EQ(run->model.vocab_size, 333);
  EXPECT_EQ(find(run.diagnostics(), "vocab_size"), nullptr);
}

TEST(MaxtextSettings, OverridesThatDifferNeedPermission) {
  const auto run = describe_maxtext("model_name: llama3-8b\noverride_model: {head_dim: 128, base_mlp_dim: 77}\n");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(error_keys(run.diagnostics()), ::testing::ElementsAre("override_model.base_mlp_dim"));
  EXPECT_THAT(run.diagnostics()[0].suggestion, ::testing::HasSubstr("override_model_config: true"));
}

TEST(MaxtextSettings, OverridesAreFlatAndKnown) {
  const auto run = describe_maxtext(
      "model_name: llama3-8b\noverride_model_config: true\n"
      "override_model: {base_mlp_dimm: 1, head_dim: eight, rope: {base: 7}}\n");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(error_keys(run.diagnostics()),
              ::testing::UnorderedElementsAre("override_model.base_mlp_dimm", "override_model.head_dim",
                                              "override_model.rope"));
  EXPECT_THAT(find(run.diagnostics(), "override_model.base_mlp_dimm")->suggestion,
              ::testing::HasSubstr("base_mlp_dim"));
}

TEST(MaxtextSettings, RefusesAnotherBaseConfig) {
  EXPECT_TRUE(describe_maxtext(little_maxtext("base_config: base.yml\n")).ok());
  EXPECT_THAT(error_keys(describe_maxtext(little_maxtext("base_config: mine.yml\n")).diagnostics()),
              ::testing::ElementsAre("base_config"));
}

TEST(MaxtextSettings, WhatTheModelNeedsAndTheEngineLacksIsOneErrorAtItsName) {
  const auto findings = train_findings("model_name: deepseek3.2-671b\nenable_checkpointing: false\n");
  const Diagnostic* finding = find(findings, "model_name");
  ASSERT_NE(finding, nullptr) << render(findings);
  EXPECT_EQ(finding->place.line, 1);
  EXPECT_THAT(finding->message, ::testing::HasSubstr("'use_indexer: true'"));
}

TEST(MaxtextSettings, SaysWhichKeysTheBlockDoesNotRead) {
  const auto run = describe_maxtext(little_maxtext("use_qk_norm: true\nsliding_window_size: 9\n"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  ASSERT_NE(find(run.diagnostics(), "use_qk_norm"), nullptr);
  EXPECT_FALSE(run->model.layers[0].attention.qk_norm);
  EXPECT_FALSE(run->model.layers[0].attention.window_keys);
}

TEST(MaxtextRun, TakesMaxtextsOwnDefaultsWhereNothingIsSaid) {
  const auto run = described_maxtext("steps: 30\n");
  EXPECT_EQ(run.model.hidden_size, 2048);
  EXPECT_EQ(run.model.layers.size(), 16U);
  EXPECT_EQ(run.model.layers[0].attention.num_kv_heads, 16);
  EXPECT_EQ(run.model.layers[0].mlp.ffn_size, 7168);
  EXPECT_EQ(run.optimizer.beta2, 0.95);
  EXPECT_TRUE(run.optimizer.decay_vectors);
  EXPECT_TRUE(run.optimizer.clip_exactly);
  EXPECT_EQ(run.weight_decay.end, 0.1);
  EXPECT_EQ(run.loss, spec::LossNormalisation::GlobalTokenMean);
  EXPECT_EQ(run.precision.compute, spec::Dtype::BFloat16);
  EXPECT_EQ(run.precision.stored, spec::Dtype::Float32);
  EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::Full);
  EXPECT_EQ(run.recompute.layer_ids.size(), 16U);
  EXPECT_TRUE(run.data.mock && run.data.one_batch);
  EXPECT_EQ(run.tokenizer.vocab_size, 31999);
  EXPECT_EQ(run.batch.global_batch_size, 12);
  EXPECT_EQ(run.logging.interval_steps, 1);
  EXPECT_TRUE(run.checkpoint.save && run.checkpoint.resume_by_default);
  EXPECT_EQ(run.model.flops_formula, spec::FlopsFormula::MaxText);
}

TEST(MaxtextRun, LearningRatesAreThoseOfMaxtextsOwnSchedule) {
  const auto text = read_text_file("tests/cases/dialect/maxtext_lr.txt");
  ASSERT_TRUE(text.ok());
  size_t cases = 0, rates = 0;
  for (const std::string& line : split(*text, '\n')) {
    const std::vector<std::string> words = split_whitespace(line);
    if (words.size() < 8) continue;
    const std::string yaml = little_maxtext(
        "learning_rate: 0.003\nlr_schedule_type: " + words[0] + "\nwsd_decay_style: " + words[1] +
        "\nlearning_rate_schedule_steps: " + words[3] + "\nwarmup_steps_fraction: " + words[4] +
        "\nwsd_decay_steps_fraction: " + words[5] + "\nlearning_rate_final_fraction: " + words[6] + "\n");
    const auto run = described_maxtext(replaced(yaml, "steps", words[2]));
    const auto values = spec::step_values(run);
    ASSERT_EQ(values.size(), words.size() - 8) << line;
    for (size_t i = 0; i < values.size(); ++i, ++rates)
      EXPECT_NEAR(values[i].lr, *parse_double(words[i + 8]), 1e-15) << line << " step " << i;
    ++cases;
  }
  EXPECT_GE(cases, 11U);
  EXPECT_GE(rates, 150U);
}

TEST(MaxtextRun, StepsAndScheduleStandInForEachOther) {
  EXPECT_EQ(
      described_maxtext(replaced(little_maxtext("learning_rate_schedule_steps: 17\n"), "steps", "-1")).exit.train_steps,
      17);
  EXPECT_THAT(error_keys(describe_maxtext(replaced(little_maxtext(), "steps", "-1")).diagnostics()),
              ::testing::Contains("steps"));
  EXPECT_THAT(error_keys(describe_maxtext(little_maxtext("lr_schedule_type: wsd\nwarmup_steps_fraction: 0.6\n"
                                                         "wsd_decay_steps_fraction: 0.5\n"))
                             .diagnostics()),
              ::testing::ElementsAre("wsd_decay_steps_fraction"));
}

TEST(MaxtextRun, CountsTheBatchByDevices) {
  const auto run = described_maxtext(little_maxtext("gradient_accumulation_steps: 5\n"), 4);
  EXPECT_EQ(run.batch.micro_batch_size, 3);
  EXPECT_EQ(run.batch.global_batch_size, 3 * 4 * 5);
  // Two devices share each model: they train their sequences together.
  const auto wide = described_maxtext(little_maxtext("ici_tensor_parallelism: 2\n"), 8);
  EXPECT_EQ(wide.parallel.tensor, 2);
  EXPECT_EQ(wide.parallel.weight_shards, 4);
  EXPECT_EQ(wide.batch.micro_batch_size, 6);
  EXPECT_EQ(wide.batch.global_batch_size, 24);
  // Half a sequence per device is a whole one per pair.
  const auto half =
      described_maxtext(replaced(little_maxtext("ici_tensor_parallelism: 2\n"), "per_device_batch_size", "0.5"), 4);
  EXPECT_EQ(half.batch.micro_batch_size, 1);
  EXPECT_EQ(half.batch.global_batch_size, 2);
}

TEST(MaxtextRun, RefusesFewerSequencesThanReplicas) {
  const std::string yaml = replaced(little_maxtext(), "per_device_batch_size", "0.5");
  const Diagnostics findings = train_findings(yaml, 2);
  const Diagnostic* finding = find(findings, "per_device_batch_size");
  ASSERT_NE(finding, nullptr) << render(findings);
  EXPECT_THAT(finding->message, ::testing::HasSubstr("1 sequence a pass"));
  EXPECT_EQ(finding->suggestion, "set per_device_batch_size: 1.0");
  EXPECT_TRUE(describe_maxtext(yaml).ok());
}

TEST(MaxtextRun, OneAxisTakesWhatIsLeftOver) {
  EXPECT_EQ(described_maxtext(little_maxtext("ici_fsdp_parallelism: -1\n"), 6).parallel.weight_shards, 6);
  EXPECT_EQ(described_maxtext(little_maxtext("ici_fsdp_parallelism: 1\nici_tensor_sequence_parallelism: -1\n"), 2)
                .parallel.tensor,
            2);
  const auto nodes = described_maxtext(
      little_maxtext("ici_fsdp_parallelism: 2\ndcn_fsdp_parallelism: -1\ndcn_data_parallelism: 1\n"), 6);
  EXPECT_EQ(nodes.parallel.weight_shards, 6);
  EXPECT_THAT(error_keys(describe_maxtext(little_maxtext("ici_expert_parallelism: -1\n")).diagnostics()),
              ::testing::Contains("ici_expert_parallelism"));
}

TEST(MaxtextRun, AxesMustMultiplyToTheRanksWhenItTrains) {
  const std::string yaml = little_maxtext("ici_fsdp_parallelism: 8\n");
  const Diagnostics findings = train_findings(yaml, 3);
  const Diagnostic* finding = find(findings, "ici_fsdp_parallelism");
  ASSERT_NE(finding, nullptr) << render(findings);
  EXPECT_THAT(finding->message, ::testing::HasSubstr("multiply to 8 devices, and the run has 3 ranks"));
  EXPECT_TRUE(describe_maxtext(yaml).ok());  // unknown devices: described_maxtext as written
  EXPECT_EQ(described_maxtext(yaml).parallel.weight_shards, 8);
}

TEST(MaxtextRun, PoliciesOfRecomputation) {
  const auto recompute = [](const std::string& more) {
    return described_maxtext(replaced(little_maxtext(), "remat_policy", more)).recompute;
  };
  EXPECT_EQ(recompute("none").kind, spec::RecomputeKind::None);
  EXPECT_EQ(recompute("full").layer_ids.size(), 3U);
  EXPECT_THAT(recompute("minimal").modules, ::testing::ElementsAre("core_attn"));
  EXPECT_EQ(recompute("minimal_flash").kind, spec::RecomputeKind::None);
  EXPECT_THAT(recompute("save_dot_with_context_except_mlp").modules, ::testing::ElementsAre("mlp"));
  EXPECT_THAT(recompute("save_qkv_proj").modules, ::testing::ElementsAre("core_attn", "mlp"));
  EXPECT_EQ(recompute("custom").kind, spec::RecomputeKind::Full);
  EXPECT_THAT(recompute("custom\ncontext: device").modules, ::testing::ElementsAre("mlp"));
  EXPECT_THAT(recompute("custom\nmlpwo: offload").modules, ::testing::ElementsAre("core_attn"));
}

TEST(MaxtextRun, PrecisionIsRefusedOrFallsBack) {
  EXPECT_EQ(described_maxtext(little_maxtext("quantization: nanoo_fp8\n")).precision.low_precision, "fp8");
  const auto findings = train_findings(little_maxtext("quantization: int8\nweight_dtype: bfloat16\n"));
  EXPECT_THAT(error_keys(findings), ::testing::ElementsAre("quantization"));
  auto fallback = to_spec(experiment(little_maxtext("quantization: fp8\n"), "maxtext"), {},
                          {.for_training = false, .allow_precision_fallback = true});
  ASSERT_TRUE(fallback.ok());
  EXPECT_EQ(fallback->precision.low_precision, "");
  EXPECT_NE(find(fallback.diagnostics(), "quantization"), nullptr);
  EXPECT_THAT(
      error_keys(describe_maxtext(little_maxtext("quantization: fp8\ngradient_accumulation_steps: 2\n")).diagnostics()),
      ::testing::ElementsAre("quantization"));
}

TEST(MaxtextRun, OtherDataAreDescribedAndRefusedWithAWayOut) {
  EXPECT_EQ(described_maxtext(little_maxtext("dataset_type: hf\nhf_path: allenai/c4\n")).data.texts->dataset, "hf");
  const Diagnostics findings = train_findings(little_maxtext("dataset_type: hf\n"));
  const Diagnostic* finding = find(findings, "dataset_type");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::Error);
  EXPECT_THAT(finding->suggestion, ::testing::HasSubstr("dataset_type: synthetic"));
}

TEST(MaxtextRun, ReportsEverythingThatIsWrongTogether) {
  const auto run = describe_maxtext(
      little_maxtext("lr_schedule_type: linear\nadam_b1: 1.0\neval_interval: 3\nload_parameters_path: a\n"
                     "load_full_state_path: b\nremat_polic: full\nglobal_parameter_scale: 6\n"));
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(error_keys(run.diagnostics()),
              ::testing::IsSupersetOf({"lr_schedule_type", "adam_b1", "eval_steps", "load_full_state_path",
                                       "remat_polic", "global_parameter_scale"}));
}

TEST(MaxtextExperiments, AllShippedOnesAreDescribedWithoutAnError) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples/maxtext")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto loaded = testing::shipped(entry.path().string());
    const auto run = to_spec(loaded, {}, {.world_size = 8, .for_training = false});
    EXPECT_TRUE(run.ok()) << entry.path() << "\n" << render(run.diagnostics());
    if (run.ok()) {
      EXPECT_GT(run->model.layers.size(), 0U) << entry.path();
    }
    ++count;
  }
  EXPECT_GE(count, 47U);
}

}  // namespace
}  // namespace primus::dialect
