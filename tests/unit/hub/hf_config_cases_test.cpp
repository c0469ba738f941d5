// What config.json files of other hands say: each case as transformers 5.24 computes it, or refused where it refuses.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/base/check.h"
#include "primus/hub/hf_config.h"

namespace primus::hub {
namespace {

using ::testing::HasSubstr;

Json small(const char* family, const Json& more) {
  Json config = {{"model_type", family},         {"hidden_size", 64},        {"num_hidden_layers", 2},
                 {"num_attention_heads", 8},     {"intermediate_size", 100}, {"vocab_size", 99},
                 {"num_key_value_heads", 8},     {"pad_token_id", nullptr},  {"tie_word_embeddings", false},
                 {"max_position_embeddings", 77}};
  config.update(more);
  return config;
}

spec::Model model_of(const char* family, const Json& more) {
  auto read = read_hf_config(small(family, more), "config.json");
  PRIMUS_CHECK(read.ok(), render(read.diagnostics()));
  return read->model;
}

std::string refusal(const char* family, const Json& more) {
  const auto read = read_hf_config(small(family, more), "config.json");
  return read.ok() ? "" : render(read.diagnostics());
}

Json rope(const char* type, const Json& more = Json::object()) {
  Json block = {{"rope_type", type}, {"rope_theta", 100.0}};
  block.update(more);
  return {{"rope_parameters", block}};
}

TEST(HfConfigCases, AScalingMustSayItsFactors) {
  for (const char* type : {"linear", "yarn", "llama3", "dynamic"})
    EXPECT_THAT(refusal("llama", rope(type)), HasSubstr("says nothing of its 'factor'")) << type;
  EXPECT_THAT(refusal("llama", rope("llama3", {{"factor", 8}, {"high_freq_factor", 4}})),
              HasSubstr("says nothing of its 'low_freq_factor'"));
  // Null is said: the ratio of the positions stands in.
  EXPECT_EQ(refusal("llama", rope("yarn", {{"factor", nullptr}, {"original_max_position_embeddings", 11}})), "");
}

TEST(HfConfigCases, DynamicRopeIsPlainWithinThePositions) {
  const auto plain = model_of("llama", rope("default")).layers[0].attention.rope;
  const auto dynamic = model_of("llama", rope("dynamic", {{"factor", 4.0}})).layers[0].attention.rope;
  EXPECT_EQ(dynamic->base, plain->base);
  EXPECT_EQ(dynamic->position_divisor, 1);
  EXPECT_FALSE(dynamic->yarn || dynamic->llama3);
}

TEST(HfConfigCases, TheOldBlockCountsWhereTheNewOneIsEmptyAndTwoThatDifferAreRefused) {
  const Json old = {{"rope_type", "linear"}, {"factor", 3.0}};
  EXPECT_EQ(model_of("llama", {{"rope_parameters", Json::object()}, {"rope_scaling", old}})
                .layers[0]
                .attention.rope->position_divisor,
            3);
  EXPECT_EQ(model_of("llama", {{"rope_parameters", old}, {"rope_scaling", old}}).layers[0].attention.rope->base, 10000);
  EXPECT_THAT(refusal("llama", {{"rope_parameters", {{"rope_type", "default"}}}, {"rope_scaling", old}}),
              HasSubstr("two names of one thing"));
  const Json by_layer = {{"full_attention", old}, {"sliding_attention", old}};
  const auto read = read_hf_config(small("llama", {{"rope_parameters", by_layer}}), "config.json");
  EXPECT_EQ(read.diagnostics().size(), 1U) << render(read.diagnostics());
}

TEST(HfConfigCases, GptOssScalesByDefaultOnlyWhereNothingIsSaid) {
  EXPECT_TRUE(model_of("gpt_oss", Json::object()).layers[0].attention.rope->yarn);
  EXPECT_TRUE(model_of("gpt_oss", {{"rope_scaling", nullptr}}).layers[0].attention.rope->yarn);
  EXPECT_FALSE(model_of("gpt_oss", {{"rope_parameters", Json::object()}}).layers[0].attention.rope->yarn);
}

TEST(HfConfigCases, OnlyFamiliesThatKnowItRotateAPartOfAHead) {
  const Json half = {{"partial_rotary_factor", 0.5}};
  for (const char* family : {"llama", "qwen3", "mistral", "gpt_oss"}) {
    EXPECT_EQ(model_of(family, rope("default", half)).layers[0].attention.rope->fraction, 1) << family;
    Json scaled = rope("linear", half);
    scaled["rope_parameters"]["factor"] = 2;
    EXPECT_THAT(refusal(family, scaled), HasSubstr("'partial_rotary_factor' is not of this family")) << family;
  }
  EXPECT_EQ(model_of("glm4", rope("default", half)).layers[0].attention.rope->fraction, 0.5);
}

TEST(HfConfigCases, WhatNoEngineCanComputeIsRefusedWithTheFile) {
  const Json odd_part = {{"head_dim", 10}, {"partial_rotary_factor", 0.5}};
  const std::vector<std::pair<std::string, std::string>> cases = {
      {refusal("llama", {{"head_dim", 7}}), "rotary positions turn pairs"},
      {refusal("glm4", odd_part), "rotary positions turn pairs"},
      {refusal("mixtral", {{"num_local_experts", 4}, {"num_experts_per_tok", 5}}), "5 of 4 experts"},
      {refusal("deepseek_v3", {{"first_k_dense_replace", 1}, {"n_routed_experts", 6}, {"n_group", 4}}),
       "cannot be shared out over 4 groups"},
      {refusal("deepseek_v3", {{"first_k_dense_replace", 1}, {"n_group", 2}, {"topk_group", 3}}), "3 of 2 groups"}};
  for (const auto& [found, wanted] : cases) {
    EXPECT_THAT(found, HasSubstr(wanted));
    EXPECT_THAT(found, HasSubstr("config.json: error"));
  }
}

TEST(HfConfigCases, AWindowHoldsAKeyAtLeast) {
  for (const char* family : {"mistral", "mixtral"})
    EXPECT_THAT(refusal(family, {{"sliding_window", 0}}), HasSubstr("a window of 0 keys")) << family;
  for (const char* family : {"qwen2", "qwen3", "qwen3_moe"}) {
    EXPECT_THAT(refusal(family, {{"sliding_window", 0}, {"use_sliding_window", true}}), HasSubstr("a window of 0 keys"))
        << family;
    EXPECT_EQ(refusal(family, {{"sliding_window", 0}, {"use_sliding_window", false}}), "") << family;
  }
}

TEST(HfConfigCases, LayerTypesAreOneAKnownTypeForEveryLayer) {
  for (const char* family : {"mistral", "gemma2", "gpt_oss", "llama4_text", "lfm2", "lfm2_moe", "qwen3_next"}) {
    EXPECT_THAT(refusal(family, {{"layer_types", {"full_attention"}}}), HasSubstr("names 1 layers of 2")) << family;
    EXPECT_THAT(refusal(family, {{"layer_types", {"full_attention", "ring"}}}), HasSubstr("the type 'ring'")) << family;
  }
}

TEST(HfConfigCases, AWindowedLayerNeedsAWindow) {
  const Json types = {"full_attention", "sliding_attention"};
  for (const char* family : {"qwen2", "qwen3"})
    EXPECT_THAT(refusal(family, {{"layer_types", types}, {"sliding_window", 3}, {"use_sliding_window", false}}),
                HasSubstr("layer 1 is a sliding_attention, and there is no window"))
        << family;
  EXPECT_THAT(refusal("mistral", {{"layer_types", types}, {"sliding_window", nullptr}}), HasSubstr("no window"));
  EXPECT_THAT(refusal("gemma2", {{"sliding_window", nullptr}}), HasSubstr("no window"));
}

TEST(HfConfigCases, GemmasGeluIsTheFormWithTanh) {
  for (const char* word : {"gelu", "gelu_pytorch_tanh"})
    EXPECT_EQ(model_of("gemma", {{"hidden_act", word}}).layers[0].mlp.activation, spec::Activation::GeluTanh) << word;
  EXPECT_EQ(model_of("llama", {{"hidden_act", "gelu"}}).layers[0].mlp.activation, spec::Activation::Gelu);
}

TEST(HfConfigCases, ANegativePaddingIdCountsFromTheEnd) {
  EXPECT_EQ(model_of("llama", {{"pad_token_id", -1}}).padding_id, 98);
  EXPECT_EQ(model_of("llama", {{"pad_token_id", -99}}).padding_id, 0);
  for (const int id : {-100, 99})
    EXPECT_THAT(refusal("llama", {{"pad_token_id", id}}), HasSubstr("outside of the vocabulary")) << id;
}

TEST(HfConfigCases, Llama4TakesChunksFromTheTypesAndExpertsFromTheList) {
  const Json base = {{"intermediate_size_mlp", 30}, {"no_rope_layers", {1, 0}}, {"attention_chunk_size", 5}};
  const auto with = [&](const Json& more) {
    Json all = base;
    all.update(more);
    return all;
  };
  const auto chunks = [](const spec::Model& m) {
    return std::pair(m.layers[0].attention.chunk_size.has_value(), m.layers[1].attention.chunk_size.has_value());
  };
  EXPECT_EQ(chunks(model_of("llama4_text", base)), std::pair(true, false));
  const spec::Model turned = model_of("llama4_text", with({{"layer_types", {"full_attention", "chunked_attention"}}}));
  EXPECT_EQ(chunks(turned), std::pair(false, true));
  EXPECT_TRUE(turned.layers[0].attention.rope && !turned.layers[1].attention.rope);
  const Json no_chunk = {{"layer_types", {"full_attention", "chunked_attention"}}, {"attention_chunk_size", nullptr}};
  EXPECT_THAT(refusal("llama4_text", with(no_chunk)), HasSubstr("no attention_chunk_size"));
  EXPECT_THAT(refusal("llama4_text", with({{"layer_types", {"full_attention"}}})), HasSubstr("1 layers of 2"));
  EXPECT_TRUE(model_of("llama4_text", base).layers[0].moe);
  EXPECT_FALSE(model_of("llama4_text", with({{"moe_layers", Json::array()}})).layers[0].moe);
  EXPECT_FALSE(model_of("llama4_text", with({{"moe_layers", {1}}})).layers[0].moe);
}

TEST(HfConfigCases, DeepseekV3TurnsPairsOrHalves) {
  for (const bool pairs : {true, false}) {
    const spec::Model model = model_of("deepseek_v3", {{"rope_interleave", pairs}, {"first_k_dense_replace", 1}});
    EXPECT_EQ(model.layers[0].attention.rope->interleaved, pairs);
    const auto written = write_hf_config(model, "deepseek_v3");
    ASSERT_TRUE(written.ok()) << render(written.diagnostics());
    EXPECT_EQ(written->at("rope_interleave"), Json(pairs));
  }
}

TEST(HfConfigCases, UnusualModelsAreWrittenBackWithoutALoss) {
  const std::vector<std::pair<const char*, Json>> cases = {
      {"mistral", {{"sliding_window", 3}, {"layer_types", {"full_attention", "sliding_attention"}}}},
      {"deepseek_v2", {{"first_k_dense_replace", 2}, {"num_experts_per_tok", 2}}},
      {"deepseek_v3", {{"first_k_dense_replace", 2}}},
      {"glm4_moe", {{"first_k_dense_replace", 2}}},
      {"qwen3_moe", {{"mlp_only_layers", {0, 1}}}},
      {"llama4_text", {{"moe_layers", Json::array()}}}};
  for (const auto& [family, more] : cases) {
    const auto written = write_hf_config(model_of(family, more), family);
    EXPECT_TRUE(written.ok()) << family << "\n" << render(written.diagnostics());
  }
}

}  // namespace
}  // namespace primus::hub
