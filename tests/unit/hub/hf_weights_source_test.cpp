// Weights in and out of folders: values, places, and what is said of damaged checkpoints.
#include "primus/hub/hf_weights_source.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "hf_sample.h"
#include "temp_folder.h"

#include "primus/base/hash.h"

namespace primus::hub {
namespace {

using test::fill_from_name;
using test::golden_config;
using test::raw;
using test::raw_weights;
using test::RawTensor;
using test::tiny_model;
using test::TinyModel;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> expected_values(const WeightSource& source, const std::string& piece) {
  const auto& shape = source.shape(piece);
  std::vector<float> values(static_cast<size_t>(*num_elements(shape)));
  fill_from_name({piece, shape}, values);
  return values;
}

TEST(WeightSource, GivesBackWhatWasAssembledInEveryFamily) {
  for (const TinyModel& tiny : test::tiny_models(2)) {
    const auto folder = test::TempFolder::in_memory();
    const auto tensors = value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family));
    test::write_weights(folder / "hf", tensors, fill_from_name, Dtype::F32, {.max_shard_bytes = 100'000});
    const auto source = WeightSource::open(folder / "hf", tiny.hf.model, tiny.hf.family, {.refuse_unexpected = true});
    ASSERT_TRUE(source.ok()) << tiny.name << "\n" << render(source.diagnostics());
    EXPECT_TRUE(source.diagnostics().empty());
    EXPECT_EQ(source->report().loaded.size(), tensors.size());
    for (const std::string& piece : source->pieces())
      ASSERT_EQ(values_of(*source, piece), expected_values(*source, piece)) << tiny.name << " " << piece;
  }
}

TEST(WeightSource, AnyRangeOfRowsIsThatPartOfTheWhole) {
  for (const char* name : {"tiny_gpt2_0", "tiny_gpt_oss_0", "tiny_llama4_text_0"}) {
    const TinyModel tiny = tiny_model(name, golden_config(name));
    const auto folder = test::TempFolder::in_memory();
    test::write_weights(folder / "hf", value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family)), fill_from_name);
    const auto source = value_or_throw(WeightSource::open(folder / "hf", tiny.hf.model, tiny.hf.family));
    for (const std::string& piece : source.pieces()) {
      const std::vector<float> whole = values_of(source, piece);
      const int64_t rows = source.shape(piece)[0], cols = static_cast<int64_t>(whole.size()) / rows;
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{1, 4}, {rows / 2, rows}, {rows, rows}}) {
        const std::vector<float> some = test::rows_of(source, piece, begin, end);
        ASSERT_EQ(some, std::vector<float>(whole.begin() + begin * cols, whole.begin() + end * cols)) << piece;
      }
    }
  }
}

// Rows and columns beyond a tile and beyond a run, in each of the stride patterns.
TEST(WeightSource, LargeTurnedAndInterleavedPartsComeBackWhole) {
  Json config = golden_config("tiny_gpt_oss_1");
  config.update(Json{{"hidden_size", 150},
                     {"intermediate_size", 2100},
                     {"num_hidden_layers", 1},
                     {"num_local_experts", 2},
                     {"layer_types", nullptr}});
  const TinyModel tiny = tiny_model("large", config);
  const auto folder = test::TempFolder::in_memory();
  test::write_weights(folder / "hf", value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family)), fill_from_name);
  const auto source = value_or_throw(WeightSource::open(folder / "hf", tiny.hf.model, tiny.hf.family));
  for (const char* piece : {"layer.0.moe.expert.1.up.weight", "layer.0.moe.expert.1.down.weight"})
    EXPECT_EQ(values_of(source, piece), expected_values(source, piece)) << piece;
}

