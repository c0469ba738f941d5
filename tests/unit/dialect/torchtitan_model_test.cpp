// Flavors: sizes equal to TorchTitan's own models (golden) and to the published ones, and what each family means.
#include <cmath>
#include <gtest/gtest.h>

#include "torchtitan_experiment.h"

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/dialect/torchtitan_flavors.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::described;
using testing::errors_of;

spec::RunSpec flavor(const std::string& family, const std::string& name, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"model.name: " + family, "model.flavor: " + name});
  return described(more);
}

TEST(TorchTitanFlavors, HaveTheParametersOfTorchTitansOwnModels) {
  const auto text = read_text_file("tests/golden/spec/torchtitan_models.json");
  ASSERT_TRUE(text.ok());
  const auto golden = parse_json(*text, "torchtitan_models.json");
  ASSERT_TRUE(golden.ok());
  size_t count = 0;
  for (const Json& row : (*golden)["models"]) {
    const std::string name = row["family"].get<std::string>() + " " + row["flavor"].get<std::string>();
    const spec::RunSpec run = flavor(row["family"], row["flavor"], {"training.seq_len: 4096"});
    const spec::ModelSize size = spec::count_parameters(run.model, false);
    EXPECT_EQ(size.embedding, row["embedding"].get<int64_t>()) << name;
    EXPECT_EQ(size.layers, row["layers"].get<int64_t>()) << name;
    EXPECT_EQ(size.final_norm, row["final_norm"].get<int64_t>()) << name;
    EXPECT_EQ(size.head, row["head"].get<int64_t>()) << name;
    EXPECT_DOUBLE_EQ(spec::flops_per_token(run.model, 4096), row["flops_per_token"].get<double>()) << name;
    std::vector<std::string> moe_layers;
    for (size_t i = 0; i < run.model.layers.size(); ++i)
      if (run.model.layers[i].moe) moe_layers.push_back(std::to_string(i));
    EXPECT_EQ(Json(moe_layers), row["moe_layers"]) << name;
    ++count;
  }
  size_t flavors = 0;
  for (const std::string& family : titan_families()) flavors += titan_flavors(*titan_family(family)).size();
  EXPECT_EQ(count, flavors);
  EXPECT_EQ(count, 32U);
}

