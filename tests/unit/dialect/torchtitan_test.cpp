// Batch, precision, optimizer, recomputation, data, checkpoints of the torchtitan dialect, and its shipped experiments.
#include <filesystem>
#include <gtest/gtest.h>

#include "torchtitan_experiment.h"

#include "primus/base/fs.h"

namespace primus::dialect {
namespace {

using testing::described;
using testing::errors_of;
using testing::titan;

TEST(TorchTitan, TakesTheGlobalBatchFromTheRanksWhenNobodyGivesIt) {
  EXPECT_EQ(described({}, 1).batch.global_batch_size, 3);
  EXPECT_EQ(described({}, 4).batch.global_batch_size, 12);
  EXPECT_EQ(described({"parallelism.tensor_parallel_degree: 2"}, 4).batch.global_batch_size, 6);
  EXPECT_EQ(described({"training.global_batch_size: 18"}, 2).batch.global_batch_size, 18);
  const spec::RunSpec pipelined =
      described({"parallelism.pipeline_parallel_degree: 2", "parallelism.pipeline_parallel_schedule: Interleaved1F1B",
                 "parallelism.pipeline_parallel_microbatch_size: 3", "training.local_batch_size: 12"},
                4);
  EXPECT_EQ(pipelined.batch.micro_batch_size, 3);
  EXPECT_EQ(pipelined.batch.global_batch_size, 24);
  EXPECT_EQ(pipelined.parallel.stages_per_rank, 2);
}

TEST(TorchTitan, MeansWhatItsTrainerDoes) {
  const spec::RunSpec run = described();
  EXPECT_EQ(run.loss, spec::LossNormalisation::GlobalTokenMean);
  EXPECT_TRUE(run.optimizer.decay_vectors);
  EXPECT_TRUE(run.optimizer.decoupled_weight_decay);
  EXPECT_FALSE(described({"optimizer.name: Adam"}).optimizer.decoupled_weight_decay);
  EXPECT_EQ(run.optimizer.beta2, 0.95);
  EXPECT_EQ(run.weight_decay.start, 0.1);
  EXPECT_EQ(run.precision.compute, spec::Dtype::BFloat16);
  EXPECT_EQ(run.precision.stored, spec::Dtype::Float32);
  EXPECT_EQ(described({"training.dtype: bfloat16"}).precision.stored, spec::Dtype::BFloat16);
  EXPECT_FALSE(run.model.fp32_residual);
  EXPECT_TRUE(described({"primus_turbo.enable_embedding_autocast: false"}).model.fp32_residual);
  EXPECT_FALSE(run.exit.fail_on_nan);
  EXPECT_EQ(run.parallel.timeout_minutes, 5);
  EXPECT_EQ(run.seed, 67280421310721);
  EXPECT_EQ(described({"debug.seed: 77"}).seed, 77);
  EXPECT_EQ(run.model.flops_formula, spec::FlopsFormula::TorchTitan);
  ASSERT_TRUE(run.data.texts);
  EXPECT_TRUE(run.data.texts->random_integers);
  EXPECT_EQ(run.tokenizer.model, "./assets/shout");
}

TEST(TorchTitan, RecomputesEveryNthLayer) {
  EXPECT_EQ(described({"activation_checkpoint.mode: full"}).recompute.layer_ids.size(), 6U);
  EXPECT_THAT(described({"activation_checkpoint.mode: selective"}).recompute.layer_ids,
              ::testing::ElementsAre(1, 3, 5));
  EXPECT_THAT(described({"activation_checkpoint.mode: selective", "activation_checkpoint.selective_ac_option: '4'"})
                  .recompute.layer_ids,
              ::testing::ElementsAre(3));
  EXPECT_EQ(described({"activation_checkpoint.mode: selective", "activation_checkpoint.selective_ac_option: op"})
                .recompute.kind,
            spec::RecomputeKind::None);
}

TEST(TorchTitan, ComputesInEightBitsWhenAConverterOrTheTurboExpertsSaySo) {
  EXPECT_EQ(described({"model.converters: [primus_turbo]"}).precision.low_precision, "");
  EXPECT_EQ(described({"model.converters: [primus_turbo, quantize.linear.float8]"}).precision.low_precision, "fp8");
  const std::vector<std::string> experts{"primus_turbo.enable_primus_turbo: true",
                                         "primus_turbo.use_turbo_grouped_mm: true", "primus_turbo.use_moe_fp8: true"};
  EXPECT_EQ(described(experts).precision.low_precision, "");  // a dense model
  auto with_moe = experts;
  with_moe.insert(with_moe.end(), {"model.name: qwen3", "model.flavor: debugmodel_moe"});
  EXPECT_EQ(described(with_moe).precision.low_precision, "fp8");
  // Refused by the key that asks for them.
  const auto refused_key = [](const std::vector<std::string>& lines) {
    const auto findings = to_spec(titan(lines)).diagnostics();
    const auto fp8 = std::find_if(findings.begin(), findings.end(), [](const Diagnostic& finding) {
      return finding.message == "training with fp8 products is not built yet";
    });
    return fp8 == findings.end() ? "" : fp8->key;
  };
  EXPECT_EQ(refused_key(with_moe), "primus_turbo.use_moe_fp8");
  EXPECT_EQ(refused_key({"model.converters: [quantize.linear.float8]"}), "model.converters");
  const auto run = to_spec(titan({"model.converters: [quantize.linear.float8]"}), {},
                           {.for_training = false, .allow_precision_fallback = true});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->precision.low_precision, "");
}

TEST(TorchTitan, LeadsItsOutputsBelowTheRunFolder) {
  EXPECT_EQ(described().identity.run_folder, "./output/amd/root/odd-name");
  EXPECT_EQ(described({"job.dump_folder: ./outputs"}).identity.run_folder, "./output/amd/root/odd-name");
  EXPECT_EQ(described({"job.dump_folder: ./deep/er/"}).identity.run_folder, "output/amd/root/odd-name/deep/er");
  for (const char* folder : {"/tmp/elsewhere", "../elsewhere"}) {
    const auto run = to_spec(titan({"job.dump_folder: " + std::string(folder)}), {}, {.for_training = false});
    EXPECT_NE(errors_of(run.diagnostics(), "job.dump_folder"), "") << folder;
  }
}

TEST(TorchTitan, SavesAndGoesOnOnlyWhenCheckpointsAreOn) {
  const spec::RunSpec off = described();
  EXPECT_FALSE(off.checkpoint.save || off.checkpoint.save_at_end || off.checkpoint.resume_by_default);
  const spec::RunSpec on = described({"checkpoint.enable: true", "checkpoint.interval: 7",
                                      "checkpoint.keep_latest_k: 3", "checkpoint.initial_load_path: /shout/step-10",
                                      "checkpoint.exclude_from_loading: [optimizer]", "checkpoint.async_mode: async"});
  EXPECT_TRUE(on.checkpoint.save && on.checkpoint.save_at_end && on.checkpoint.resume_by_default);
  EXPECT_EQ(on.checkpoint.interval_steps, 7);
  EXPECT_EQ(on.checkpoint.keep_last, 3);
  EXPECT_EQ(on.checkpoint.load_folder, "/shout/step-10");
  EXPECT_TRUE(on.checkpoint.load_weights_only && on.checkpoint.asynchronous);
  EXPECT_FALSE(on.checkpoint.load_optimizer);
}

TEST(TorchTitan, TrainsOnLocalTextsOnly) {
  const auto run = to_spec(titan({"training.mock_data: false"}));
  EXPECT_THAT(errors_of(run.diagnostics(), "training.dataset"), ::testing::HasSubstr("training.dataset_path"));
  EXPECT_TRUE(to_spec(titan({"training.mock_data: false"}), {}, {.for_training = false}).ok());
  const spec::RunSpec local = described({"training.mock_data: false", "training.dataset_path: /shout/c4"});
  EXPECT_EQ(local.data.texts->train_path, "/shout/c4");
}

TEST(TorchTitan, ValidatesWithABatchOfItsOwn) {
  const spec::RunSpec run = described({"validation.enable: true", "validation.steps: 4", "validation.freq: 5",
                                       "validation.local_batch_size: 3", "validation.seq_len: 24"});
  EXPECT_EQ(run.evaluation.num_batches, 4);
  EXPECT_EQ(run.evaluation.interval_steps, 5);
  EXPECT_TRUE(run.evaluation.after_first_step);
  EXPECT_EQ(run.evaluation.micro_batch_size, 0);  // as in training
  EXPECT_EQ(run.evaluation.sequence_length, 24);
  EXPECT_EQ(described().evaluation.num_batches, 0);
}

// tests/cases/dialect/torchtitan_rules.txt; one case a paragraph:
//   # a sentence
//   KEY: YAML
//   ranks N, or describe (nobody trains)
//   error KEY: part of the message, expectation or hint
// A case must show its errors and no others.
TEST(TorchTitan, SaysExactlyWhatIsWrong) {
  const auto file = read_text_file("tests/cases/dialect/torchtitan_rules.txt");
  ASSERT_TRUE(file.ok());
  std::vector<std::string> lines, errors;
  int64_t ranks = 1;
  bool for_training = false;
  size_t count = 0;
  const auto run_case = [&] {
    if (lines.empty()) return;
    const auto run = to_spec(titan(lines), {}, {.world_size = ranks, .for_training = for_training});
    const std::string shown = join(lines, "\n") + "\n" + render(run.diagnostics());
    size_t num_errors = 0;
    for (const Diagnostic& d : run.diagnostics()) num_errors += d.severity == Severity::Error;
    EXPECT_EQ(num_errors, errors.size()) << shown;
    for (const std::string& error : errors) {
      const size_t colon = error.find(": ");
      EXPECT_THAT(errors_of(run.diagnostics(), error.substr(0, colon)), ::testing::HasSubstr(error.substr(colon + 2)))
          << shown;
    }
    ++count;
    lines.clear(), errors.clear();
    ranks = 1;
    for_training = false;
  };
  for (const std::string& raw : split(*file, '\n')) {
    const std::string line(trim(raw));
    if (line.empty()) run_case();
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("ranks "))
      ranks = *parse_int(line.substr(6));
    else if (line.starts_with("error "))
      errors.push_back(line.substr(6));
    else
      lines.push_back(line);
  }
  run_case();
  EXPECT_GT(count, 30U);
}