// B051
TEST(WeightSource, EachNormArrivesAtItsPlace) {
  for (const TinyModel& tiny : test::tiny_models(1)) {
    const auto folder = test::TempFolder::in_memory();
    const auto tensors = value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family));
    // By tensor name, as a writer that knows nothing of pieces would fill them.
    std::vector<RawTensor> stored = raw_weights(tensors);
    std::map<std::string, float> constants;
    float next = 1;
    for (size_t i = 0; i < stored.size(); ++i) {
      const std::string& name = stored[i].info.name;
      if (name.find("norm") == std::string::npos && name.find("ln_") == std::string::npos) continue;
      const std::vector<float> values(stored[i].bytes.size() / 4, next);
      std::memcpy(stored[i].bytes.data(), values.data(), stored[i].bytes.size());
      constants[tensors[i].parts[0].piece] = next++;
    }
    test::write_file(folder / "model.safetensors", stored);
    const auto source = value_or_throw(WeightSource::open(folder.path(), tiny.hf.model, tiny.hf.family));
    EXPECT_GT(constants.size(), 2U);
    for (const auto& [piece, value] : constants)
      for (const float got : values_of(source, piece)) ASSERT_EQ(got, value) << tiny.name << " " << piece;
  }
}

struct Damaged {
  test::TempFolder folder = test::TempFolder::in_memory();
  TinyModel tiny;
  std::vector<HfTensor> tensors;
  std::vector<RawTensor> stored;

  explicit Damaged(const std::string& name, const Json& more = Json::object())
      : tiny(tiny_model(name, with(name, more))) {
    tensors = value_or_throw(hf_weights(tiny.hf.model, tiny.hf.family));
    stored = raw_weights(tensors);
  }
  static Json with(const std::string& name, const Json& more) {
    Json config = golden_config(name);
    config.update(more);
    return config;
  }
  RawTensor& at(const std::string& name) {
    for (RawTensor& one : stored)
      if (one.info.name == name) return one;
    throw std::runtime_error("no " + name);
  }
  void erase(const std::string& name) {
    std::erase_if(stored, [&](const RawTensor& one) { return one.info.name == name; });
  }
  Result<WeightSource> open(const WeightSourceOptions& options = {}) {
    test::write_file(folder / "model.safetensors", stored);
    return WeightSource::open(folder.path(), tiny.hf.model, tiny.hf.family, options);
  }
};

// B056
TEST(WeightSource, TurnedMissingExtraAndOtherTypesGiveFourMessages) {
  Damaged d("tiny_qwen3_0");
  const std::string layer = "model.layers.1.";
  RawTensor& down = d.at(layer + "mlp.down_proj.weight");
  std::swap(down.info.shape[0], down.info.shape[1]);
  const std::string turned = format_shape(down.info.shape);
  d.erase(layer + "self_attn.k_norm.weight");
  d.stored.push_back(raw("model.layers.1.self_attn.x_norm.weight", Dtype::F32, {2}, std::vector<float>{1, 2}));
  RawTensor& norm = d.at("model.norm.weight");
  norm.info.dtype = Dtype::I32;
  const auto opened = d.open();
  ASSERT_FALSE(opened.ok());
  const Diagnostics& all = opened.diagnostics();
  ASSERT_EQ(all.size(), 4U) << render(all);
  EXPECT_EQ(all[0].key, layer + "mlp.down_proj.weight");
  EXPECT_EQ(all[0].found, turned);
  EXPECT_EQ(all[0].suggestion, "the tensor is transposed");
  EXPECT_EQ(all[1].key, "model.norm.weight");
  EXPECT_EQ(all[1].found, "I32");
  EXPECT_THAT(all[2].message, HasSubstr("1 tensor is missing: model.layers.1.self_attn.k_norm.weight"));
  EXPECT_THAT(all[3].message, HasSubstr("1 tensor is not of this model: model.layers.1.self_attn.x_norm.weight"));
}

TEST(WeightSource, AnUnexpectedTensorWarnsOrIsRefused) {
  Damaged d("tiny_llama_0");
  d.stored.push_back(raw("score.weight", Dtype::F32, {2}, std::vector<float>{1, 2}));
  const auto opened = d.open();
  ASSERT_TRUE(opened.ok());
  ASSERT_EQ(opened.diagnostics().size(), 1U);
  EXPECT_EQ(opened.diagnostics()[0].severity, Severity::Warning);
  EXPECT_THAT(opened->report().unexpected, ElementsAre("score.weight"));
  EXPECT_THAT(opened->report().summary(), HasSubstr("missing 0, unexpected 1: score.weight"));
  EXPECT_FALSE(d.open({.refuse_unexpected = true}).ok());
}

