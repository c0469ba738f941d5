// Architectures by name: published sizes, and what each decoder block means.
#include <cmath>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/base/strings.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::experiment;

spec::RunSpec describe_model(const std::string& yaml) {
  auto run = to_spec(experiment(yaml, "maxtext"), {}, {.for_training = false});
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}

spec::Model model(const std::string& name, const std::string& more = "") {
  return describe_model("model_name: " + name + "\n" + more).model;
}

// Published counts of the Hugging Face checkpoints. gemma's table has 128 more rows than the published one.
struct Published {
  const char* name;
  int64_t parameters;
};

class PublishedSize : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedSize, EqualsTheModelsToTheLastDigit) {
  EXPECT_EQ(spec::count_parameters(model(GetParam().name), false).total(), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    MaxtextModels, PublishedSize,
    ::testing::Values(Published{"llama2-7b", 6738415616}, Published{"llama2-13b", 13015864320},
                      Published{"llama2-70b", 68976648192}, Published{"llama3-8b", 8030261248},
                      Published{"llama3-70b", 70553706496}, Published{"llama3.1-8b-Instruct", 8030261248},
                      Published{"llama3.1-405b", 405853388800}, Published{"llama3.3-70b", 70553706496},
                      Published{"mistral-7b", 7241732096}, Published{"mixtral-8x7b", 46702792704},
                      Published{"mixtral-8x22b", 140630071296}, Published{"deepseek2-16b", 15706484224},
                      Published{"deepseek2-236b", 235741434880}, Published{"deepseek3-671b", 671026404352},
                      Published{"qwen2.5-1.5b", 1543714304}, Published{"qwen2.5-7b", 7615616512},
                      Published{"qwen2.5-14b", 14770033664}, Published{"qwen3-0.6b", 596049920},
                      Published{"qwen3-4b", 4022468096}, Published{"qwen3-8b", 8190735360},
                      Published{"qwen3-14b", 14768307200}, Published{"qwen3-32b", 32762123264},
                      Published{"qwen3-30b-a3b", 30532122624}, Published{"qwen3-235b-a22b", 235093634560},
                      Published{"gemma-2b", 2506172416 + 128 * 2048}, Published{"gemma-7b", 8537680896 + 128 * 3072},
                      Published{"gemma2-2b", 2614341888 + 128 * 2304}, Published{"gemma2-9b", 9241705984 + 128 * 3584},
                      Published{"gemma2-27b", 27227128320 + 128 * 4608}, Published{"gpt-oss-20b", 20914757184},
                      Published{"gpt-oss-120b", 116829156672}));

TEST(MaxtextModels, RefusesANameThatDoesNotExistAndListsTheOthers) {
  const auto run = to_spec(experiment("model_name: llama3-9b\n", "maxtext"), {}, {.for_training = false});
  ASSERT_FALSE(run.ok());
  const Diagnostic& finding = run.diagnostics()[0];
  EXPECT_EQ(finding.key, "model_name");
  EXPECT_EQ(finding.place.line, 1);
  EXPECT_THAT(finding.message, ::testing::HasSubstr("no model 'llama3-9b'"));
  EXPECT_THAT(finding.expected,
              ::testing::AllOf(::testing::HasSubstr("mixtral-8x22b"), ::testing::HasSubstr("default")));
  EXPECT_THAT(finding.suggestion, ::testing::HasSubstr("llama3-8b"));
}

TEST(MaxtextModels, FoldsTheSoftmaxScaleIntoTheQueryWeightsWhereTheBlockDoes) {
  const auto folded = model("llama3-8b").layers[0];
  EXPECT_EQ(folded.attention.softmax_scale, 1);
  EXPECT_DOUBLE_EQ(folded.init->qkv_std, 1 / std::sqrt(4096.0));
  EXPECT_DOUBLE_EQ(folded.init->query_std, 1 / std::sqrt(4096.0) / std::sqrt(128.0));
  const auto explicit_scale = model("qwen3-14b").layers[0];
  EXPECT_DOUBLE_EQ(explicit_scale.attention.softmax_scale, 1 / std::sqrt(128.0));
  EXPECT_EQ(explicit_scale.init->query_std, 0);
}

TEST(MaxtextModels, RotatesByTheNamesBeginning) {
  EXPECT_FALSE(model("llama3-8b").layers[0].attention.rope->llama3);
  EXPECT_FALSE(model("llama3-8b").layers[0].attention.rope->interleaved);
  EXPECT_FALSE(model("llama3.3-70b").layers[0].attention.rope->llama3);
  const auto scaled = *model("llama3.1-8b").layers[0].attention.rope;
  ASSERT_TRUE(scaled.llama3);
  EXPECT_EQ(scaled.llama3->factor, 8);
  EXPECT_TRUE(scaled.interleaved);
  EXPECT_EQ(scaled.base, 500000);
  EXPECT_FALSE(model("llama3.1-8b", "rope_use_scale: false\n").layers[0].attention.rope->llama3);
}

TEST(MaxtextModels, LatentAttentionScalesBeyondTheOriginalPositionsOnly) {
  const auto a = model("deepseek2-16b").layers[5].attention;
  ASSERT_TRUE(a.latent);
  EXPECT_EQ(a.latent->q_lora_rank, 0);
  EXPECT_EQ(a.latent->kv_lora_rank, 512);
  const double m = 0.1 * 0.707 * std::log(40.0) + 1;
  EXPECT_NEAR(a.softmax_scale, m * m / std::sqrt(192.0), 1e-12);
  EXPECT_NEAR(m * m, 1.5896, 5e-5);
  ASSERT_TRUE(a.rope->yarn);
  EXPECT_EQ(a.rope->yarn->cos_sin_factor, 1);
  EXPECT_TRUE(a.rope->interleaved);
  const auto near =
      model("deepseek2-16b", "override_model_config: true\noverride_model:\n  max_position_embeddings: 4096\n");
  EXPECT_DOUBLE_EQ(near.layers[5].attention.softmax_scale, 1 / std::sqrt(192.0));
  EXPECT_TRUE(near.layers[5].attention.rope->yarn);
}

TEST(MaxtextModels, DeepseekBeginsWithDenseLayers) {
  const auto m =
      model("deepseek2-16b", "override_model_config: true\noverride_model: {load_balance_loss_weight: 0.26}\n");
  EXPECT_FALSE(m.layers[0].moe);
  EXPECT_EQ(m.layers[0].mlp.ffn_size, 10944);
  ASSERT_TRUE(m.layers[1].moe);
  const spec::Moe& moe = *m.layers[1].moe;
  EXPECT_EQ(moe.num_experts, 64);
  EXPECT_EQ(moe.top_k, 6);
  EXPECT_EQ(moe.shared_ffn_size, 2 * 1408);
  EXPECT_EQ(moe.router.score, spec::RouterScore::Softmax);
  EXPECT_TRUE(moe.router.normalise_over_all);
  EXPECT_FALSE(moe.router.renormalise);
  EXPECT_FALSE(moe.router.expert_bias);
  ASSERT_EQ(moe.router.balance_losses.size(), 1U);
  EXPECT_EQ(moe.router.balance_losses[0].scope, spec::BalanceScope::Sequence);
  EXPECT_DOUBLE_EQ(moe.router.balance_losses[0].coefficient, 0.26 * 6 / 26);  // the mean of 26 layers
}

TEST(MaxtextModels, Deepseek3BalancesByABiasAndLimitsGroupsOnlyWhenAsked) {
  const auto plain = *model("deepseek3-671b").layers[3].moe;
  EXPECT_FALSE(plain.router.groups);
  ASSERT_TRUE(plain.router.expert_bias);
  EXPECT_FALSE(plain.router.expert_bias->centred);
  EXPECT_EQ(plain.router.score, spec::RouterScore::Sigmoid);
  EXPECT_TRUE(plain.router.renormalise);
  EXPECT_EQ(plain.router.scale, 2.5);
  const auto grouped = *model("deepseek3-671b", "n_routing_groups: 8\ntopk_routing_group: 4\n").layers[3].moe;
  ASSERT_TRUE(grouped.router.groups);
  EXPECT_EQ(grouped.router.groups->num_groups, 8);
  EXPECT_EQ(grouped.router.groups->top_groups, 4);
  EXPECT_EQ(grouped.router.groups->sum_of, 2);
}

TEST(MaxtextModels, MixtralChoosesBeforeTheSoftmaxAndMayDropTokens) {
  const auto moe = *model("mixtral-8x7b").layers[0].moe;
  EXPECT_FALSE(moe.router.normalise_over_all);
  EXPECT_FALSE(moe.capacity);
  const auto dropping =
      *model("mixtral-8x7b", "sparse_matmul: false\nmegablox: false\ncapacity_factor: 1.25\n").layers[0].moe;
  ASSERT_TRUE(dropping.capacity);
  EXPECT_EQ(dropping.capacity->factor, 1.25);
  EXPECT_TRUE(dropping.capacity->per_sequence);
  EXPECT_EQ(dropping.capacity->policy, spec::DropPolicy::LastPosition);
  EXPECT_FALSE(model("mixtral-8x7b", "capacity_factor: 1.25\n").layers[0].moe->capacity);  // ragged: nothing drops
}

TEST(MaxtextModels, Gemma2CountsPairsOfALocalAndAGlobalLayer) {
  const auto m = model("gemma2-9b");
  ASSERT_EQ(m.layers.size(), 42U);
  EXPECT_EQ(m.layers[0].attention.window_keys, 4096);
  EXPECT_FALSE(m.layers[1].attention.window_keys);
  EXPECT_EQ(m.layers[0].attention.logit_soft_cap, 50);
  EXPECT_EQ(m.logit_soft_cap, 30);
  EXPECT_TRUE(m.layers[0].attention_output_norm && m.layers[0].mlp_output_norm);
  EXPECT_EQ(m.layers[0].mlp.activation, spec::Activation::GeluTanh);
  EXPECT_TRUE(m.tied_embeddings);
  EXPECT_DOUBLE_EQ(m.logit_multiplier, 1 / std::sqrt(3584.0));
}

TEST(MaxtextModels, Gemma3TurnsLocalAndGlobalLayersDifferently) {
  const auto m = model("gemma3-4b");
  EXPECT_EQ(m.layers[4].attention.window_keys, 1024);
  EXPECT_FALSE(m.layers[5].attention.window_keys);
  EXPECT_EQ(m.layers[4].attention.rope->base, 10000);
  EXPECT_EQ(m.layers[4].attention.rope->position_divisor, 1);
  EXPECT_EQ(m.layers[5].attention.rope->base, 1000000);
  EXPECT_EQ(m.layers[5].attention.rope->position_divisor, 8);
  ASSERT_TRUE(m.layers[0].attention.qk_norm);
}

TEST(MaxtextModels, Gemma4HasWiderGlobalLayersWhoseKeysAreTheirValues) {
  const auto m = model("gemma4-26b");
  EXPECT_EQ(m.layers[0].attention.head_dim, 256);
  EXPECT_EQ(m.layers[5].attention.head_dim, 512);
  EXPECT_EQ(m.layers[5].attention.num_kv_heads, 2);
  EXPECT_TRUE(m.layers[5].attention.values_are_keys);
  EXPECT_FALSE(m.layers[4].attention.values_are_keys);
  EXPECT_EQ(m.layers[5].attention.rope->fraction, 0.25);
  ASSERT_TRUE(m.layers[0].moe);
  EXPECT_EQ(m.layers[0].moe->shared_ffn_size, 2112);
  EXPECT_EQ(m.layers[0].other_parameters, 1 + 4 * 2816 + 128);
}

TEST(MaxtextModels, GptOssHasSinksWindowsAndBiases) {
  const auto m = model("gpt-oss-20b");
  EXPECT_EQ(m.layers[0].attention.window_keys, 128);
  EXPECT_FALSE(m.layers[1].attention.window_keys);
  EXPECT_EQ(m.layers[0].attention.sink, spec::Sink::Learned);
  EXPECT_TRUE(m.layers[0].attention.qkv_bias && m.layers[0].attention.out_bias);
  const auto& moe = *m.layers[0].moe;
  EXPECT_TRUE(moe.router.bias && moe.expert.bias);
  EXPECT_EQ(moe.expert.activation, spec::Activation::QuickGelu);
  EXPECT_EQ(moe.expert.clamp, 7);
  EXPECT_EQ(moe.expert.up_offset, 1);
  EXPECT_NEAR(m.layers[0].attention.rope->yarn->cos_sin_factor, 0.1 * std::log(32.0) + 1, 1e-12);
  EXPECT_FALSE(m.layers[0].attention.rope->yarn->whole_bounds);
}

TEST(MaxtextModels, Llama4LeavesEachFourthLayerWithoutPositions) {
  const auto m = model("llama4-17b-16e");
  EXPECT_TRUE(m.layers[2].attention.rope);
  EXPECT_EQ(m.layers[2].attention.chunk_size, 8192);
  EXPECT_TRUE(m.layers[2].attention.qk_norm->after_rope);
  EXPECT_FALSE(m.layers[2].attention.qk_norm->has_gain);
  EXPECT_FALSE(m.layers[3].attention.rope);
  EXPECT_FALSE(m.layers[3].attention.chunk_size);
  EXPECT_TRUE(m.layers[3].attention.temperature);
  EXPECT_TRUE(m.layers[0].moe->router.weight_on_input);
  const auto maverick = model("llama4-17b-128e");
  EXPECT_FALSE(maverick.layers[0].moe);
  EXPECT_TRUE(maverick.layers[1].moe);
}

TEST(MaxtextModels, NamesTheBlocksThatAreNotDescribed) {
  const auto m = model("qwen3-next-80b-a3b");
  EXPECT_EQ(m.layers[0].other_mixer, "gated delta net");
  EXPECT_FALSE(spec::has_known_size(m));
}

TEST(MaxtextModels, EveryNameOfThePackageIsDescribed) {
  const auto wrong = to_spec(experiment("model_name: none\n", "maxtext"), {}, {.for_training = false});
  size_t count = 0;
  for (const std::string& word : split(wrong.diagnostics()[0].expected, ',')) {
    const std::string name(trim(word));
    if (name == "default") continue;
    EXPECT_GT(spec::count_parameters(model(name), false).total(), 0) << name;
    ++count;
  }
  EXPECT_EQ(count, 82U);
}

TEST(MaxtextModels, DefaultTakesTheUsersSizesAndTheGlobalScaleDoublesThem) {
  const std::string sizes =
      "base_emb_dim: 96\nbase_num_query_heads: 6\nbase_num_kv_heads: 3\nbase_mlp_dim: 160\n"
      "base_num_decoder_layers: 5\nhead_dim: 16\nvocab_size: 777\n";
  const auto m = describe_model(sizes).model;
  EXPECT_EQ(m.hidden_size, 96);
  EXPECT_EQ(m.layers.size(), 5U);
  EXPECT_EQ(m.vocab_size, 777);
  EXPECT_EQ(m.padded_vocab_size, 777);
  const auto wide = describe_model(sizes + "global_parameter_scale: 32\n").model;  // 2^5: one round, and two steps more
  EXPECT_EQ(wide.hidden_size, 96 * 4);
  EXPECT_EQ(wide.layers[0].attention.num_heads, 6 * 4);
  EXPECT_EQ(wide.layers[0].mlp.ffn_size, 160 * 4);
  EXPECT_EQ(wide.layers.size(), 10U);
  EXPECT_FALSE(to_spec(experiment(sizes + "global_parameter_scale: 3\n", "maxtext"), {}, {.for_training = false}).ok());
}

}  // namespace
}  // namespace primus::dialect
