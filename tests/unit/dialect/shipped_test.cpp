// The experiments and presets that users meet first.
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
}

}  // namespace
}  // namespace primus::dialect
