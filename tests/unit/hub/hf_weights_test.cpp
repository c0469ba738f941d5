// Names, shapes and places of every family's tensors.
#include "primus/hub/hf_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "hf_sample.h"

#include "primus/spec/model_size.h"

namespace primus::hub {
namespace {

using test::golden_config;
using test::tiny_model;
using test::tiny_models;
using test::TinyModel;
using ::testing::HasSubstr;

std::map<std::string, HfTensor> by_name(std::vector<HfTensor> tensors) {
  std::map<std::string, HfTensor> map;
  for (HfTensor& tensor : tensors) map.emplace(tensor.name, tensor);
  return map;
}

std::map<std::string, HfTensor> tensors_of(const TinyModel& tiny, const HasTensor& has = {}) {
  return by_name(value_or_throw(hf_weights_in(tiny.hf.model, tiny.hf.family, has)));
}

void expect_sound(const std::vector<HfTensor>& tensors, const spec::Model& model, const std::string& name) {
  int64_t weights = 0;
  std::set<std::string> pieces, names;
  for (const HfTensor& tensor : tensors) {
    EXPECT_EQ(coverage_fault(tensor), "") << name;
    EXPECT_TRUE(names.insert(tensor.name).second) << name << " " << tensor.name;
    for (const WeightPart& part : tensor.parts) {
      EXPECT_TRUE(pieces.insert(part.piece).second) << name << " " << part.piece;
      if (!tensor.buffer) weights += part.rows() * part.cols();
    }
  }
  EXPECT_EQ(weights, spec::count_parameters(model, false).total()) << name;
}

TEST(HfWeights, PartsOfEveryFamilyCoverTheirTensorsAndHoldTheWholeModel) {
  std::set<std::string> families;
  for (const TinyModel& tiny : tiny_models()) {
    expect_sound(value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family)), tiny.hf.model, tiny.name);
    families.insert(tiny.hf.family);
  }
  families.insert("kimi_k2");
  const std::vector<std::string> all = hf_families();
  EXPECT_EQ(families, std::set<std::string>(all.begin(), all.end()));
}

TEST(HfWeights, EveryFormThatIsReadCoversItsTensorsToo) {
  for (const char* ending : {"experts.gate_up_proj", "experts.gate_up_proj_blocks"})
    for (const TinyModel& tiny : tiny_models(3)) {
      const auto has = [&](const std::string& name) { return name.ends_with(ending); };
      expect_sound(value_or_throw(hf_weights_in(tiny.hf.model, tiny.hf.family, has)), tiny.hf.model, tiny.name);
    }
}

TEST(HfWeights, FurtherPredictionsAreLayersBehindTheLast) {
  for (const char* name : {"tiny_deepseek_v3_0", "tiny_glm4_moe_2"}) {
    TinyModel tiny = tiny_model(name, golden_config(name));
    tiny.hf.model.mtp = spec::MultiTokenPrediction{.depth = 2};
    const auto tensors = value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family));
    expect_sound(tensors, tiny.hf.model, name);
    const auto map = by_name(tensors);
    const std::string prefix = "model.layers." + std::to_string(tiny.hf.model.layers.size() + 1) + ".";
    EXPECT_EQ(map.at(prefix + "eh_proj.weight").parts[0].piece, "mtp.1.proj.weight");
    EXPECT_EQ(map.at(prefix + "enorm.weight").parts[0].piece, "mtp.1.enorm.weight");
    EXPECT_EQ(map.at(prefix + "hnorm.weight").parts[0].piece, "mtp.1.hnorm.weight");
    EXPECT_EQ(map.at(prefix + "shared_head.norm.weight").parts[0].piece, "mtp.1.final_norm.weight");
    EXPECT_EQ(map.at(prefix + "input_layernorm.weight").parts[0].piece, "mtp.1.layer.attn_norm.weight");
  }
}

