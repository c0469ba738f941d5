// --proxy over every shipped experiment of every dialect: smaller, of the same kind, and settled at the first go.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "experiment.h"

#include "primus/config/file_cache.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/proxy.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::shipped;

std::vector<std::string> shipped_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator("examples"))
    if (entry.path().extension() == ".yaml" && entry.path().string().find("/configs/") != std::string::npos &&
        entry.path().string().find("/CPU/") == std::string::npos)
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Result<spec::RunSpec> described(const config::Experiment& e) {
  return to_spec(e, {}, {.world_size = 0, .for_training = false});
}

// What a proxy must keep, as text.
std::set<std::string> kinds(const spec::Model& model) {
  std::set<std::string> kinds;
  for (const spec::LayerSpec& layer : model.layers) {
    const spec::Attention& a = layer.attention;
    std::string text = layer.other_mixer + (layer.short_conv ? "conv" : "") + (layer.gated_delta ? "delta" : "") +
                       (layer.mamba2 ? "mamba" : "") + (layer.has_mixer ? "" : "no mixer") +
                       (layer.has_mlp ? "" : "no mlp") + (layer.moe ? " moe" : " dense") + (a.rope ? " rope" : "") +
                       (a.window_keys ? " window" : "") + (a.chunk_size ? " chunk" : "") + (a.latent ? " mla" : "") +
                       (a.qk_norm ? " qk" : "") + (a.sink != spec::Sink::None ? " sink" : "");
    if (a.rope && a.rope->yarn) text += " yarn";
    if (layer.moe)
      text += " top" + std::to_string(layer.moe->top_k) + (layer.moe->shared_ffn_size > 0 ? " shared" : "") +
              " groups" + std::to_string(layer.moe->router.groups ? layer.moe->router.groups->num_groups : 0);
    kinds.insert(text);
  }
  return kinds;
}

TEST(ProxyFamilies, EveryShippedExperimentShrinksAndKeepsItsKind) {
  int count = 0;
  for (const std::string& file : shipped_files()) {
    config::Experiment e;
    try {
      e = shipped(file);
    } catch (const std::exception&) {
      continue;  // what upstream refuses
    }
    const auto full = described(e);
    if (!full) continue;  // shipped_test.cpp says which and why
    const auto changes = apply_proxy(e);
    ASSERT_TRUE(changes.ok()) << file << "\n" << render(changes.diagnostics());
    const auto small = described(e);
    ASSERT_TRUE(small.ok()) << file << "\n" << render(small.diagnostics()) << render_proxy(*changes);
    ++count;
    EXPECT_EQ(kinds(full->model), kinds(small->model)) << file;
    EXPECT_LE(small->model.layers.size(),
              std::max<size_t>(16, 2 * static_cast<size_t>(full->parallel.pipeline * full->parallel.stages_per_rank)))
        << file;
    EXPECT_LE(small->model.hidden_size, 1024) << file;
    EXPECT_LE(small->data.sequence_length, 256) << file;
    EXPECT_LE(small->exit.train_steps, 50) << file;
    EXPECT_LT(spec::count_parameters(small->model, false).total(), 300'000'000) << file;
    EXPECT_EQ(full->parallel.tensor, small->parallel.tensor) << file;
    EXPECT_EQ(full->parallel.pipeline, small->parallel.pipeline) << file;
    EXPECT_EQ(full->parallel.stages_per_rank, small->parallel.stages_per_rank) << file;
    EXPECT_EQ(full->parallel.expert, small->parallel.expert) << file;
    EXPECT_EQ(full->lr.max_lr, small->lr.max_lr) << file;
    EXPECT_EQ(full->precision.compute, small->precision.compute) << file;
    EXPECT_EQ(full->model.mtp.has_value(), small->model.mtp.has_value()) << file;
    for (const spec::LayerSpec& layer : small->model.layers)
      if (layer.moe) {
        EXPECT_GT(layer.moe->num_experts, layer.moe->top_k) << file;
        EXPECT_LE(layer.moe->num_experts, std::max<int64_t>(64, 2 * full->parallel.expert)) << file;
      }
    const auto again = proxy_changes(e);
    ASSERT_TRUE(again.ok()) << file;
    EXPECT_EQ(render_proxy(*again), "") << file;
  }
  EXPECT_GT(count, 300);
}

TEST(ProxyFamilies, TheSameModelShrinksAlikeInEveryDialect) {
  const auto small = [](const char* file, std::vector<std::string> overrides) {
    auto e = shipped(file, std::move(overrides));
    PRIMUS_CHECK(apply_proxy(e, {}, {.mock_data = true, .one_device = true}).ok(), file);
    auto run = described(e);
    PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
    return *run;
  };
  const auto a = small("examples/megatron/configs/MI300X/llama2_7B-BF16-pretrain.yaml", {"train_iters=50"});
  const auto b = small("examples/maxtext/configs/MI300X/llama2_7B-bf16-pretrain.yaml", {"steps=50"});
  EXPECT_EQ(a.model.hidden_size, b.model.hidden_size);
  EXPECT_EQ(a.model.layers.size(), b.model.layers.size());
  EXPECT_EQ(a.model.layers[0].attention.num_heads, b.model.layers[0].attention.num_heads);
  EXPECT_EQ(a.model.layers[0].mlp.ffn_size, b.model.layers[0].mlp.ffn_size);
  EXPECT_EQ(a.data.sequence_length, b.data.sequence_length);
}

TEST(ProxyFamilies, OneDeviceHasNoAxisAboveOne) {
  for (const std::string& file : shipped_files()) {
    config::Experiment e;
    try {
      e = shipped(file);
    } catch (const std::exception&) {
      continue;
    }
    if (!described(e)) continue;
    const auto changes = apply_proxy(e, {}, {.mock_data = true, .one_device = true, .most_steps = 3});
    ASSERT_TRUE(changes.ok()) << file << "\n" << render(changes.diagnostics());
    const auto run = to_spec(e, {}, {.world_size = 1, .for_training = false});
    ASSERT_TRUE(run.ok()) << file << "\n" << render(run.diagnostics());
    const spec::Parallel& p = run->parallel;
    EXPECT_EQ(p.tensor * p.pipeline * p.context * p.expert * p.expert_tensor * p.stages_per_rank, 1) << file;
    EXPECT_LE(p.weight_shards, 1) << file;
    EXPECT_LE(run->exit.train_steps, 3) << file;
    EXPECT_TRUE(run->data.mock || run->finetune || (run->data.texts && run->data.texts->random_integers)) << file;
  }
}

TEST(Proxy, ScalesSampleCountsWithStepsAndBatch) {
  const auto changes = proxy_changes(testing::experiment(testing::replaced(
      testing::without(testing::little("lr_decay_samples: 240000\ntrain_samples: 240000\n"), "train_iters"),
      "global_batch_size", "240")));
  ASSERT_TRUE(changes.ok()) << render(changes.diagnostics());
  int64_t train = 0, decay = 0;
  for (const ProxyChange& change : *changes) {
    if (change.key == "train_samples") train = change.new_value.as_int();
    if (change.key == "lr_decay_samples") decay = change.new_value.as_int();
  }
  EXPECT_GT(train, 0);
  EXPECT_EQ(train, decay);
}

TEST(Proxy, OfAFrameworkWithoutATableIsRefused) {
  const auto changes = proxy_changes(testing::experiment("lr: 0.1\n", "diffusion"));
  ASSERT_FALSE(changes.ok());
  EXPECT_THAT(render(changes.diagnostics()), ::testing::HasSubstr("no parameter table"));
}

}  // namespace
}  // namespace primus::dialect
