// verify: stages in order, the first that fails ends the test and says why. Training is stood in for.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/verify_stages.h"
#include "primus/config/load.h"

namespace primus::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kVerifiedLlama = "examples/megatron/configs/MI300X/llama2_7B-BF16-pretrain.yaml";

struct Started {
  std::string stage;
  int64_t ranks = 0;
  config::Experiment experiment;
};

class Verify : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("primus_verify_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Runs that write as many losses as they have steps; `spoil` changes how one ends.
  std::vector<StageResult> run(const std::string& file, std::vector<std::string> overrides = {}) {
    VerifyRequest request;
    request.load = {.path = file,
                    .command_line_overrides = std::move(overrides),
                    .environment = environment_of({}),
                    .presets_root = "."};
    request.folder = folder_;
    Context context;
    std::ostringstream out, err;
    context.environment = environment_of({});
    context.out = &out;
    context.err = &err;
    context.install_root = fs::current_path();
    return run_stages(
        request, context,
        [this](const fs::path& experiment, int64_t ranks, const std::string& stage) {
          return train(experiment, ranks, stage);
        },
        [this](const StageResult& stage) { told_.push_back(stage.name); });
  }

  TrainOutcome train(const fs::path& file, int64_t ranks, const std::string& stage) {
    auto loaded =
        config::load_experiment({.path = file.string(), .environment = environment_of({}), .presets_root = "."});
    PRIMUS_CHECK(loaded.ok(), render(loaded.diagnostics()));
    const fs::path metrics = loaded->meta.folder() / "metrics.jsonl";
    PRIMUS_CHECK(metrics.string().starts_with(folder_.string()), "a run outside the temporary folder");
    fs::create_directories(metrics.parent_path());
    std::string rows;
    const int64_t steps = loaded->main_module().params.find("train_iters")->as_int() - (stage == short_ ? 1 : 0);
    for (int64_t i = 1; i <= steps; ++i)
      rows += "{\"step\":" + std::to_string(i) + ",\"loss\":" + (stage == nan_ ? "null" : "7.5") + "}\n";
    write_file_atomic(metrics, rows);
    started_.push_back({stage, ranks, std::move(*loaded)});
    if (stage == failing_) return {.exit_code = 1, .output = "rank 0: fine\nrank 0: error: the moon is full\n"};
    return {};
  }

  fs::path folder_;
  std::string failing_, nan_, short_;
  std::vector<std::string> told_;
  std::vector<Started> started_;
};

std::vector<StageState> states(const std::vector<StageResult>& stages) {
  std::vector<StageState> states;
  for (const StageResult& stage : stages) states.push_back(stage.state);
  return states;
}

TEST_F(Verify, RunsTheStagesOfTheGuideInOrder) {
  const auto stages = run(kVerifiedLlama);
  EXPECT_THAT(told_, ElementsAre("resolution", "tokenizer", "mock steps", "one device", "parallel layout"));
  EXPECT_THAT(states(stages), ElementsAre(StageState::Passed, StageState::NotNeeded, StageState::Passed,
                                          StageState::Passed, StageState::NotNeeded));
  ASSERT_EQ(started_.size(), 2U);
  const config::Value& mock = started_[0].experiment.main_module().params;
  EXPECT_TRUE(mock.find("mock_data")->as_bool());
  EXPECT_EQ(mock.find("train_iters")->as_int(), 3);
  EXPECT_LE(mock.find("hidden_size")->as_int(), 512);
  EXPECT_EQ(started_[1].experiment.main_module().params.find("train_iters")->as_int(), 10);
  EXPECT_EQ(started_[0].ranks, 1);
  EXPECT_THAT(stages[0].detail, HasSubstr("7.55 B parameters"));
  EXPECT_THAT(stages[2].detail, HasSubstr("3 of 3 steps, loss 7.5 -> 7.5"));
}

TEST_F(Verify, EndsAtTheFirstStageThatFailsAndSaysWhy) {
  failing_ = "one-device";
  const auto stages = run(kVerifiedLlama);
  EXPECT_THAT(states(stages), ElementsAre(StageState::Passed, StageState::NotNeeded, StageState::Passed,
                                          StageState::Failed, StageState::NotReached));
  EXPECT_THAT(stages[3].detail, HasSubstr("error: the moon is full"));
  EXPECT_THAT(stages[3].detail, HasSubstr("exit code 1"));
  EXPECT_FALSE(stages[3].suggestion.empty());
}

TEST_F(Verify, ALossThatIsNoNumberFails) {
  nan_ = "mock-steps";
  const auto stages = run(kVerifiedLlama);
  EXPECT_EQ(stages[2].state, StageState::Failed);
  EXPECT_THAT(stages[2].detail, HasSubstr("a loss is no number"));
}

TEST_F(Verify, ARunThatEndsEarlyFails) {
  short_ = "mock-steps";
  EXPECT_EQ(run(kVerifiedLlama)[2].state, StageState::Failed);
}

TEST_F(Verify, AnUnknownKeyFailsTheResolutionWithItsPlace) {
  const auto stages = run(kVerifiedLlama, {"train_iterz=7"});
  EXPECT_EQ(stages[0].state, StageState::Failed);
  EXPECT_THAT(stages[0].detail, HasSubstr("train_iterz"));
  EXPECT_THAT(stages[0].suggestion, HasSubstr("train_iters"));
  EXPECT_EQ(stages[4].state, StageState::NotReached);
  EXPECT_TRUE(started_.empty());
}

TEST_F(Verify, ATokenizerThatIsNotHereFailsItsStage) {
  const auto stages = run(kVerifiedLlama, {"mock_data=false", "train_data_path=/nowhere/text",
                                           "valid_data_path=/nowhere/text", "tokenizer_model=/nowhere/tokenizer"});
  EXPECT_EQ(stages[0].state, StageState::Passed) << stages[0].detail;
  EXPECT_EQ(stages[1].state, StageState::Failed);
  EXPECT_FALSE(stages[1].detail.empty());
}

TEST_F(Verify, AFamilyThatIsNotBuiltFailsWithOneSentence) {
  const auto stages = run("examples/megatron/configs/MI300X/mixtral_8x7B_v0.1-BF16-pretrain.yaml");
  EXPECT_EQ(stages[0].state, StageState::Passed) << stages[0].detail;
  if (stages[2].state == StageState::Failed) {
    EXPECT_THAT(stages[2].detail, HasSubstr("not built yet"));
  }
}

TEST_F(Verify, ALayoutThatIsNotBuiltIsTheStageThatFails) {
  const auto stages = run(kVerifiedLlama, {"tensor_model_parallel_size=2"});
  EXPECT_EQ(stages[3].state, StageState::Passed) << stages[3].detail;
  if (started_.size() > 2) {
    EXPECT_EQ(started_[2].ranks, 2);
    EXPECT_EQ(stages[4].state, StageState::Passed);
  } else {
    EXPECT_EQ(stages[4].state, StageState::Failed);
    EXPECT_THAT(stages[4].detail, HasSubstr("not built yet"));
  }
}

}  // namespace
}  // namespace primus::cli
