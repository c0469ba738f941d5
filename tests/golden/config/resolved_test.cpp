// Every shipped experiment resolves to the values of an independent resolver (make_resolved.py), and of the reference.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/hash.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/config/file_cache.h"
#include "primus/config/load.h"
#include "primus/config/preset.h"

namespace primus::config {
namespace {

bool reads_as_number(const std::string& text) {
  const size_t first = text.starts_with('-') ? 1 : 0;
  if (text.find_first_not_of("0123456789.eE+-", first) != std::string::npos) return false;
  if (first == text.size() || text[first] == '+' || text[first] == '-') return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

// As make_resolved.py writes it: keys sorted, no blanks, and every number, also one in a text, as its double.
std::string canonical(const Json& value) {
  if (value.is_object()) {
    std::map<std::string, const Json*> sorted;
    for (const auto& [key, inner] : value.items()) sorted[key] = &inner;
    std::string out;
    for (const auto& [key, inner] : sorted) {
      out += (out.empty() ? "{" : ",") + Json(key).dump() + ":" + canonical(*inner);
    }
    return (out.empty() ? "{" : out) + "}";
  }
  if (value.is_array()) {
    std::string out;
    for (const Json& item : value) out += (out.empty() ? "[" : ",") + canonical(item);
    return (out.empty() ? "[" : out) + "]";
  }
  if (value.is_string() && reads_as_number(value.get<std::string>())) {
    return fmt::format("{:.17g}", std::strtod(value.get<std::string>().c_str(), nullptr));
  }
  if (value.is_number()) return fmt::format("{:.17g}", value.get<double>());
  return value.dump();
}

void flatten(const Json& value, const std::string& key, std::map<std::string, Json>& out) {
  if (!value.is_object() || value.empty()) {
    out[key] = value;
    return;
  }
  for (const auto& [name, inner] : value.items()) flatten(inner, key.empty() ? name : key + '.' + name, out);
}

std::map<std::string, Json> flat(const Json& value) {
  std::map<std::string, Json> out;
  flatten(value, "", out);
  return out;
}

Result<Experiment> load_shipped(const std::string& path, FileCache* cache,
                                const std::map<std::string, std::string>& environment = {},
                                const std::vector<std::string>& overrides = {}) {
  return load_experiment({.path = path,
                          .command_line_overrides = overrides,
                          .environment = environment_of(environment),
                          .presets_root = fs::current_path(),
                          .module = "",
                          .cache = cache});
}

struct GoldenLine {
  bool refused = false;
  size_t num_params = 0;
  std::string digest;
};

// The lines whose path is below `folder`.
std::map<std::string, GoldenLine> read_golden(const std::string& folder = "examples/") {
  std::map<std::string, GoldenLine> lines;
  std::istringstream text(value_or_throw(read_text_file("tests/golden/config/resolved.txt")));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(folder)) continue;
    const std::vector<std::string> words = split(line, ' ');
    GoldenLine& golden = lines[words[0]];
    golden.refused = words[1] == "refused";
    if (!golden.refused) golden = {.num_params = std::stoul(words[1]), .digest = words[2]};
  }
  return lines;
}

std::set<std::string> experiments_of_the_tree() {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator("examples")) {
    const std::string path = entry.path().string();
    if (path.ends_with(".yaml") && path.find("/configs/CPU/") == std::string::npos) found.insert(path);
  }
  return found;
}

// What one experiment gives, in the form of a golden line.
void expect_as_golden(const std::string& path, const GoldenLine& golden, FileCache* cache) {
  const auto loaded = load_shipped(path, cache);
  ASSERT_EQ(loaded.ok(), !golden.refused) << path << "\n" << render(loaded.diagnostics());
  if (golden.refused) return;
  Json modules = Json::object();
  size_t num_params = 0;
  for (const Module& module : loaded->modules) {
    modules[module.name] = to_json(module.params);
    num_params += flat(modules[module.name]).size();
  }
  EXPECT_EQ(num_params, golden.num_params) << path;
  EXPECT_EQ(sha256_hex(canonical(modules)), golden.digest) << path;
}

TEST(ShippedExperiments, AreTheOnesOfTheGoldenFile) {
  std::set<std::string> known;
  for (const auto& [path, golden] : read_golden()) known.insert(path);
  EXPECT_EQ(experiments_of_the_tree(), known) << "run tests/golden/config/make_resolved.py";
}

