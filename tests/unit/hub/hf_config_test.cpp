// config.json of every family against transformers (tests/golden/hf_config/make_configs.py), and the traps one by one.
#include "primus/hub/hf_config.h"

#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "support/hf_golden.h"
#include "temp_folder.h"

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/spec/model_size.h"

namespace primus::hub {
namespace {

using test::golden_cases;
using test::golden_config;
using ::testing::HasSubstr;

spec::Model model_of(const Json& config) {
  auto read = read_hf_config(config, "config.json");
  PRIMUS_CHECK(read.ok(), render(read.diagnostics()));
  return read->model;
}

std::string first_error(const Json& config) {
  const auto read = read_hf_config(config, "config.json");
  return read.ok() ? "" : read.diagnostics()[0].message;
}

Json little_llama(const Json& more) {
  Json config = {{"model_type", "llama"},       {"hidden_size", 64},        {"num_hidden_layers", 2},
                 {"num_attention_heads", 8},    {"intermediate_size", 100}, {"vocab_size", 99},
                 {"tie_word_embeddings", false}};
  config.update(more);
  return config;
}

TEST(HfConfig, CountsOfEveryFamilyEqualTransformersToTheLastDigit) {
  std::set<std::string> families;
  size_t count = 0;
  for (const Json& c : golden_cases()) {
    const auto name = c.at("name").get<std::string>();
    const auto read = read_hf_config(c.at("config"), name);
    ASSERT_TRUE(read.ok()) << name << "\n" << render(read.diagnostics());
    EXPECT_EQ(spec::count_parameters(read->model, false).total(), c.at("parameters").get<int64_t>()) << name;
    families.insert(read->family);
    ++count;
  }
  EXPECT_GT(count, 130U);
  const std::vector<std::string> all = hf_families();
  EXPECT_EQ(families, std::set<std::string>(all.begin(), all.end()));
}

TEST(HfConfig, OfTooManyLayersIsRefusedInEveryFamily) {
  for (const std::string& family : hf_families()) {
    const Json config = {{"model_type", family}, {family == "gpt2" ? "n_layer" : "num_hidden_layers", 10'001}};
    EXPECT_THAT(first_error(config), HasSubstr("10,001 layers")) << family;
  }
}

TEST(HfConfig, IsWrittenBackWithoutALoss) {
  for (const Json& c : golden_cases()) {
    const auto name = c.at("name").get<std::string>();
    const auto read = read_hf_config(c.at("config"), name);
    ASSERT_TRUE(read.ok()) << name;
    const auto written = write_hf_config(read->model, read->family);
    EXPECT_TRUE(written.ok()) << name << "\n" << render(written.diagnostics());
    if (!written.ok()) continue;
    EXPECT_EQ(written->at("model_type"), read->family == "grok-2" ? "git" : read->family);
    if (!c.at("published").get<bool>()) {
      EXPECT_TRUE(write_hf_config(read->model).ok()) << name << ": no family was found";
    }
  }
}

TEST(HfConfig, GivesAReasonForEveryField) {
  const auto read = read_hf_config(little_llama({{"rms_norm_eps", 0.25}}), "config.json");
  ASSERT_TRUE(read.ok());
  std::map<std::string, std::string> reasons;
  for (const HfDecision& d : read->decisions) reasons[d.field] = d.value + " because " + d.reason;
  EXPECT_EQ(reasons["norm.eps"], "0.25 because rms_norm_eps");
  EXPECT_THAT(reasons["attention.head_dim"], HasSubstr("8 because head_dim is absent"));
  EXPECT_THAT(reasons["rope.base"], HasSubstr("10000"));
}

TEST(HfConfig, CountsKeyValueHeadsAsHeadsWhereTheyAreAbsentOrNull) {
  const auto heads = [](const Json& more) { return model_of(little_llama(more)).layers[0].attention.num_kv_heads; };
  EXPECT_EQ(heads(Json::object()), 8);
  EXPECT_EQ(heads({{"num_key_value_heads", nullptr}}), 8);
  EXPECT_EQ(heads({{"num_key_value_heads", 8}}), 8);
  EXPECT_EQ(heads({{"num_key_value_heads", 1}}), 1);
  for (const int64_t kv : {1, 2, 8}) {
    const auto written = write_hf_config(model_of(little_llama({{"num_key_value_heads", kv}})), "llama");
    EXPECT_EQ(written->at("num_key_value_heads"), kv);
  }
}

TEST(HfConfig, ReadsBothFormsOfRope) {
  const auto rope = [](const Json& more) { return *model_of(little_llama(more)).layers[0].attention.rope; };
  const spec::Rope old = rope({{"rope_theta", 500000}, {"rope_scaling", {{"type", "linear"}, {"factor", 4}}}});
  const spec::Rope now = rope({{"rope_parameters", {{"rope_type", "linear"}, {"rope_theta", 500000}, {"factor", 4}}}});
  for (const spec::Rope& r : {old, now}) {
    EXPECT_EQ(r.base, 500000);
    EXPECT_EQ(r.position_divisor, 4);
  }
  const spec::Rope plain = rope({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500000}}}});
  EXPECT_EQ(plain.base, 500000);
  EXPECT_EQ(plain.position_divisor, 1);
  EXPECT_FALSE(plain.llama3 || plain.yarn);
  EXPECT_THAT(first_error(little_llama({{"rope_scaling", {{"type", "linear"}, {"rope_type", "yarn"}}}})),
              HasSubstr("contradict"));
  EXPECT_THAT(first_error(little_llama({{"rope_scaling", {{"type", "longrope"}}}})), HasSubstr("'longrope'"));
}

TEST(HfConfig, TakesYarnsFactorFromTheFile) {
  const auto yarn = [](Json more) {
    Json scaling = {{"rope_type", "yarn"}, {"factor", 40}, {"original_max_position_embeddings", 4096}};
    scaling.update(more);
    return *model_of(little_llama({{"max_position_embeddings", 100000}, {"rope_scaling", scaling}}))
                .layers[0]
                .attention.rope->yarn;
  };
  EXPECT_EQ(yarn(Json::object()).factor, 40);
  EXPECT_NEAR(yarn(Json::object()).cos_sin_factor, 1.3689, 5e-5);
  EXPECT_EQ(yarn({{"attention_factor", 1.0}}).cos_sin_factor, 1.0);
  EXPECT_EQ(yarn({{"attention_factor", 1.5}}).cos_sin_factor, 1.5);
}

TEST(HfConfig, ScalesTheScoresOfLatentAttentionByMscaleAllDim) {
  const auto factor = [](const char* name) {
    const spec::Attention a = model_of(golden_config(name)).layers[0].attention;
    EXPECT_EQ(a.rope->yarn->cos_sin_factor, 1);
    return a.softmax_scale * std::sqrt(192.0);
  };
  EXPECT_NEAR(factor("deepseek_v2"), 1.5896, 5e-5);
  EXPECT_NEAR(factor("deepseek_v3"), 1.8739, 5e-5);
}

TEST(HfConfig, CountsAWindowOnlyWhereItIsOn) {
  const auto windows = [](const Json& config) {
    std::vector<int64_t> out;
    for (const spec::LayerSpec& layer : model_of(config).layers) out.push_back(layer.attention.window_keys.value_or(0));
    return out;
  };
  Json qwen = little_llama({{"model_type", "qwen2"}, {"sliding_window", 4}, {"num_key_value_heads", 2}});
  EXPECT_THAT(windows(qwen), ::testing::ElementsAre(0, 0));
  qwen["use_sliding_window"] = true;
  qwen["max_window_layers"] = 1;
  EXPECT_THAT(windows(qwen), ::testing::ElementsAre(0, 4));
  Json mistral = little_llama({{"model_type", "mistral"}});
  EXPECT_THAT(windows(mistral), ::testing::ElementsAre(4096, 4096));
  mistral["sliding_window"] = nullptr;
  EXPECT_THAT(windows(mistral), ::testing::ElementsAre(0, 0));
  EXPECT_EQ(windows(golden_config("gpt_oss_20B"))[0], 128);
  EXPECT_EQ(windows(golden_config("gpt_oss_20B"))[1], 0);
}

TEST(HfConfig, TiesByTheFamilysDefault) {
  EXPECT_FALSE(model_of({{"model_type", "llama"}}).tied_embeddings);
  EXPECT_TRUE(model_of({{"model_type", "gpt2"}}).tied_embeddings);
  EXPECT_TRUE(model_of({{"model_type", "gemma"}}).tied_embeddings);
}

TEST(HfConfig, KnowsLlama4sAlternation) {
  const spec::Model m = model_of(golden_config("llama4_17B16E"));
  EXPECT_TRUE(m.layers[2].attention.rope && m.layers[2].attention.chunk_size && m.layers[2].attention.qk_norm);
  EXPECT_FALSE(m.layers[3].attention.rope || m.layers[3].attention.chunk_size || m.layers[3].attention.qk_norm);
  EXPECT_TRUE(m.layers[3].attention.temperature);
  EXPECT_TRUE(m.layers[0].moe->router.weight_on_input);
  const spec::Model maverick = model_of(golden_config("llama4_17B128E"));
  EXPECT_FALSE(maverick.layers[0].moe);
  EXPECT_TRUE(maverick.layers[1].moe);
  EXPECT_EQ(maverick.layers[0].mlp.ffn_size, 16384);
}

TEST(HfConfig, ReadsTheTextHalfOfAMultimodalFile) {
  Json nested = {{"model_type", "llama4"}, {"vision_config", Json::object()}};
  nested["text_config"] = golden_config("llama4_17B16E");
  const auto read = read_hf_config(nested, "config.json");
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  EXPECT_EQ(read->family, "llama4_text");
  EXPECT_EQ(read->model.layers.size(), 48U);
}

TEST(HfConfig, NormsOfLatentsIgnoreTheModelsEpsilon) {
  Json config = golden_config("deepseek_v2_lite");
  config["rms_norm_eps"] = 1e-2;
  const spec::Model m = model_of(config);
  EXPECT_EQ(m.layers[0].input_norm.eps, 1e-2);
  EXPECT_EQ(m.layers[0].attention.latent->latent_norm_eps, 1e-6);
}

TEST(HfConfig, RefusesOtherFamiliesWithTheList) {
  const auto other = read_hf_config(Json{{"model_type", "gemma3"}}, "config.json");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.diagnostics()[0].message, HasSubstr("gemma3"));
  EXPECT_THAT(other.diagnostics()[0].expected, HasSubstr("qwen3_moe"));
  EXPECT_FALSE(read_hf_config(Json::array(), "config.json").ok());
  EXPECT_FALSE(read_hf_config(fs::path("no/such/folder")).ok());
}

