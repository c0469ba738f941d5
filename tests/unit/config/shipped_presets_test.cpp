// The presets and experiments of the repository resolve to the very values that the reference loader gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/config/dump.h"
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
