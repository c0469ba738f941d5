// Every megatron experiment that is shipped can be described; the faults of upstream's own files are named here.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "experiment.h"

#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

constexpr const char* kUneven = "layers do not divide over the pipeline stages, and nothing says how to split them";

// Part of the path -> why `config check` refuses the file.
const std::map<std::string, std::string>& upstream_faults() {
  static const std::map<std::string, std::string> faults = {
      {"llama3.1_405B-", kUneven},
      {"deepseek_v4_flash-", kUneven},
      {"kimi_k2-BF16-pretrain", kUneven},
      {"deepseek_v2_lite-BF16-sft-packed.yaml", "environment variables written as parameters"}};
  return faults;
}

bool is_fault(const std::string& path) {
  for (const auto& [part, why] : upstream_faults())
    if (path.find("/CPU/") == std::string::npos && path.find(part) != std::string::npos) return true;
  return false;
}

std::vector<std::string> experiments() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(MegatronExperiments, AllCanBeDescribedButTheFaultsOfUpstream) {
  std::set<std::string> seen_faults;
  size_t count = 0;
  for (const std::string& file : experiments()) {
    config::LoadOptions options;
    options.path = file;
    options.presets_root = ".";
    options.environment = environment_of({});
    const auto loaded = config::load_experiment(options);
    if (!loaded.ok()) continue;  // templates and precision recipes; the loader's own tests know them
    if (loaded->modules.empty() || loaded->main_module().framework != "megatron") continue;
    if (!loaded->main_module().extras.is_null() && loaded->main_module().extras.find("trainer_class") != nullptr)
      continue;  // diffusion models under megatron's name
    const auto run = to_spec(*loaded, {}, {.for_training = false});
    ++count;
    if (is_fault(file)) {
      EXPECT_FALSE(run.ok()) << file << " is listed as a fault of upstream, and there is none";
      continue;
    }
    EXPECT_TRUE(run.ok()) << file << "\n" << render(run.diagnostics());
  }
  EXPECT_GE(count, 5U);
}

TEST(MegatronExperiments, AreRefusedInTrainingWithTheFeaturesThatAreNotBuilt) {
  for (const std::string& file : experiments()) {
    if (file.find("megatron/configs/MI355X/deepseek_v3-BF16-pretrain") == std::string::npos) continue;
    const auto run = to_spec(testing::shipped(file));
    std::set<std::string> keys;
    for (const Diagnostic& finding : run.diagnostics())
      if (finding.severity == Severity::Error) keys.insert(finding.key);
    EXPECT_TRUE(keys.count("pipeline_model_parallel_size"));
    for (const char* built : {"num_experts", "multi_latent_attention", "mtp_num_layers"})
      EXPECT_FALSE(keys.count(built)) << built;
  }
}

}  // namespace
}  // namespace primus::dialect
