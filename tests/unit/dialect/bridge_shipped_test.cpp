// The experiments of megatron_bridge as they are shipped, with what upstream itself refuses of them.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "experiment.h"

#include "primus/dialect/to_spec.h"
#include "primus/spec/validate.h"

namespace primus::dialect {
namespace {

using testing::shipped;

// Where upstream's own validation refuses a shipped experiment, by the keys that it is about.
const std::map<std::string, std::set<std::string>> kFaults = {
    {"llama3_8b_lora_posttrain_packed.yaml", {"lr_warmup_iters"}},  // 50 of 20 steps
    {"qwen3_30b_a3b_lora_posttrain_packed.yaml",
     {"lr_warmup_iters", "micro_batch_size"}},  // the same; 8 packed at once
};

std::vector<std::filesystem::path> bridge_experiments() {
  std::vector<std::filesystem::path> files = {
      "examples/mlperf/llama2_70b/configs/MI355X/llama2_70b_lora_mlperf_posttrain.yaml"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples/megatron_bridge"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  return files;
}

TEST(BridgeExperiments, AllTranslateUnlessUpstreamRefusesThem) {
  const auto files = bridge_experiments();
  EXPECT_GE(files.size(), 19U);
  for (const auto& file : files) {
    const auto fault = kFaults.find(file.filename().string());
    // As many ranks as the layout takes; the first look only tells how many.
    const config::Experiment experiment = shipped(file.string());
    const auto wide = to_spec(experiment, {}, {.world_size = 32, .for_training = false});
    const int64_t ranks = wide.ok() ? spec::model_ranks(wide->parallel) : 4;
    const auto run = to_spec(experiment, {}, {.world_size = ranks, .for_training = false});
    std::set<std::string> keys;
    for (const Diagnostic& finding : run.diagnostics())
      if (finding.severity == Severity::Error) keys.insert(finding.key);
    EXPECT_EQ(keys, fault == kFaults.end() ? std::set<std::string>{} : fault->second) << file << "\n"
                                                                                      << render(run.diagnostics());
  }
}

TEST(BridgeExperiments, Qwen3Of32BillionPretrainsOnMadeUpData) {
  const auto run = to_spec(shipped("examples/megatron_bridge/configs/MI300X/qwen3_32b_pretrain.yaml"), {},
                           {.world_size = 8, .for_training = false});
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_TRUE(run->data.mock);
  EXPECT_EQ(run->parallel.tensor, 2);
  EXPECT_EQ(run->parallel.pipeline, 1);
  EXPECT_EQ(run->data.sequence_length, 2048);
  EXPECT_FALSE(run->checkpoint.save);
  EXPECT_EQ(run->evaluation.num_batches, 0);
  EXPECT_EQ(run->recompute.layer_ids.size(), 64U);  // the recipe's, though the file does not say so
  EXPECT_EQ(run->logging.interval_steps, 1);
  EXPECT_EQ(run->logging.console_level, "DEBUG");
}

}  // namespace
}  // namespace primus::dialect
