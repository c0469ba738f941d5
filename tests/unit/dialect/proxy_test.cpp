// --proxy: small, of the same kind, and a pure function of the experiment.
#include "primus/dialect/proxy.h"

#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using testing::little;
using testing::replaced;
using testing::shipped;

constexpr const char* kLlama = "examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml";
constexpr const char* kTinyLlama = "examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml";

double run_flops(const spec::RunSpec& run) {
  return spec::flops_per_token(run.model, run.data.sequence_length) *
         static_cast<double>(run.data.sequence_length * run.batch.global_batch_size * run.exit.train_steps);
}

spec::RunSpec shrunk(config::Experiment e) {
  PRIMUS_CHECK(apply_proxy(e).ok(), "proxy");
  auto run = to_spec(e);
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}

TEST(Proxy, KeepsWhatMakesTheModelWhatItIs) {
  const auto full = *to_spec(shipped(kLlama));
  const auto small = shrunk(shipped(kLlama));
  const auto &a = full.model.layers[0], &b = small.model.layers[0];
  EXPECT_EQ(a.attention.num_heads / a.attention.num_kv_heads, b.attention.num_heads / b.attention.num_kv_heads);
  EXPECT_GT(b.attention.num_kv_heads, 1);
  EXPECT_DOUBLE_EQ(static_cast<double>(a.mlp.ffn_size) / static_cast<double>(full.model.hidden_size),
                   static_cast<double>(b.mlp.ffn_size) / static_cast<double>(small.model.hidden_size));
  EXPECT_EQ(a.attention.rope->base, b.attention.rope->base);
  EXPECT_EQ(full.model.tied_embeddings, small.model.tied_embeddings);
  EXPECT_EQ(full.lr.max_lr, small.lr.max_lr);
  EXPECT_EQ(full.precision.compute, small.precision.compute);
  EXPECT_GT(small.batch.global_batch_size / small.batch.micro_batch_size, 1);
}

TEST(Proxy, StaysInsideItsBudgetAndUsesMostOfIt) {
  for (const char* file : {kLlama, kTinyLlama}) {
    const double flops = run_flops(shrunk(shipped(file)));
    EXPECT_LT(flops, 1.1 * kProxyFlops) << file;
    EXPECT_GT(flops, 0.2 * kProxyFlops) << file;
  }
}

TEST(Proxy, ScalesTheScheduleWithTheLength) {
  const auto small = shrunk(shipped(kTinyLlama, {"train_iters=1000", "lr_warmup_iters=200", "lr_decay_iters=800"}));
  const auto global = static_cast<double>(small.batch.global_batch_size);
  const auto steps = static_cast<double>(small.exit.train_steps);
  EXPECT_GE(small.exit.train_steps, 25);
  EXPECT_LE(small.exit.train_steps, 50);
  EXPECT_NEAR(small.lr.warmup_samples / global, 0.2 * steps, 0.5);
  EXPECT_NEAR(small.lr.decay_samples / global, 0.8 * steps, 0.5);
}

TEST(Proxy, NeverEnlargesAndLeavesASmallExperimentAlone) {
  const auto changes = proxy_changes(
      experiment(replaced(replaced(little("vocab_size: 99\n"), "global_batch_size", "2"), "micro_batch_size", "2")));
  ASSERT_TRUE(changes.ok());
  for (const ProxyChange& change : *changes)
    if (change.old_value.is_int()) {
      EXPECT_LT(change.new_value.as_int(), change.old_value.as_int()) << change.key;
    }
}

TEST(Proxy, IsAPureFunctionAndASecondTimeChangesNothing) {
  auto once = shipped(kLlama);
  const auto first = apply_proxy(once);
  EXPECT_EQ(render_proxy(*first), render_proxy(*proxy_changes(shipped(kLlama))));
  const auto again = proxy_changes(once);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(render_proxy(*again), "");
}

TEST(Proxy, PrintsEachChangeWithItsRule) {
  const std::string text = render_proxy(*proxy_changes(shipped(kTinyLlama)));
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "num_layers               22 -> 4  (the first layers that hold every kind, at least 4"));
  EXPECT_THAT(text, ::testing::HasSubstr("vocab_size               null -> 2048  (mock data"));
}

TEST(Proxy, KeepsARealTokenizersVocabularyAndTakesFewerSteps) {
  auto changes = proxy_changes(shipped(kTinyLlama, {"mock_data=false", "train_data_path=/x/a"}));
  ASSERT_TRUE(changes.ok());
  for (const ProxyChange& change : *changes) EXPECT_NE(change.key, "vocab_size");
  EXPECT_THAT(render_proxy(*changes), ::testing::HasSubstr("train_iters"));
}

TEST(Proxy, RecomputedLayersStayInsideTheModel) {
  const auto small = shrunk(
      experiment(replaced(little("recompute_granularity: full\nrecompute_layer_ids: [1, 7]\n"), "num_layers", "9")));
  EXPECT_EQ(small.model.layers.size(), 4U);
  EXPECT_THAT(small.recompute.layer_ids, ::testing::ElementsAre(1));
}

TEST(Proxy, WithoutSizesSaysWhatIsMissing) {
  const auto changes = proxy_changes(experiment("lr: 0.1\n"));
  ASSERT_FALSE(changes.ok());
  EXPECT_THAT(render(changes.diagnostics()), ::testing::HasSubstr("'num_layers' is not given"));
}

}  // namespace
}  // namespace primus::dialect
