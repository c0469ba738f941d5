// Who may start in a run folder: every row of the rules.
#include "primus/track/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/hub/temp_folder.h"

namespace primus::track {
namespace {

using testing::HasSubstr;

constexpr int64_t kNoCheckpoint = -1;

class RunFolder : public testing::Test {
 protected:
  RunFolderRequest request(Resume resume, int64_t checkpoint = kNoCheckpoint) const {
    RunFolderRequest request;
    request.folder = folder_ / "run";
    request.resume = resume;
    request.identity = {{"framework", "megatron"}, {"hidden_size", 64}, {"lr", 3e-4}};
    if (checkpoint != kNoCheckpoint) request.newest_checkpoint_step = checkpoint;
    request.resolved_yaml = "lr: 3e-4\n";
    return request;
  }
  // An earlier run of the experiment, with something to lose.
  void run_once() const {
    ASSERT_TRUE(claim_run_folder(request(Resume::Never)).ok());
    write_file_atomic(folder_ / "run/metrics.jsonl", "{\"step\":1}\n");
    create_folders(folder_ / "run/logs");
    write_file_atomic(folder_ / "run/logs/rank-0.log", "hello\n");
  }
  bool has_old_metrics() const { return fs::exists(folder_ / "run/metrics.jsonl"); }
  static std::string refusal(const Result<RunFolderClaim>& claim) {
    return claim.ok() ? "accepted" : render(claim.diagnostics());
  }