TEST(HfConfig, RefusesWhatItDoesNotKnowAllTogether) {
  const auto read = read_hf_config(
      little_llama({{"hidden_sise", 3}, {"num_attention_heads", "eight"}, {"alibi", true}}), "config.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.diagnostics().size(), 3U) << render(read.diagnostics());
  EXPECT_THAT(render(read.diagnostics()), HasSubstr("did you mean 'hidden_size'?"));
  // Off is off.
  EXPECT_TRUE(read_hf_config(little_llama({{"alibi", false}, {"some_other", nullptr}}), "config.json").ok());
}

TEST(HfConfig, RefusesToLoseWhatAFamilyCannotHold) {
  spec::Model m = model_of(golden_config("qwen3_8B"));
  const auto as_llama = write_hf_config(m, "llama");
  ASSERT_FALSE(as_llama.ok());
  EXPECT_THAT(as_llama.diagnostics()[0].found, HasSubstr("qk_norm"));
  EXPECT_EQ(write_hf_config(m)->at("model_type"), "qwen3");
}

TEST(HfConfig, IsReadFromAFolder) {
  const test::TempFolder folder;
  std::ofstream(folder.path() / "config.json") << little_llama(Json::object()).dump();
  const auto read = read_hf_config(folder.path());
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  EXPECT_EQ(read->model.hidden_size, 64);
}

// dialects 2.5: FLOPs per token by the formula of each trainer.
TEST(Flops, OfThePublishedModelsEqualTheReferencesVectors) {
  struct Vector {
    const char* name;
    int64_t length;
    double megatron, torchtitan, maxtext, tolerance;
  };
  const Vector vectors[] = {{"llama3.1_8B", 8192, 51470401536, 57914449920, 51470401536, 0},
                            {"llama3.1_8B", 4096, 4.824918e10, 5.147200e10, 4.824918e10, 1e-6},
                            {"llama3.1_70B", 8192, 4.492225e11, 4.814427e11, 4.492225e11, 1e-6},
                            {"qwen3_8B", 4096, 4.903246e10, 5.265819e10, 4.903246e10, 1e-6},
                            {"qwen3_30B_A3B", 4096, 2.300628e10, 2.791488e10, 2.308178e10, 1e-6},
                            {"mixtral_8x7B_v0.1", 4096, 7.970646e10, 8.293557e10, 7.971275e10, 1e-6},
                            {"deepseek_v2_lite", 4096, 1.638618e10, 1.810600e10, 1.640654e10, 1e-6},
                            {"deepseek_v3", 4096, 2.498121e11, 2.811582e11, 2.504499e11, 1e-6}};
  for (const Vector& v : vectors) {
    spec::Model m = model_of(golden_config(v.name));
    const auto check = [&](spec::FlopsFormula formula, double wanted) {
      m.flops_formula = formula;
      EXPECT_NEAR(spec::flops_per_token(m, v.length), wanted, wanted * v.tolerance) << v.name << " " << v.length;
    };
    check(spec::FlopsFormula::Megatron, v.megatron);
    check(spec::FlopsFormula::MegatronBridge, v.megatron);
    check(spec::FlopsFormula::TorchTitan, v.torchtitan);
    check(spec::FlopsFormula::MaxText, v.maxtext);
  }
  spec::Model v3 = model_of(golden_config("deepseek_v3"));
  v3.mtp = spec::MultiTokenPrediction{1, 0.1};
  EXPECT_EQ(spec::flops_per_token(v3, 4096), 259992950784.0);
}

}  // namespace
}  // namespace primus::hub
