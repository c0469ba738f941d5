// The presets and experiments of the repository resolve to the very values that the reference loader gives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/config/dump.h"
#include "primus/config/file_cache.h"
#include "primus/config/load.h"

namespace primus::config {
namespace {

void flatten(const Json& value, const std::string& key, std::map<std::string, Json>& out) {
  if (!value.is_object() || value.empty()) {
    out[key] = value;
    return;
  }
  for (const auto& [name, inner] : value.items()) flatten(inner, key.empty() ? name : key + '.' + name, out);
}

Result<Experiment> load_shipped(const std::string& path, const std::vector<std::string>& overrides = {},
                                const std::map<std::string, std::string>& environment = {}) {
  return load_experiment({.path = path,
                          .command_line_overrides = overrides,
                          .environment = environment_of(environment),
                          .presets_root = fs::current_path()});
}

std::map<std::string, Json> expected_params(const Json& rows, const Json& row) {
  std::map<std::string, Json> params;
  if (row.contains("params")) {
    for (const auto& [key, value] : row["params"].items()) params[key] = value;
    return params;
  }
  params = expected_params(rows, rows[row["base"].get<size_t>()]);
  for (const auto& [key, value] : row["changed"].items()) params[key] = value;
  for (const Json& key : row["absent"]) params.erase(key.get<std::string>());
  return params;
}

TEST(ShippedPresets, ResolveToTheReferenceValues) {
  const auto text = read_text_file("tests/cases/config/resolved.json");
  ASSERT_TRUE(text.ok());
  const Json golden = value_or_throw(parse_json(*text, "resolved.json"));
  const Json& rows = golden["rows"];
  ASSERT_EQ(rows.size(), 5u);
  for (const Json& row : rows) {
    const std::string path = row["experiment"];
    const auto loaded = load_shipped(path, row["overrides"].get<std::vector<std::string>>());
    ASSERT_TRUE(loaded.ok()) << path << "\n" << render(loaded.diagnostics());
    const Json json = to_json(*loaded);
    for (const auto& [key, value] : row["meta"].items()) EXPECT_EQ(json["meta"][key], value) << path;
    const Json& module = json["modules"][row["module"].get<std::string>()];
    EXPECT_EQ(module["config"], row["config"]);
    EXPECT_EQ(module["model"], row["model"]);
    std::map<std::string, Json> found;
    flatten(module["params"], "", found);
    const std::map<std::string, Json> expected = expected_params(rows, row);
    EXPECT_EQ(found.size(), expected.size()) << path;
    for (const auto& [key, value] : expected) {
      const auto mine = found.find(key);
      ASSERT_NE(mine, found.end()) << path << " " << key;
      EXPECT_EQ(mine->second.dump(), value.dump()) << path << " " << key;
    }
  }
}

TEST(ShippedPresets, TheGuidesTinyLlamaResolves) {
  const auto loaded =
      load_shipped("examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml", {}, {{"PRIMUS_USER", "4711"}});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics());
  EXPECT_EQ(loaded->meta.folder(), fs::path("./output/amd/4711/tinyllama_1.1B-pretrain"));
  const Value& params = loaded->main_module().params;
  EXPECT_EQ(params.find("hidden_size")->as_int(), 2048);
  EXPECT_EQ(params.find("num_query_groups")->as_int(), 8);
  EXPECT_EQ(params.find("position_embedding_type")->as_string(), "rope");
  EXPECT_EQ(params.find("tokenizer_model")->as_string(), "TinyLlama/TinyLlama-1.1B-Chat-v1.0");
  EXPECT_TRUE(params.find("save")->is_null());
  EXPECT_EQ(params.find("seq_length")->as_int(), 2048);
}

TEST(ShippedPresets, EveryPresetOfTheTreeLoads) {
  for (const char* model :
       {"language_model", "llama_base", "llama2_7B", "llama3_8B", "llama3.1_8B", "tinyllama_1.1B"}) {
    EXPECT_THAT(list_presets(fs::current_path(), "models", "megatron"), testing::Contains(std::string(model)));
  }
  EXPECT_THAT(list_presets(fs::current_path(), "modules", "megatron"), testing::Contains(std::string("sft_trainer")));
  EXPECT_TRUE(list_presets(fs::current_path(), "models", "nothing").empty());
}

TEST(ShippedPresets, BlocksThatNothingReadsAreWarnedOfAndChangeNothing) {
  const std::string folder = "examples/megatron/configs/MI355X/";
  const auto lora = load_shipped(folder + "llama3_8B-BF16-lora-sft.yaml");
  const auto full = load_shipped(folder + "llama3_8B-BF16-sft.yaml");
  ASSERT_TRUE(lora.ok() && full.ok());
  EXPECT_TRUE(lora->main_module().params.same_data(full->main_module().params));
  EXPECT_EQ(lora->main_module().params.find("train_iters")->as_int(), 20);
  std::set<std::string> keys;
  for (const Diagnostic& finding : lora.diagnostics()) {
    if (finding.severity != Severity::Warning) continue;
    keys.insert(finding.key);
    EXPECT_THAT(finding.message, testing::HasSubstr("nothing reads it"));
    EXPECT_THAT(finding.suggestion, testing::HasSubstr("under modules.<name>.overrides"));
  }
  EXPECT_THAT(keys, testing::ElementsAre("global_batch_size", "lora", "lr", "lr_warmup_iters", "micro_batch_size",
                                         "min_lr", "train_iters"));
  const std::string packed = "examples/megatron_bridge/configs/MI355X/qwen3_30b_a3b_lora_posttrain_packed.yaml";
  const auto bridge = load_shipped(packed);
  ASSERT_TRUE(bridge.ok());
  EXPECT_EQ(bridge->main_module().params.find("model")->as_string(), "qwen3_30b_a3b.yaml");
  EXPECT_THAT(render(bridge.diagnostics()), testing::AllOf(testing::HasSubstr("key 'model': nothing reads it"),
                                                           testing::HasSubstr("key 'peft': nothing reads it")));
}

TEST(ShippedPresets, ADefaultOfTwoQuotesIsTwoCharactersAndIsSaid) {
  const std::string path = "examples/maxtext/configs/MI300X/llama3_8B-bf16-pretrain.yaml";
  const auto unset = load_shipped(path);
  ASSERT_TRUE(unset.ok());
  EXPECT_EQ(unset->main_module().params.find("hf_access_token")->as_string(), "\"\"");
  EXPECT_EQ(to_json(*unset)["modules"]["pre_trainer"]["params"]["hf_access_token"], "\"\"");
  EXPECT_THAT(render(unset.diagnostics()),
              testing::AllOf(testing::HasSubstr("two quote characters"), testing::HasSubstr("write ${HF_TOKEN:}")));
  const auto set = load_shipped(path, {}, {{"HF_TOKEN", "hf_s3cr3t"}});
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(to_json(*set)["modules"]["pre_trainer"]["params"]["hf_access_token"], "***");
  EXPECT_EQ(set->main_module().params.find("hf_access_token")->as_string(), "hf_s3cr3t");
  EXPECT_THAT(render(set.diagnostics()), testing::Not(testing::HasSubstr("quote characters")));
}

TEST(ShippedPresets, ATemplateSaysWhatIsToBeFilledIn) {
  const auto loaded = load_shipped("examples/megatron/configs/MI355X/native_hf_to_megatron_sft.template.yaml");
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diagnostics()), testing::HasSubstr("no model preset '<YOUR_MODEL_YAML>' for megatron"));
}

