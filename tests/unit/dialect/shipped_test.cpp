// The experiments and presets that users meet first.
#include <filesystem>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/proxy.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::shipped;

TEST(TinyLlama, OfTheGuideTranslatesWithOneTrueWarning) {
  const auto run = to_spec(shipped("examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.layers.size(), 22U);
  EXPECT_EQ(run->model.layers[0].attention.num_kv_heads, 32);  // group_query_attention is off in language_model.yaml
  EXPECT_EQ(run->model.layers[0].mlp.ffn_size, 5632);
  EXPECT_EQ(run->model.padded_vocab_size, 131200);
  EXPECT_EQ(run->tokenizer.preset_name, "HuggingFaceTokenizer TinyLlama/TinyLlama-1.1B-Chat-v1.0");
  EXPECT_FALSE(run->checkpoint.save);
  EXPECT_FALSE(run->checkpoint.save_at_end);
  EXPECT_EQ(run->logging.console_level, "DEBUG");
  EXPECT_EQ(run->exit.train_steps, 50);
  EXPECT_EQ(run->batch.global_batch_size, 128);
  EXPECT_EQ(run->lr.warmup_samples, 40 * 128);
  EXPECT_EQ(run->data.order, spec::LoaderOrder::Cyclic);
  EXPECT_EQ(run->precision.compute, spec::Dtype::BFloat16);
  ASSERT_EQ(run.diagnostics().size(), 1U) << render(run.diagnostics());
  EXPECT_EQ(run.diagnostics()[0].key, "num_query_groups");
  EXPECT_EQ(run.diagnostics()[0].severity, Severity::Warning);
}

TEST(Llama31, Of8BillionTranslatesAndSaysThatItsNormEpsilonDoesNothing) {
  const auto run = to_spec(shipped("examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.layers[0].attention.num_kv_heads, 8);
  EXPECT_EQ(run->model.layers[0].input_norm.kind, spec::NormKind::RmsNorm);
  EXPECT_EQ(run->model.layers[0].input_norm.eps, 1e-5);
  EXPECT_FALSE(run->model.layers[0].attention.rope->llama3);  // the preset has no use_rope_scaling
  EXPECT_TRUE(run->data.mask_loss_at_eod);
  size_t num_warnings = 0;
  for (const Diagnostic& finding : run.diagnostics()) {
    num_warnings += finding.severity == Severity::Warning;
    if (finding.severity == Severity::Warning) {
      EXPECT_EQ(finding.key, "norm_epsilon");
    }
  }
  EXPECT_EQ(num_warnings, 1U);
}

TEST(Quickstart, TranslatesWithoutAWord) {
  const auto run = to_spec(shipped("examples/megatron/configs/CPU/shakespeare_char-pretrain.yaml"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_TRUE(run.diagnostics().empty()) << render(run.diagnostics());
  EXPECT_TRUE(run->checkpoint.resume_by_default);
  EXPECT_TRUE(run->checkpoint.save);
  EXPECT_EQ(run->checkpoint.keep_last, 2);
  EXPECT_EQ(run->data.order, spec::LoaderOrder::Single);
  ASSERT_TRUE(run->data.prepare);
  EXPECT_EQ(run->data.prepare->valid_fraction, 0.1);
  EXPECT_EQ(run->tokenizer.type, "CharTokenizer");
  EXPECT_EQ(run->model.layers[0].attention.dropout, 0);
  EXPECT_FALSE(run->logging.tensorboard);
}

TEST(BenchmarkModel, Has124MillionParameters) {
  auto run = to_spec(shipped("examples/megatron/configs/CPU/llama_124M-BF16-pretrain.yaml"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_TRUE(run.diagnostics().empty()) << render(run.diagnostics());
  EXPECT_TRUE(finish_vocabulary(*run, 32000).empty());
  EXPECT_EQ(run->model.padded_vocab_size, 32000);
  EXPECT_NEAR(static_cast<double>(spec::count_parameters(run->model, true).total()), 124.7e6, 0.1e6);
}

TEST(ShippedExperiments, OfTheCpuTrainOrNameWhatIsNotBuilt) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/megatron/configs/CPU")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto run = to_spec(shipped(entry.path().string()), {}, {.world_size = 0});  // ranks as they come
    for (const Diagnostic& finding : run.diagnostics())
      EXPECT_TRUE(finding.severity != Severity::Error || finding.message.find("not built yet") != std::string::npos)
          << entry.path() << render(finding);
    ++count;
  }
  EXPECT_GE(count, 3U);
}

}  // namespace
}  // namespace primus::dialect