// B051: equal shapes hide a swap.
TEST(HfWeights, NormNamesMeanWhatTheFamilyMeansByThem) {
  const auto piece = [](const std::string& name, const std::string& tensor) {
    const TinyModel tiny = name == "grok-1"   ? tiny_model(name, test::tiny_grok())
                           : name == "grok-2" ? tiny_model(name, test::tiny_grok2())
                                              : tiny_model(name, golden_config(name));
    return tensors_of(tiny).at("model.layers.1." + tensor).parts[0].piece;
  };
  EXPECT_EQ(piece("tiny_llama_0", "post_attention_layernorm.weight"), "layer.1.mlp_norm.weight");
  EXPECT_EQ(piece("tiny_gemma2_0", "post_attention_layernorm.weight"), "layer.1.attn_post_norm.weight");
  EXPECT_EQ(piece("tiny_gemma2_0", "pre_feedforward_layernorm.weight"), "layer.1.mlp_norm.weight");
  EXPECT_EQ(piece("tiny_gemma2_0", "post_feedforward_layernorm.weight"), "layer.1.mlp_post_norm.weight");
  EXPECT_EQ(piece("tiny_olmo2_0", "post_attention_layernorm.weight"), "layer.1.attn_post_norm.weight");
  EXPECT_EQ(piece("tiny_olmo2_0", "post_feedforward_layernorm.weight"), "layer.1.mlp_post_norm.weight");
  EXPECT_EQ(piece("tiny_glm4_0", "post_self_attn_layernorm.weight"), "layer.1.attn_post_norm.weight");
  EXPECT_EQ(piece("tiny_glm4_0", "post_attention_layernorm.weight"), "layer.1.mlp_norm.weight");
  EXPECT_EQ(piece("tiny_glm4_0", "post_mlp_layernorm.weight"), "layer.1.mlp_post_norm.weight");
  EXPECT_EQ(piece("grok-1", "pre_moe_norm.scale"), "layer.1.mlp_norm.weight");
  EXPECT_EQ(piece("grok-1", "post_attn_norm.scale"), "layer.1.attn_post_norm.weight");
  EXPECT_EQ(piece("grok-2", "mlp.up_proj.weight"), "layer.1.moe.shared.up.weight");
  EXPECT_EQ(piece("grok-2", "block_sparse_moe.experts.2.w3.weight"), "layer.1.moe.expert.2.up.weight");
  EXPECT_EQ(piece("grok-1", "moe_block.experts.2.linear_v.weight"), "layer.1.moe.expert.2.up.weight");
  EXPECT_EQ(piece("tiny_mixtral_0", "block_sparse_moe.experts.1.w3.weight"), "layer.1.moe.expert.1.up.weight");
  EXPECT_EQ(piece("tiny_mixtral_0", "block_sparse_moe.experts.1.w2.weight"), "layer.1.moe.expert.1.down.weight");
  EXPECT_EQ(piece("tiny_deepseek_v2_1", "self_attn.kv_a_layernorm.weight"), "layer.1.attn.kv_a_norm.weight");
}

// Element (r, c) of a piece lies at this index of the stored tensor.
std::vector<int64_t> index_of(const HfTensor& tensor, const std::string& piece, int64_t r, int64_t c) {
  for (const WeightPart& part : tensor.parts) {
    if (part.piece != piece) continue;
    int64_t at = part.offset + r * part.row_stride + c * part.col_stride;
    std::vector<int64_t> index(tensor.shape.size());
    for (size_t d = index.size(); d-- > 0; at /= tensor.shape[d]) index[d] = at % tensor.shape[d];
    return index;
  }
  return {};
}

using Index = std::vector<int64_t>;

TEST(HfWeights, Gpt2StoresInputsFirstAndQueriesKeysAndValuesAsThirds) {
  const TinyModel tiny = tiny_model("tiny_gpt2_0", golden_config("tiny_gpt2_0"));
  const auto map = tensors_of(tiny);
  const int64_t h = tiny.hf.model.hidden_size;
  const HfTensor& fused = map.at("transformer.h.1.attn.c_attn.weight");
  EXPECT_EQ(fused.shape, (Index{h, 3 * h}));
  EXPECT_EQ(index_of(fused, "layer.1.attn.q.weight", 2, 5), (Index{5, 2}));
  EXPECT_EQ(index_of(fused, "layer.1.attn.k.weight", 2, 5), (Index{5, h + 2}));
  EXPECT_EQ(index_of(fused, "layer.1.attn.v.weight", 2, 5), (Index{5, 2 * h + 2}));
  EXPECT_EQ(index_of(map.at("transformer.h.1.attn.c_attn.bias"), "layer.1.attn.v.bias", 3, 0), (Index{2 * h + 3}));
  EXPECT_EQ(index_of(map.at("transformer.h.1.mlp.c_proj.weight"), "layer.1.mlp.down.weight", 1, 7), (Index{7, 1}));
  EXPECT_EQ(index_of(map.at("transformer.wpe.weight"), "embed.position.weight", 3, 4), (Index{3, 4}));
  EXPECT_EQ(map.at("transformer.h.0.ln_2.bias").parts[0].piece, "layer.0.mlp_norm.bias");
}