// B045
TEST(WeightSource, TiedAndUntiedHeadsStoredAndAbsent) {
  Damaged untied("tiny_qwen2_0", {{"tie_word_embeddings", false}});
  EXPECT_TRUE(untied.open().ok());
  untied.erase("lm_head.weight");
  const auto absent = untied.open();
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(render(absent.diagnostics()), HasSubstr("tie_word_embeddings"));

  Damaged tied("tiny_qwen2_0", {{"tie_word_embeddings", true}});
  EXPECT_TRUE(tied.open().ok());
  tied.stored.push_back(tied.at("model.embed_tokens.weight"));
  tied.stored.back().info.name = "lm_head.weight";
  const auto copied = tied.open({.refuse_unexpected = true});
  ASSERT_TRUE(copied.ok()) << render(copied.diagnostics());
  EXPECT_THAT(copied->report().ignored, ElementsAre("lm_head.weight"));
  tied.stored.back().bytes[17] ^= std::byte{1};
  const auto other = tied.open();
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.diagnostics()[0].message, HasSubstr("not the copy of 'model.embed_tokens.weight'"));
  // Only the head is stored: it is the embedding.
  tied.erase("model.embed_tokens.weight");
  const auto only = tied.open({.refuse_unexpected = true});
  ASSERT_TRUE(only.ok()) << render(only.diagnostics());
  EXPECT_THAT(only->report().loaded, ::testing::Contains("lm_head.weight"));
}

TEST(WeightSource, BuffersThatHoldNoWeightAreIgnored) {
  Damaged llama("tiny_llama_0");
  llama.stored.push_back(
      raw("model.layers.0.self_attn.rotary_emb.inv_freq", Dtype::F32, {2}, std::vector<float>{1, 2}));
  EXPECT_TRUE(llama.open({.refuse_unexpected = true}).ok());
  Damaged gpt2("tiny_gpt2_0");
  gpt2.stored.push_back(raw("transformer.h.0.attn.bias", Dtype::Bool, {1, 1, 2, 2}, std::vector<uint8_t>{1, 0, 1, 1}));
  gpt2.stored.push_back(raw("transformer.h.0.attn.masked_bias", Dtype::F32, {}, std::vector<float>{-1e4F}));
  EXPECT_TRUE(gpt2.open({.refuse_unexpected = true}).ok());
  Damaged wrong("tiny_llama_0");
  wrong.stored.push_back(raw("model.layers.0.attn.bias", Dtype::F32, {1}, std::vector<float>{1}));
  EXPECT_FALSE(wrong.open({.refuse_unexpected = true}).ok());
}

TEST(WeightSource, PublishedPrefixesAreReadAndThePictureHalfIsLeftOut) {
  Damaged gpt2("tiny_gpt2_1");
  for (RawTensor& one : gpt2.stored)
    if (one.info.name.starts_with("transformer.")) one.info.name = one.info.name.substr(12);
  EXPECT_TRUE(gpt2.open({.refuse_unexpected = true}).ok());
  Damaged llama4("tiny_llama4_text_0");
  for (RawTensor& one : llama4.stored) one.info.name = "language_model." + one.info.name;
  llama4.stored.push_back(raw("vision_model.class_embedding", Dtype::BF16, {2}, std::vector<uint16_t>{1, 2}));
  const auto opened = llama4.open({.refuse_unexpected = true});
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  EXPECT_EQ(values_of(*opened, "layer.0.attn.q.weight"), expected_values(*opened, "layer.0.attn.q.weight"));
}