TEST(TorchTitan, ReportsEverythingTogether) {
  const auto run = to_spec(
      titan({"training.stepz: 4", "optimizer.lr: fast", "model.n_heads: 7", "parallelism.expert_parallel_degree: 0",
             "checkpoint.enable: true", "checkpoint.keep_latest_k: 1"}),
      {}, {.for_training = false});
  for (const char* key : {"training.stepz", "optimizer.lr", "model.n_heads", "parallelism.expert_parallel_degree",
                          "checkpoint.keep_latest_k"})
    EXPECT_NE(errors_of(run.diagnostics(), key), "") << key << render(run.diagnostics());
}

TEST(TorchTitan, DescribesEveryShippedExperiment) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples/torchtitan")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto run = to_spec(testing::shipped(entry.path().string()), {}, {.for_training = false});
    EXPECT_TRUE(run.ok()) << entry.path() << render(run.diagnostics());
    ++count;
  }
  EXPECT_GE(count, 75U);
}

TEST(TorchTitan, FindsEveryPresetsFlavorButTheOneThatUpstreamLacks) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("primus/configs/models/torchtitan")) {
    const auto text = read_text_file(entry.path());
    ASSERT_TRUE(text.ok());
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml" || text->find("flavor:") == std::string::npos) continue;
    config::Experiment experiment =
        testing::shipped("examples/torchtitan/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml");
    Diagnostics findings;
    auto preset =
        config::read_yaml(*text, std::make_shared<const std::string>(name), config::Layer::ModelPreset, findings);
    ASSERT_TRUE(preset.has_value()) << name;
    if (preset->find("model") == nullptr) continue;
    experiment.modules[0].params.as_map().set("model", *preset->find("model"));
    const auto run = to_spec(experiment, {}, {.for_training = false});
    EXPECT_EQ(run.ok(), name != "llama3.2_1B.yaml") << name << render(run.diagnostics());
    ++count;
  }
  EXPECT_GE(count, 33U);
}

}  // namespace
}  // namespace primus::dialect