TEST(HfWeights, GptOssTakesTurnsBetweenGateAndUp) {
  const TinyModel tiny = tiny_model("tiny_gpt_oss_0", golden_config("tiny_gpt_oss_0"));
  const auto map = tensors_of(tiny);
  const std::string experts = "model.layers.1.mlp.experts.", piece = "layer.1.moe.expert.2.";
  EXPECT_EQ(index_of(map.at(experts + "gate_up_proj"), piece + "gate.weight", 4, 7), (Index{2, 7, 8}));
  EXPECT_EQ(index_of(map.at(experts + "gate_up_proj"), piece + "up.weight", 4, 7), (Index{2, 7, 9}));
  EXPECT_EQ(index_of(map.at(experts + "gate_up_proj_bias"), piece + "up.bias", 4, 0), (Index{2, 9}));
  EXPECT_EQ(index_of(map.at(experts + "down_proj"), piece + "down.weight", 4, 7), (Index{2, 7, 4}));
  // MXFP4: outputs first, rows taking turns.
  const auto packed = tensors_of(tiny, [](const std::string& name) { return name.ends_with("_blocks"); });
  const HfTensor& gate_up = packed.at(experts + "gate_up_proj");
  EXPECT_EQ(gate_up.storage, HfStorage::Mxfp4);
  EXPECT_EQ(index_of(gate_up, piece + "gate.weight", 4, 7), (Index{2, 8, 7}));
  EXPECT_EQ(index_of(gate_up, piece + "up.weight", 4, 7), (Index{2, 9, 7}));
  EXPECT_EQ(index_of(packed.at(experts + "down_proj"), piece + "down.weight", 4, 7), (Index{2, 4, 7}));
}

TEST(HfWeights, Llama4AndGlm4PutTheGateInFrontOfTheUpHalf) {
  const TinyModel tiny = tiny_model("tiny_llama4_text_0", golden_config("tiny_llama4_text_0"));
  const int64_t f = tiny.hf.model.layers[0].moe->expert.ffn_size;
  const HfTensor stack = tensors_of(tiny).at("model.layers.0.feed_forward.experts.gate_up_proj");
  EXPECT_EQ(index_of(stack, "layer.0.moe.expert.3.gate.weight", 4, 7), (Index{3, 7, 4}));
  EXPECT_EQ(index_of(stack, "layer.0.moe.expert.3.up.weight", 4, 7), (Index{3, 7, f + 4}));
  const TinyModel glm = tiny_model("tiny_glm4_0", golden_config("tiny_glm4_0"));
  const int64_t g = glm.hf.model.layers[0].mlp.ffn_size;
  const HfTensor fused = tensors_of(glm).at("model.layers.0.mlp.gate_up_proj.weight");
  EXPECT_EQ(index_of(fused, "layer.0.mlp.gate.weight", 4, 7), (Index{4, 7}));
  EXPECT_EQ(index_of(fused, "layer.0.mlp.up.weight", 4, 7), (Index{g + 4, 7}));
}

TEST(HfWeights, ExpertsStackedInMemoryHaveOutputsFirst) {
  const TinyModel tiny = tiny_model("tiny_mixtral_0", golden_config("tiny_mixtral_0"));
  const auto has = [](const std::string& name) { return name.starts_with("model.layers.1.mlp."); };
  const auto map = tensors_of(tiny, has);
  const int64_t f = tiny.hf.model.layers[1].moe->expert.ffn_size;
  EXPECT_TRUE(map.contains("model.layers.1.mlp.gate.weight"));
  EXPECT_TRUE(map.contains("model.layers.0.block_sparse_moe.experts.0.w1.weight"));
  const HfTensor& stack = map.at("model.layers.1.mlp.experts.gate_up_proj");
  EXPECT_EQ(index_of(stack, "layer.1.moe.expert.1.gate.weight", 4, 7), (Index{1, 4, 7}));
  EXPECT_EQ(index_of(stack, "layer.1.moe.expert.1.up.weight", 4, 7), (Index{1, f + 4, 7}));
}