TEST(WeightSource, LayersOfFurtherPredictionAreReadOrLeftOut) {
  Damaged d("tiny_deepseek_v3_0");
  spec::Model with = d.tiny.hf.model;
  with.mtp = spec::MultiTokenPrediction{.depth = 1};
  d.tensors = value_or_throw(hf_weights(with, d.tiny.hf.family));
  d.stored = raw_weights(d.tensors);
  const std::string last = "model.layers." + std::to_string(with.layers.size()) + ".";
  for (const auto& [name, of] :
       {std::pair("embed_tokens.weight", "model.embed_tokens.weight"),
        std::pair("shared_head.head.weight", with.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight")}) {
    d.stored.push_back(d.at(of));
    d.stored.back().info.name = last + name;
  }
  ASSERT_TRUE(d.open({.refuse_unexpected = true}).ok());
  d.tiny.hf.model = with;
  const auto opened = d.open({.refuse_unexpected = true});
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  EXPECT_EQ(values_of(*opened, "mtp.0.proj.weight"), expected_values(*opened, "mtp.0.proj.weight"));
  d.at(last + "shared_head.head.weight").bytes[3] ^= std::byte{1};
  EXPECT_FALSE(d.open().ok());
  // Layers beyond the model that predict nothing further are a deeper model's.
  d.erase(last + "eh_proj.weight");
  d.tiny.hf.model.mtp.reset();
  EXPECT_FALSE(d.open({.refuse_unexpected = true}).ok());
}

TEST(WeightSource, StackedExpertsAreReadAsWellAsSingleOnes) {
  Damaged d("tiny_qwen3_moe_1");
  const auto stacked_form = value_or_throw(hf_weights_in(
      d.tiny.hf.model, d.tiny.hf.family, [](const std::string& name) { return name.ends_with("gate_up_proj"); }));
  EXPECT_LT(stacked_form.size(), d.tensors.size());
  d.stored = raw_weights(stacked_form);
  const auto opened = d.open({.refuse_unexpected = true});
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  for (const std::string& piece : opened->pieces())
    ASSERT_EQ(values_of(*opened, piece), expected_values(*opened, piece)) << piece;
}

TEST(WeightSource, Fp8WithPartialBlocksIsDecoded) {
  Damaged d("tiny_deepseek_v3_0");
  write_file_atomic(d.folder / "config.json",
                    R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 12]}})");
  const std::string name = "model.layers.0.self_attn.kv_b_proj.weight";
  RawTensor& weight = d.at(name);
  const int64_t rows = weight.info.shape[0], cols = weight.info.shape[1];
  const int64_t down = (rows + 15) / 16, across = (cols + 11) / 12;
  ASSERT_NE(rows % 16 + cols % 12, 0);
  std::vector<uint8_t> q(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<uint8_t>(i * 37 % 127);
  std::vector<float> scales(static_cast<size_t>(down * across));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.5F + static_cast<float>(i);
  weight = raw(name, Dtype::F8E4M3, {rows, cols}, q);
  d.stored.push_back(raw(name + "_scale_inv", Dtype::F32, {down, across}, scales));
  const auto opened = d.open({.refuse_unexpected = true});
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  EXPECT_EQ(opened->stored_dtype("layer.0.attn.kv_b.weight"), Dtype::F8E4M3);
  const std::vector<float> got = test::rows_of(*opened, "layer.0.attn.kv_b.weight", 5, rows);
  for (int64_t r = 5; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      ASSERT_EQ(
          got[static_cast<size_t>((r - 5) * cols + c)],
          e4m3_to_float(q[static_cast<size_t>(r * cols + c)]) * scales[static_cast<size_t>(r / 16 * across + c / 12)]);
  d.stored.back().info.shape = {across * down, 1};
  const auto other = d.open();
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.diagnostics()[0].expected, "F32 " + format_shape({down, across}));
  d.stored.pop_back();
  const auto none = d.open();
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.diagnostics()[0].message, HasSubstr(name + "_scale_inv"));
}