  test::TempFolder folder_;
};

const char* const kWaysOut[] = {"--resume auto", "--exp_name", "--overwrite"};

TEST_F(RunFolder, OfItsOwnIsClaimedAndDescribed) {
  const Result<RunFolderClaim> claim = claim_run_folder(request(Resume::Never));
  ASSERT_TRUE(claim.ok());
  EXPECT_FALSE(claim->resume);
  EXPECT_EQ(*read_text_file(folder_ / "run/config/resolved.yaml"), "lr: 3e-4\n");
  EXPECT_TRUE(fs::exists(folder_ / "run/config/origin.json"));
  EXPECT_FALSE(fs::exists(folder_ / "run/previous"));
}

TEST_F(RunFolder, OfADifferentExperimentIsRefusedWithThreeWaysOut) {
  run_once();
  for (const Resume resume : {Resume::Never, Resume::Auto}) {
    for (const int64_t checkpoint : {kNoCheckpoint, int64_t{20}}) {
      RunFolderRequest other = request(resume, checkpoint);
      other.identity["hidden_size"] = 128;
      other.identity["rope_base"] = 500;
      const std::string text = refusal(claim_run_folder(other));
      EXPECT_THAT(text, HasSubstr("hidden_size: 64 before, 128 now"));
      EXPECT_THAT(text, HasSubstr("rope_base: not set before, 500 now"));
      for (const char* way : kWaysOut) EXPECT_THAT(text, HasSubstr(way));
      EXPECT_TRUE(has_old_metrics());
    }
  }
}

TEST_F(RunFolder, OfADifferentExperimentIsContinuedWhenResumeWasTyped) {
  run_once();
  RunFolderRequest other = request(Resume::Auto, 20);
  other.identity["lr"] = 1e-4;
  other.resume_was_typed = true;
  const Result<RunFolderClaim> claim = claim_run_folder(other);
  ASSERT_TRUE(claim.ok());
  EXPECT_TRUE(claim->resume);
  EXPECT_THAT(claim->notes, testing::Contains(HasSubstr("lr:")));
}

TEST_F(RunFolder, WithCheckpointsThatAreNotToBeResumedIsRefused) {
  run_once();
  const std::string text = refusal(claim_run_folder(request(Resume::Never, 20)));
  EXPECT_THAT(text, HasSubstr("step 20"));
  for (const char* way : kWaysOut) EXPECT_THAT(text, HasSubstr(way));
  EXPECT_TRUE(has_old_metrics());
}

TEST_F(RunFolder, WithCheckpointsIsResumedWithAutoAndMust) {
  run_once();
  for (const Resume resume : {Resume::Auto, Resume::Must}) {
    const Result<RunFolderClaim> claim = claim_run_folder(request(resume, 20));
    ASSERT_TRUE(claim.ok()) << refusal(claim);
    EXPECT_TRUE(claim->resume);
    EXPECT_THAT(claim->notes, testing::Contains(HasSubstr("step 20")));
    EXPECT_TRUE(has_old_metrics());
    EXPECT_FALSE(fs::exists(folder_ / "run/previous"));
  }
}

TEST_F(RunFolder, WithoutACheckpointMovesTheEarlierRunAside) {
  run_once();
  for (const Resume resume : {Resume::Never, Resume::Auto}) {
    write_file_atomic(folder_ / "run/metrics.jsonl", "{\"step\":1}\n");
    const Result<RunFolderClaim> claim = claim_run_folder(request(resume));
    ASSERT_TRUE(claim.ok());
    EXPECT_FALSE(claim->resume);
    EXPECT_THAT(claim->notes, testing::Contains(HasSubstr("previous")));
    EXPECT_FALSE(has_old_metrics());
  }
  EXPECT_EQ(*read_text_file(folder_ / "run/previous/1/logs/rank-0.log"), "hello\n");
  EXPECT_TRUE(fs::exists(folder_ / "run/previous/2/metrics.jsonl"));
}

TEST_F(RunFolder, IsOverwrittenByMovingEverythingAside) {
  run_once();
  create_folders(folder_ / "run/checkpoints/step_20");
  RunFolderRequest other = request(Resume::Auto, 20);
  other.identity["hidden_size"] = 128;
  other.overwrite = true;
  const Result<RunFolderClaim> claim = claim_run_folder(other);
  ASSERT_TRUE(claim.ok()) << refusal(claim);
  EXPECT_FALSE(claim->resume);
  EXPECT_TRUE(fs::exists(folder_ / "run/previous/1/checkpoints/step_20"));
  EXPECT_TRUE(fs::exists(folder_ / "run/previous/1/config/identity.json"));
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoints"));
  EXPECT_TRUE(claim_run_folder(request(Resume::Must, 20)).diagnostics().size() == 1U)
      << "the new run is the other experiment";
}

TEST_F(RunFolder, ThatMustBeResumedNeedsACheckpoint) {
  EXPECT_THAT(refusal(claim_run_folder(request(Resume::Must))), HasSubstr("no complete checkpoint"));
  EXPECT_FALSE(fs::exists(folder_ / "run")) << "a refusal changes nothing";
  run_once();
  EXPECT_THAT(refusal(claim_run_folder(request(Resume::Must))), HasSubstr("no complete checkpoint"));
  EXPECT_TRUE(has_old_metrics());
}

TEST_F(RunFolder, ThatCannotBeWrittenIsRefusedWithAnotherPlaceToGo) {
  RunFolderRequest blocked = request(Resume::Never);
  write_file_atomic(folder_ / "file", "");
  blocked.folder = folder_ / "file/run";
  EXPECT_THAT(refusal(claim_run_folder(blocked)), testing::AllOf(HasSubstr("cannot be"), HasSubstr("workspace=")));
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  create_folders(folder_ / "read_only");
  fs::permissions(folder_ / "read_only", fs::perms::owner_read | fs::perms::owner_exec);
  blocked.folder = folder_ / "read_only/run";
  EXPECT_THAT(refusal(claim_run_folder(blocked)), testing::AllOf(HasSubstr("cannot be"), HasSubstr("workspace=")));
}

TEST(RunIdentity, LeavesOutWhatMayChangeBetweenStarts) {
  const Json params = {{"lr", 1},           {"train_iters", 10},     {"save_interval", 5},
                       {"log_interval", 1}, {"eval_iters", 2},       {"exit_on_missing_checkpoint", true},
                       {"seq_length", 8},   {"micro_batch_size", 2}, {"seed", 4},
                       {"data_path", "x"},  {"tensorboard_dir", "t"}};
  const Json identity = identity_of("megatron", "llama.yaml", params);
  std::vector<std::string> keys;
  for (const auto& [key, value] : identity.items()) keys.push_back(key);
  EXPECT_THAT(keys, testing::UnorderedElementsAre("framework", "model", "lr", "seq_length", "micro_batch_size", "seed",
                                                  "data_path"));
}

}  // namespace
}  // namespace primus::track