TEST(TorchTitanFlavors, HaveThePublishedSizes) {
  const struct {
    const char *family, *flavor;
    int64_t parameters;
  } published[] = {{"llama3", "8B", 8'030'261'248},          {"llama3", "70B", 70'553'706'496},
                   {"llama3", "405B", 405'853'388'800},      {"qwen3", "0.6B", 596'049'920},
                   {"qwen3", "8B", 8'190'735'360},           {"qwen3", "30B-A3B", 30'532'122'624},
                   {"deepseek_v3", "16B", 15'706'484'224},   {"deepseek_v3", "236B", 235'741'434'880},
                   {"deepseek_v3", "671B", 671'026'404'352},  // 671,026,419,200 with the 58 x 256 correction biases
                   {"gpt_oss", "20b", 20'914'757'184},       {"gpt_oss", "120b", 116'829'156'672}};
  for (const auto& p : published)
    EXPECT_EQ(spec::count_parameters(flavor(p.family, p.flavor).model, false).total(), p.parameters) << p.flavor;
}

TEST(TorchTitanFlavors, RefuseAFlavorThatDoesNotExistWithTheList) {
  const auto run = to_spec(testing::titan({"model.flavor: 1B"}), {}, {.for_training = false});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(errors_of(run.diagnostics(), "model.flavor"), ::testing::HasSubstr("8B_varlen, 70B, 405B"));
  size_t num_errors = 0;
  for (const Diagnostic& d : run.diagnostics()) num_errors += d.severity == Severity::Error;
  EXPECT_EQ(num_errors, 1U) << render(run.diagnostics());
}

TEST(TorchTitanFlavors, RefuseAFamilyThatDoesNotExistWithTheList) {
  const auto run = to_spec(testing::titan({"model.name: llama5"}), {}, {.for_training = false});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(errors_of(run.diagnostics(), "model.name"), ::testing::HasSubstr("deepseek_v3, qwen3, gpt_oss"));
  EXPECT_EQ(errors_of(run.diagnostics(), "model.flavor"), "");
}

TEST(TorchTitanFlavors, TakeOverridesOfTheirFamilyOnly) {
  const spec::RunSpec run = flavor("qwen3", "debugmodel_moe",
                                   {"model.n_layers: 3", "model.dim: 96", "model.moe_args.num_experts: 6",
                                    "model.moe_args.top_k: 2", "model.moe_inter_dim: 40", "model.vocab_size: 777"});
  ASSERT_EQ(run.model.layers.size(), 3U);
  EXPECT_EQ(run.model.hidden_size, 96);
  EXPECT_EQ(run.model.padded_vocab_size, 777);
  EXPECT_EQ(run.model.layers[2].moe->num_experts, 6);
  EXPECT_EQ(run.model.layers[2].moe->expert.ffn_size, 40);
  EXPECT_EQ(run.model.layers[2].moe->router.score, spec::RouterScore::Softmax);  // the flavor's
  const auto wrong = to_spec(testing::titan({"model.hidden_dim: 64"}), {}, {.for_training = false});
  EXPECT_THAT(errors_of(wrong.diagnostics(), "model.hidden_dim"), ::testing::HasSubstr("llama3 has no argument"));
  EXPECT_THAT(errors_of(wrong.diagnostics(), "model.hidden_dim"), ::testing::HasSubstr("ffn_dim_multiplier"));
}

TEST(TorchTitanFlavors, WarnThatUpstreamForgetsTheFlavorsOtherExpertValues) {
  const auto run =
      to_spec(testing::titan({"model.name: deepseek_v3", "model.flavor: 16B", "model.moe_args.num_experts: 8"}), {},
              {.for_training = false});
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.layers[1].moe->top_k, 6);
  bool warned = false;
  for (const Diagnostic& d : run.diagnostics())
    warned = warned || (d.severity == Severity::Warning && d.key == "model.moe_args.num_experts");
  EXPECT_TRUE(warned) << render(run.diagnostics());
}

TEST(TorchTitanLlama3, AlwaysScalesItsPositionsAndRotatesPairs) {
  const spec::RunSpec run = flavor("llama3", "8B");
  const spec::Attention& a = run.model.layers[31].attention;
  ASSERT_TRUE(a.rope && a.rope->llama3);
  EXPECT_TRUE(a.rope->interleaved);
  EXPECT_EQ(a.rope->base, 500000);
  EXPECT_EQ(a.rope->llama3->factor, 8);
  EXPECT_EQ(a.rope->llama3->high_freq_factor, 4);
  EXPECT_EQ(run.model.layers[0].mlp.ffn_size, 14336);
  EXPECT_EQ(flavor("llama3", "405B").model.layers[0].mlp.ffn_size, 53248);
  EXPECT_FALSE(run.data.reset_attention_mask);
  EXPECT_TRUE(flavor("llama3", "8B_varlen").data.reset_attention_mask);
  EXPECT_FALSE(flavor("llama3", "8B_varlen", {"model.attn_type: sdpa"}).data.reset_attention_mask);
}

TEST(TorchTitanLlama4, TakesPositionsFromLayersThatDivideAndExpertsFromTheNextOnes) {
  const spec::RunSpec run = flavor("llama4", "debugmodel_irope");
  ASSERT_EQ(run.model.layers.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    const spec::LayerSpec& layer = run.model.layers[i];
    EXPECT_EQ(layer.attention.rope.has_value(), i % 4 != 0) << i;
    EXPECT_EQ(layer.attention.chunk_size.has_value(), i % 4 != 0) << i;
    EXPECT_EQ(layer.moe.has_value(), i % 2 == 1) << i;
  }
  EXPECT_EQ(run.model.layers[1].attention.chunk_size, 256);
  EXPECT_EQ(run.model.layers[1].attention.rope->llama3->factor, 16);
  EXPECT_EQ(run.model.layers[1].attention.rope->llama3->high_freq_factor, 1);
  const spec::RunSpec scout = flavor("llama4", "17bx16e");
  EXPECT_EQ(scout.model.layers[0].moe->expert.ffn_size, 8192);
  EXPECT_TRUE(scout.model.layers[0].moe->router.weight_on_input);
  EXPECT_EQ(scout.model.layers[0].moe->router.score, spec::RouterScore::Sigmoid);
  EXPECT_FALSE(scout.model.layers[0].attention.chunk_size);
  EXPECT_FALSE(flavor("llama4", "17bx128e").model.layers[0].attention.rope->llama3);
}

TEST(TorchTitanDeepSeek, ScalesPositionsOnlyBehindItsFirstLength) {
  const spec::RunSpec near = flavor("deepseek_v3", "16B", {"training.seq_len: 4096"});
  const spec::RunSpec far = flavor("deepseek_v3", "16B", {"training.seq_len: 4097"});
  const spec::Attention &a = near.model.layers[0].attention, &b = far.model.layers[0].attention;
  EXPECT_FALSE(a.rope->yarn);
  EXPECT_DOUBLE_EQ(a.softmax_scale, 1 / std::sqrt(192.0));
  ASSERT_TRUE(b.rope->yarn);
  EXPECT_EQ(b.rope->yarn->factor, 40);
  EXPECT_TRUE(b.rope->yarn->whole_bounds);
  EXPECT_EQ(b.rope->yarn->cos_sin_factor, 1);
  const double magnitude = 0.1 * 0.7 * std::log(40.0) + 1;
  EXPECT_DOUBLE_EQ(b.softmax_scale, magnitude * magnitude / std::sqrt(192.0));
  EXPECT_TRUE(a.rope->interleaved);
  EXPECT_EQ(near.model.layers[0].input_norm.eps, 1e-5);
  EXPECT_EQ(near.model.final_norm.eps, std::numeric_limits<float>::epsilon());
  const spec::RunSpec v3 = flavor("deepseek_v3", "671B");
  const spec::Router& r = v3.model.layers[3].moe->router;
  ASSERT_TRUE(r.groups && r.expert_bias);
  EXPECT_EQ(r.groups->num_groups, 8);
  EXPECT_EQ(r.groups->top_groups, 4);
  EXPECT_EQ(r.groups->sum_of, 2);
  EXPECT_TRUE(r.expert_bias->centred);
  EXPECT_TRUE(r.renormalise);
  EXPECT_EQ(r.scale, 2.5);
  EXPECT_FALSE(v3.model.layers[2].moe);
  EXPECT_EQ(flavor("deepseek_v3", "671B", {"model.moe_args.load_balance_coeff: null"})
                .model.layers[3]
                .moe->router.expert_bias.has_value(),
            false);
}

TEST(TorchTitanQwen3, NormsQueriesAndKeysAndNeverMovesTheRoutersBias) {
  const spec::RunSpec run = flavor("qwen3", "0.6B");
  ASSERT_TRUE(run.model.layers[0].attention.qk_norm);
  EXPECT_EQ(run.model.layers[0].attention.qk_norm->norm.eps, 1e-6);
  EXPECT_FALSE(run.model.layers[0].attention.rope->interleaved);
  EXPECT_FALSE(run.model.layers[0].attention.rope->llama3);
  EXPECT_TRUE(run.model.tied_embeddings);
  EXPECT_EQ(run.model.layers[0].attention.head_dim, 128);
  const spec::RunSpec moe = flavor("qwen3", "30B-A3B", {"debug.moe_force_load_balance: true"});
  EXPECT_FALSE(moe.model.layers[0].moe->router.expert_bias);
  EXPECT_TRUE(moe.model.layers[0].moe->router.renormalise);
  EXPECT_TRUE(moe.model.layers[0].moe->router.normalise_over_all);
  EXPECT_EQ(moe.model.layers[0].moe->router.forced_balance, spec::ForcedBalance::RoundRobin);
  EXPECT_EQ(moe.model.layers[0].moe->shared_ffn_size, 0);
}

TEST(TorchTitanGptOss, HasSinksBiasesClampAndWindowsOnEvenLayers) {
  const spec::RunSpec run = flavor("gpt_oss", "20b");
  for (size_t i = 0; i < 4; ++i) {
    const spec::Attention& a = run.model.layers[i].attention;
    EXPECT_EQ(a.window_keys.has_value(), i % 2 == 0) << i;
    EXPECT_EQ(a.sink, spec::Sink::Learned);
    EXPECT_TRUE(a.qkv_bias && a.out_bias);
  }
  EXPECT_EQ(run.model.layers[0].attention.window_keys, 128);
  const spec::Rope& rope = *run.model.layers[0].attention.rope;
  ASSERT_TRUE(rope.yarn);
  EXPECT_FALSE(rope.yarn->whole_bounds);
  EXPECT_DOUBLE_EQ(rope.yarn->cos_sin_factor, 0.1 * std::log(32.0) + 1);
  EXPECT_EQ(rope.yarn->beta_fast, 32);
  EXPECT_EQ(rope.yarn->beta_slow, 1);
  const spec::Moe& moe = *run.model.layers[0].moe;
  EXPECT_EQ(moe.expert.activation, spec::Activation::QuickGelu);
  EXPECT_EQ(moe.expert.clamp, 7);
  EXPECT_EQ(moe.expert.up_offset, 1);
  EXPECT_TRUE(moe.expert.bias && moe.router.bias);
  EXPECT_EQ(moe.top_k, 4);
}

TEST(TorchTitanInit, ShrinksWithTheDepthOfALayer) {
  const spec::RunSpec run = flavor("llama3", "debugmodel");
  const spec::Init& init = run.model.init;
  EXPECT_EQ(init.embedding_std, 1);
  EXPECT_EQ(init.layer_cut, 2);
  EXPECT_DOUBLE_EQ(init.head_std, 1.0 / 16);  // 256 ^ -0.5
  EXPECT_DOUBLE_EQ(init.head_cut, 3.0 / 16);
  for (size_t i = 0; i < 6; ++i) {
    const double outward = 0.02 / std::sqrt(2.0 * static_cast<double>(i + 1));
    ASSERT_TRUE(run.model.layers[i].init);
    const spec::LayerInit& layer = *run.model.layers[i].init;
    EXPECT_EQ(layer.qkv_std, 0.02);
    EXPECT_EQ(layer.mlp_gate_std, 0.02);
    EXPECT_DOUBLE_EQ(layer.mlp_up_std, outward);
    EXPECT_DOUBLE_EQ(layer.mlp_down_std, outward);
    EXPECT_DOUBLE_EQ(layer.attention_out_std, outward);
    EXPECT_EQ(layer.bias_std, 0);
  }
  const spec::RunSpec flat = flavor("llama3", "debugmodel", {"model.depth_init: false"});
  EXPECT_DOUBLE_EQ(flat.model.layers[0].init->mlp_down_std, 0.02 / std::sqrt(12.0));
  EXPECT_DOUBLE_EQ(flavor("gpt_oss", "20b").model.layers[7].init->qkv_std, 0.005);
  EXPECT_DOUBLE_EQ(flavor("gpt_oss", "20b").model.layers[7].init->sink_std, 0.005);
}

}  // namespace
}  // namespace primus::dialect