TEST(WeightSource, Mxfp4ExpertsAreDecodedWithoutATurn) {
  Damaged d("tiny_gpt_oss_1", {{"hidden_size", 64}, {"intermediate_size", 96}});
  const std::string stem = "model.layers.0.mlp.experts.";
  const int64_t e = d.tiny.hf.model.layers[0].moe->num_experts, h = 64, f = 96;
  std::map<std::string, std::vector<float>> plain;
  for (const auto& [name, rows, cols] :
       {std::tuple<std::string, int64_t, int64_t>{"gate_up_proj", 2 * f, h}, {"down_proj", h, f}}) {
    d.erase(stem + name);
    const int64_t count = e * rows * cols;
    std::vector<uint8_t> packed(static_cast<size_t>(count / 2)), scales(static_cast<size_t>(count / 32));
    for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i * 29 + i / 256);
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<uint8_t>(120 + i % 11);
    const float lut[] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.0F, -.5, -1, -1.5, -2, -3, -4, -6};
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t pair = packed[static_cast<size_t>(i / 2)];
      plain[name].push_back(
          std::ldexp(lut[i % 2 == 0 ? pair & 15 : pair >> 4], scales[static_cast<size_t>(i / 32)] - 127));
    }
    d.stored.push_back(raw(stem + name + "_blocks", Dtype::U8, {e, rows, cols / 32, 16}, packed));
    d.stored.push_back(raw(stem + name + "_scales", Dtype::U8, {e, rows, cols / 32}, scales));
  }
  const auto opened = d.open({.refuse_unexpected = true});
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  const std::vector<float> up = values_of(*opened, "layer.0.moe.expert.1.up.weight");
  const std::vector<float> down = values_of(*opened, "layer.0.moe.expert.1.down.weight");
  for (int64_t r = 0; r < f; ++r)
    for (int64_t c = 0; c < h; ++c)
      ASSERT_EQ(up[static_cast<size_t>(r * h + c)],
                plain["gate_up_proj"][static_cast<size_t>((2 * f + 2 * r + 1) * h + c)]);
  EXPECT_EQ(down, std::vector<float>(plain["down_proj"].begin() + h * f, plain["down_proj"].begin() + 2 * h * f));
  EXPECT_EQ(opened->stored_dtype("layer.0.moe.expert.1.up.weight"), Dtype::F4);
  d.erase(stem + "down_proj_scales");
  EXPECT_FALSE(d.open().ok());
}

TEST(WeightSource, OtherQuantisationsAreRefusedByName) {
  Damaged d("tiny_llama_0");
  write_file_atomic(d.folder / "config.json", R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})");
  const auto opened = d.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.diagnostics()[0].found, "gptq");
}

TEST(WeightSource, BfloatBitsAreTheStoredOnes) {
  const TinyModel tiny = tiny_model("tiny_gpt2_0", golden_config("tiny_gpt2_0"));
  const auto folder = test::TempFolder::in_memory();
  test::write_weights(folder / "hf", value_or_throw(hf_weights(tiny.hf.model, "gpt2")), fill_from_name, Dtype::BF16);
  const auto source = value_or_throw(WeightSource::open(folder / "hf", tiny.hf.model, "gpt2"));
  const std::string piece = "layer.1.attn.k.weight";
  const std::vector<float> values = expected_values(source, piece);
  std::vector<uint16_t> bits(values.size());
  source.read_rows(piece, 0, source.shape(piece)[0], std::span<uint16_t>(bits));
  for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(bits[i], float_to_bf16(values[i]));
}

TEST(Assemble, RefusesANumberThatF16CannotHold) {
  const HfTensor tensor{.name = "t", .shape = {2, 2}, .parts = {{"w", {2, 2}, 0, 2, 1}}};
  const auto fetch = [](const WeightPart&, std::span<float> out) { std::fill(out.begin(), out.end(), 1e6F); };
  EXPECT_THROW(assemble(tensor, Dtype::F16, fetch), RunError);
  EXPECT_EQ(assemble(tensor, Dtype::BF16, fetch).size(), 8U);
}

}  // namespace
}  // namespace primus::hub