TEST(ShippedExperiments, ResolveAsTheIndependentResolverSays) {
  const auto golden = read_golden();
  ASSERT_GE(golden.size(), 405U);
  FileCache cache;
  size_t num_refused = 0;
  for (const auto& [path, line] : golden) {
    expect_as_golden(path, line, &cache);
    num_refused += line.refused;
  }
  EXPECT_EQ(num_refused, 1U);  // the template, whose model preset is to be filled in
}

TEST(ShippedExperiments, ResolveTheSameWithoutACache) {
  size_t at = 0;
  for (const auto& [path, line] : read_golden()) {
    if (at++ % 29 == 0) expect_as_golden(path, line, nullptr);
  }
}

// Copied names and names for two precisions collide in many places: a matter for a run, not for loading.
TEST(ShippedExperiments, LoadThoughManyShareTheirDefaultFolder) {
  FileCache cache;
  std::map<fs::path, size_t> folders;
  for (const auto& [path, line] : read_golden()) {
    if (line.refused) continue;
    const auto loaded = load_shipped(path, &cache);
    ASSERT_TRUE(loaded.ok()) << path;
    ++folders[loaded->meta.folder()];
  }
  EXPECT_GT(folders["./output/amd/root/llama3.1_8B-pretrain"], 1U);
  EXPECT_LT(folders.size(), read_golden().size() / 2);
}

TEST(ShippedPresetFiles, ResolveAsTheIndependentResolverSays) {
  const auto golden = read_golden("primus/configs/");
  ASSERT_GE(golden.size(), 137U + 15U + 2U);
  const Environment environment = environment_of({});
  for (const auto& [path, line] : golden) {
    Diagnostics findings;
    std::vector<std::string> chain;
    const auto preset = FileLoader(environment, findings).load({.path = path, .layer = Layer::ModelPreset}, chain);
    ASSERT_TRUE(preset && findings.empty()) << path << "\n" << render(findings);
    const Json json = to_json(*preset);
    EXPECT_EQ(flat(json).size(), line.num_params) << path;
    EXPECT_EQ(sha256_hex(canonical(json)), line.digest) << path;
  }
}

class Samples : public testing::Test {
 protected:
  Samples() : rows_(value_or_throw(parse_json(value_or_throw(read_text_file(kFile)), kFile))["rows"]) {}

  std::map<std::string, Json> params_of(const Json& row) const {
    std::map<std::string, Json> params;
    if (row.contains("params")) {
      for (const auto& [key, value] : row["params"].items()) params[key] = value;
      return params;
    }
    params = params_of(rows_[row["base"].get<size_t>()]);
    for (const auto& [key, value] : row["changed"].items()) params[key] = value;
    for (const Json& key : row["absent"]) params.erase(key.get<std::string>());
    return params;
  }

  static constexpr const char* kFile = "tests/golden/config/resolved_samples.json";
  Json rows_;
};

TEST_F(Samples, ResolveToTheValuesOfTheReferenceKeyByKey) {
  ASSERT_EQ(rows_.size(), 42U);
  FileCache plain;
  for (const Json& row : rows_) {
    const std::string path = row["experiment"];
    const auto environment = row["environment"].get<std::map<std::string, std::string>>();
    const auto loaded = load_shipped(path, environment.empty() ? &plain : nullptr, environment,
                                     row["overrides"].get<std::vector<std::string>>());
    ASSERT_TRUE(loaded.ok()) << path << "\n" << render(loaded.diagnostics());
    for (const auto& [key, value] : row["meta"].items())
      EXPECT_EQ(to_json(loaded->meta.values)[key], value) << path << " " << key;
    ASSERT_EQ(loaded->modules.size(), 1U) << path;
    EXPECT_EQ(loaded->modules[0].name, row["module"].get<std::string>()) << path;
    const std::map<std::string, Json> found = flat(to_json(loaded->modules[0].params));
    const std::map<std::string, Json> expected = params_of(row);
    for (const auto& [key, value] : found)
      EXPECT_TRUE(expected.contains(key)) << path << ": " << key << " is not to be there";
    for (const auto& [key, value] : expected) {
      const auto mine = found.find(key);
      if (mine == found.end()) {
        ADD_FAILURE() << path << ": " << key << " is missing";
        continue;
      }
      EXPECT_EQ(canonical(mine->second), canonical(value)) << path << ": " << key;
    }
  }
}

}  // namespace
}  // namespace primus::config