TEST(HfWeights, PublishedSpellingsAreFound) {
  const auto spelled = [](const char* name, const std::string& there) {
    return tensors_of(tiny_model(name, golden_config(name)), [&](const std::string& n) { return n == there; })
        .contains(there);
  };
  EXPECT_TRUE(spelled("tiny_gpt2_0", "h.0.attn.c_attn.weight"));
  EXPECT_TRUE(spelled("tiny_llama_0", "layers.0.self_attn.q_proj.weight"));
  EXPECT_TRUE(spelled("tiny_llama4_text_0", "language_model.model.layers.0.self_attn.q_proj.weight"));
  EXPECT_TRUE(spelled("tiny_llama4_text_0", "model.language_model.norm.weight"));
  EXPECT_FALSE(spelled("tiny_llama_0", "language_model.model.norm.weight"));
}

TEST(HfWeights, TheBiasOnTheChoiceIsABuffer) {
  const auto map = tensors_of(tiny_model("tiny_deepseek_v3_1", golden_config("tiny_deepseek_v3_1")));
  int buffers = 0;
  for (const auto& [name, tensor] : map) {
    EXPECT_EQ(tensor.buffer, name.ends_with("e_score_correction_bias")) << name;
    buffers += tensor.buffer ? 1 : 0;
  }
  EXPECT_GT(buffers, 0);
}

TEST(HfWeights, WhatAFamilyHasNoTensorForIsRefusedByName) {
  TinyModel tiny = tiny_model("tiny_llama_0", golden_config("tiny_llama_0"));
  tiny.hf.model.layers[1].moe.emplace().num_experts = 4;
  tiny.hf.model.layers[0].mlp_output_norm = spec::Norm{};
  const auto refused = hf_weights(tiny.hf.model, "llama");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.diagnostics().size(), 2U);
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("the family llama has no tensor for experts"));
  EXPECT_THAT(render(refused.diagnostics()), HasSubstr("the norm 'mlp_post_norm'"));
  const auto unknown = hf_weights(tiny.hf.model, "lama");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.diagnostics()[0].suggestion, HasSubstr("llama"));
}

TEST(HfWeights, SizesThatNoMemoryHoldsAreRefusedBeforeTheyAreBuilt) {
  for (const auto& [key, size] : {std::pair<const char*, int64_t>{"num_local_experts", 4'000'000'000'000},
                                  {"num_local_experts", 900'000'000},
                                  {"hidden_size", int64_t{1} << 62},
                                  {"intermediate_size", int64_t{1} << 62},
                                  {"head_dim", int64_t{1} << 62},
                                  {"vocab_size", int64_t{1} << 62}}) {
    Json config = golden_config("tiny_mixtral_0");
    config[key] = size;
    const auto hf = read_hf_config(config, "config.json");
    EXPECT_TRUE(!hf.ok() || !hf_weights(hf->model, "mixtral").ok()) << key;
  }
}

TEST(HfWeights, ACoverageFaultIsDescribed) {
  HfTensor tensor{.name = "t", .shape = {2, 3}, .parts = {{"a", {2, 2}, 0, 3, 1}}};
  EXPECT_THAT(coverage_fault(tensor), HasSubstr("4 of its 6"));
  tensor.parts.push_back({"b", {2}, 1, 3, 0});
  EXPECT_THAT(coverage_fault(tensor), HasSubstr("taken twice"));
  tensor.parts[1] = {"b", {2}, 5, 3, 0};
  EXPECT_THAT(coverage_fault(tensor), HasSubstr("reaches out"));
  tensor.parts[1] = {"b", {2}, 2, 3, 0};
  EXPECT_EQ(coverage_fault(tensor), "");
}

}  // namespace
}  // namespace primus::hub
