// Faults that users met elsewhere when a config.json was read: heads, rope, magnitudes, epsilons.
#include <gmock/gmock.h>

#include "support/hf_golden.h"

#include "primus/base/error.h"
#include "primus/hub/hf_config.h"

namespace primus::hub {
namespace {

spec::Model read(const Json& config) {
  return value_or_throw(read_hf_config(config, "config.json")).model;
}

Json little_llama() {
  return {{"model_type", "llama"},         {"vocab_size", 99},       {"hidden_size", 64},
          {"intermediate_size", 96},       {"num_hidden_layers", 2}, {"num_attention_heads", 8},
          {"max_position_embeddings", 64}, {"rms_norm_eps", 1e-5},   {"tie_word_embeddings", false}};
}

// B038
TEST(HfCases, AnAbsentNumberOfKeyValueHeadsMeansAsManyAsHeads) {
  const auto heads = [](const Json& count) {
    Json config = little_llama();
    if (count != "absent") config["num_key_value_heads"] = count;
    const spec::Model model = read(config);
    const Json exported = value_or_throw(write_hf_config(model, "llama"));
    EXPECT_EQ(exported.at("num_key_value_heads"), model.layers[0].attention.num_kv_heads);
    return model.layers[0].attention.num_kv_heads;
  };
  EXPECT_EQ(heads("absent"), 8);
  EXPECT_EQ(heads(nullptr), 8);
  EXPECT_EQ(heads(8), 8);
  EXPECT_EQ(heads(1), 1);
}

// B039
TEST(HfCases, BothFormsOfRopeMeanTheSame) {
  Json a = little_llama(), b = little_llama(), c = little_llama(), d = little_llama();
  a["rope_theta"] = 500000.0;
  a["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  b["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 500000.0}, {"factor", 4.0}};
  c["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000.0}};
  for (const Json& config : {a, b}) {
    const spec::Rope rope = *read(config).layers[0].attention.rope;
    EXPECT_EQ(rope.base, 500000.0);
    EXPECT_EQ(rope.position_divisor, 4.0);
  }
  const spec::Rope plain = *read(c).layers[0].attention.rope;
  EXPECT_EQ(plain.base, 500000.0);
  EXPECT_EQ(plain.position_divisor, 1.0);
  EXPECT_FALSE(plain.llama3 || plain.yarn);
  d["rope_scaling"] = {{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 4.0}};
  const auto refused = read_hf_config(d, "config.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diagnostics()), testing::HasSubstr("contradict each other"));
}

// B042
TEST(HfCases, TheMagnitudeOfYarnIsTakenOnce) {
  for (const auto& [m, factor] : {std::pair(0.707, 1.5896), std::pair(1.0, 1.8739)}) {
    Json config = test::golden_config("deepseek_v2_lite");
    config["rope_scaling"] = {{"type", "yarn"},
                              {"factor", 40},
                              {"mscale", m},
                              {"mscale_all_dim", m},
                              {"beta_fast", 32},
                              {"beta_slow", 1},
                              {"original_max_position_embeddings", 4096}};
    const spec::Attention attention = read(config).layers[0].attention;
    const double width = static_cast<double>(attention.latent->nope_head_dim + attention.latent->rope_head_dim);
    EXPECT_NEAR(attention.softmax_scale * std::sqrt(width), factor, 1e-4);
    EXPECT_EQ(attention.rope->yarn->cos_sin_factor, 1.0);
  }
}

// B052
TEST(HfCases, EveryNormHasTheEpsilonOfTheFile) {
  for (const Json& one : test::golden_cases()) {
    Json config = one.at("config");
    if (!config.contains("rms_norm_eps")) continue;
    config["rms_norm_eps"] = 1e-2;
    const spec::Model model = read(config);
    EXPECT_EQ(model.final_norm.eps, 1e-2) << one.at("name");
    for (const spec::LayerSpec& layer : model.layers) {
      if (layer.norms_in_front) {
        EXPECT_EQ(layer.input_norm.eps, 1e-2) << one.at("name");
        EXPECT_EQ(layer.post_attention_norm.eps, 1e-2) << one.at("name");
      }
      const auto expect = [&](const std::optional<spec::Norm>& norm) {
        if (norm) {
          EXPECT_EQ(norm->eps, 1e-2) << one.at("name");
        }
      };
      expect(layer.attention_output_norm);
      expect(layer.mlp_output_norm);
      if (layer.attention.qk_norm) expect(layer.attention.qk_norm->norm);
    }
  }
}

}  // namespace
}  // namespace primus::hub
