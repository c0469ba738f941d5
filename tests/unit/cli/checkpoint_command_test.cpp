#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "unit/hub/sample_checkpoint.h"
#include "unit/hub/temp_folder.h"

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/command.h"

namespace primus::cli {
namespace {

using test::TempFolder;
using test::write_sample;
using ::testing::HasSubstr;

struct CheckpointOutcome {
  ExitCode code;
  std::string out;
  std::string err;
};

CheckpointOutcome run_with(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  Context context{.arguments = std::move(arguments), .environment = environment_of({}), .out = &out, .err = &err};
  const ExitCode code = run_checkpoint(context);
  return {code, out.str(), err.str()};
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    run_with(arguments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// Step 5 is whole, step 9 lacks its data file, step 12 has a damaged byte.
void make_run(const fs::path& folder) {
  write_sample(folder / "checkpoints", 5);
  fs::remove(write_sample(folder / "checkpoints", 9) / "model-00000.safetensors");
  const fs::path damaged = write_sample(folder / "checkpoints", 12) / "model-00000.safetensors";
  std::string bytes = value_or_throw(read_text_file(damaged));
  bytes.back() = '#';
  write_file_atomic(damaged, bytes);
}

TEST(CheckpointCommand, ListsStepsWithTheirLayoutAndWhatIsMissing) {
  const TempFolder folder;
  make_run(folder.path());
  const CheckpointOutcome outcome = run_with({"list", "--run", folder.path().string()});
  EXPECT_EQ(outcome.code, ExitCode::Ok);
  const std::vector<std::string> expected = {"2026-01-31T12:34:56Z", "2 ranks: dp 2, tp 1", "NO",
                                             "model-00000.safetensors is missing"};
  for (const std::string& part : expected) EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_LT(outcome.out.find("  5  "), outcome.out.find("  9  "));
  EXPECT_EQ(run_with({"list", "--run", (folder / "checkpoints").string()}).out, outcome.out);
}

TEST(CheckpointCommand, ListsAsJson) {
  const TempFolder folder;
  make_run(folder.path());
  const CheckpointOutcome outcome = run_with({"list", "--run", folder.path().string(), "--format", "json"});
  const Json json = value_or_throw(parse_json(outcome.out, "output"));
  ASSERT_EQ(json.at("checkpoints").size(), 3U);
  const Json& first = json.at("checkpoints")[0];
  EXPECT_EQ(first.at("step"), 5);
  EXPECT_EQ(first.at("complete"), true);
  EXPECT_EQ(first.at("consumed_samples"), 60);
  EXPECT_EQ(first.at("layout").at("dp"), 2);
  EXPECT_EQ(json.at("checkpoints")[1].at("complete"), false);
}

TEST(CheckpointCommand, SaysThatThereAreNone) {
  const TempFolder folder;
  EXPECT_THAT(run_with({"list", "--run", folder.path().string()}).out, HasSubstr("no checkpoints in"));
}

TEST(CheckpointCommand, VerifiesAllCheckpointsOfARun) {
  const TempFolder folder;
  make_run(folder.path());
  const CheckpointOutcome outcome = run_with({"verify", "--run", folder.path().string()});
  EXPECT_EQ(outcome.code, ExitCode::CheckFailed);
  EXPECT_THAT(outcome.out, HasSubstr("step_5: ok\n"));
  EXPECT_THAT(outcome.out, HasSubstr("step_9: NOT OK\n"));
  EXPECT_THAT(outcome.out, HasSubstr("step_12: NOT OK\n"));
  EXPECT_THAT(outcome.err, HasSubstr("checksum of 'optimizer.count'"));
  const Json json =
      value_or_throw(parse_json(run_with({"verify", folder.path().string(), "--format=json"}).out, "output"));
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_EQ(json.at("checkpoints")[0].at("ok"), true);
  EXPECT_EQ(json.at("checkpoints")[2].at("problems").size(), 1U);
}

TEST(CheckpointCommand, VerifiesOneCheckpoint) {
  const TempFolder folder;
  make_run(folder.path());
  const std::string checkpoints = (folder / "checkpoints").string();
  EXPECT_EQ(run_with({"verify", checkpoints + "/step_5"}).code, ExitCode::Ok);
  EXPECT_EQ(run_with({"verify", checkpoints + "/step_5/"}).code, ExitCode::Ok);
  EXPECT_EQ(run_with({"verify", checkpoints + "/step_9"}).code, ExitCode::CheckFailed);
  fs::remove(checkpoints + "/step_12/manifest.json");
  EXPECT_EQ(run_with({"verify", checkpoints + "/step_12/"}).code, ExitCode::CheckFailed);
}

TEST(CheckpointCommand, RefusesWhatItDoesNotUnderstand) {
  const TempFolder folder;
  EXPECT_THAT(refusal({"list", "--rnu", "x"}), HasSubstr("--run"));
  EXPECT_THAT(refusal({"list", "--run", "/nowhere"}), HasSubstr("no such folder"));
  EXPECT_THAT(refusal({"list", "--run", folder.path().string(), "--format", "xml"}), HasSubstr("xml"));
  EXPECT_THAT(refusal({"verify"}), HasSubstr("nothing to verify"));
  EXPECT_THAT(refusal({"verify", "/nowhere"}), HasSubstr("no such folder"));
  EXPECT_THAT(refusal({"verify", folder.path().string()}), HasSubstr("no checkpoints here"));
  EXPECT_NE(refusal({"lsit"}), "accepted");
  EXPECT_NE(refusal({}), "accepted");
  EXPECT_THAT(run_with({"--help"}).out, HasSubstr("verify"));
  EXPECT_THAT(run_with({"verify", "--help"}).out, HasSubstr("exit code 4"));
}

}  // namespace
}  // namespace primus::cli