TEST(ShippedPresets, ACacheChangesNeitherValuesNorFindings) {
  FileCache cache;
  for (int round = 0; round < 2; ++round) {
    for (const char* name : {"kimi_k2-BF16-pretrain", "deepseek_v4_flash-FP8-pretrain", "kimi_k2-FP8-pretrain"}) {
      const std::string path = fmt::format("examples/megatron/configs/MI355X/{}.yaml", name);
      const auto plain = load_shipped(path);
      const auto cached = load_experiment({.path = path,
                                           .environment = environment_of({}),
                                           .presets_root = fs::current_path(),
                                           .module = "",
                                           .cache = &cache});
      ASSERT_TRUE(plain.ok() && cached.ok()) << render(cached.diagnostics());
      EXPECT_EQ(dump_yaml(*cached), dump_yaml(*plain));
      EXPECT_EQ(origins_json(*cached).dump(), origins_json(*plain).dump());
      EXPECT_EQ(render(cached.diagnostics()), render(plain.diagnostics()));
      EXPECT_EQ(cached->main_module().model_chain, plain->main_module().model_chain);
      EXPECT_EQ(cached->main_module().config_chain, plain->main_module().config_chain);
    }
  }
}

TEST(ShippedPresets, AResolvedFileNeedsNoPresets) {
  const std::string path = "examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml";
  const auto loaded = load_shipped(path, {"--lr", "3e-5"});
  const fs::path file = fs::path(testing::TempDir()) / "primus_resolved.yaml";
  write_file_atomic(file, dump_yaml(*loaded));
  const auto again = load_experiment(
      {.path = file.string(), .environment = environment_of({}), .presets_root = "/nonexistent", .module = ""});
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  EXPECT_EQ(dump_yaml(*again), dump_yaml(*loaded));
  fs::remove(file);
}

}  // namespace
}  // namespace primus::config
