#include "primus/hub/checkpoint_folder.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hub/sample_checkpoint.h"
#include "unit/hub/temp_folder.h"

#include "primus/hub/checkpoint_reader.h"

namespace primus::hub {
namespace {

using test::TempFolder;
using test::write_sample;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kShard = "model-00000.safetensors";

std::vector<int64_t> steps_in(const fs::path& checkpoints) {
  std::vector<int64_t> steps;
  for (const CheckpointListing& listing : list_checkpoints(checkpoints)) steps.push_back(listing.step);
  return steps;
}

// Changes one byte, counted from the end; done twice, the file is as it was.
void damage(const fs::path& path, int64_t from_end) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-from_end, std::ios::end);
  const int byte = file.get();
  file.seekp(-from_end, std::ios::end);
  file.put(static_cast<char>(byte ^ 0x11));
}

TEST(CheckpointFolder, FindsTheNewestByNumberNotByName) {
  const TempFolder run;
  for (const int64_t step : {9, 10, 100}) write_sample(run / "checkpoints", step);
  create_folders(run / "checkpoints" / "step_0500");  // no name of ours
  const auto found = value_or_throw(find_latest(run.path()));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->manifest.state.step, 100);
  EXPECT_EQ(found->path, run / "checkpoints" / "step_100");
  EXPECT_THAT(steps_in(run / "checkpoints"), ElementsAre(9, 10, 100));
}

TEST(CheckpointFolder, SkipsEveryIncompleteOneAndSaysWhy) {  // B114
  const TempFolder run;
  const fs::path checkpoints = run / "checkpoints";
  write_sample(checkpoints, 1);
  write_sample(checkpoints / "step_2", test::sample_manifest(2), /*with_manifest=*/false);
  fs::resize_file(write_sample(checkpoints, 3) / kShard, 0);
  fs::remove(write_sample(checkpoints, 4) / kShard);
  fs::resize_file(write_sample(checkpoints, 5) / kManifestName, 100);
  write_sample(checkpoints / "step_6", test::sample_manifest(5));
  create_folders(checkpoints / partial_folder_name(7, "x"));
  Result<std::optional<FoundCheckpoint>> found = find_latest(run.path());
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->manifest.state.step, 1);
  const std::string notes = render(found.diagnostics());
  EXPECT_EQ(found.diagnostics().size(), 6U) << notes;
  for (const char* part : {"step_2", "manifest.json is missing", "step_3", "has 0 of", "step_4", "is missing", "step_5",
                           "damaged", "step_6", "is of step 5", ".partial-step_7-x", "unfinished"}) {
    EXPECT_THAT(notes, HasSubstr(part));
  }
}

TEST(CheckpointFolder, FindsNothingInANewRunWithoutAnError) {
  const TempFolder run;
  EXPECT_FALSE(value_or_throw(find_latest(run / "not_there")).has_value());
  EXPECT_FALSE(value_or_throw(find_latest(run.path())).has_value());
}

TEST(CheckpointFolder, UnderstandsEveryLevelOfAPath) {  // B121
  const TempFolder run;
  write_sample(run / "checkpoints", 3);
  const fs::path five = write_sample(run / "checkpoints", 5);
  EXPECT_EQ(value_or_throw(find_checkpoint(run.path())).path, five);
  EXPECT_EQ(value_or_throw(find_checkpoint(run / "checkpoints")).path, five);
  EXPECT_EQ(value_or_throw(find_checkpoint(run / "checkpoints" / "step_3")).manifest.state.step, 3);
}

TEST(CheckpointFolder, NamesWhatItTriedWhenAPathHoldsNone) {  // B113
  const TempFolder run;
  Result<FoundCheckpoint> nowhere = find_checkpoint(run / "nowhere");
  ASSERT_FALSE(nowhere.ok());
  const std::string text = render(nowhere.diagnostics());
  EXPECT_THAT(text, HasSubstr("nowhere/checkpoints"));
  EXPECT_THAT(text, HasSubstr("does not exist"));
  fs::remove(write_sample(run / "checkpoints", 3) / kShard);
  EXPECT_THAT(render(find_checkpoint(run.path()).diagnostics()), HasSubstr("step_3"));
  EXPECT_THAT(render(find_checkpoint(run / "checkpoints" / "step_3").diagnostics()), HasSubstr("not complete"));
}

TEST(CheckpointFolder, VerifiesAWholeCheckpoint) {
  const TempFolder run;
  uint64_t last = 0;
  EXPECT_THAT(verify_checkpoint(write_sample(run.path(), 3), [&](uint64_t done) { last = done; }), IsEmpty());
  EXPECT_EQ(last, 6U);
}

TEST(CheckpointFolder, NoticesEveryChangedByteOfADataFile) {
  const TempFolder run;
  const fs::path folder = write_sample(run.path(), 3);
  const auto size_bytes = static_cast<int64_t>(fs::file_size(folder / kShard));
  for (int64_t from_end = 1; from_end <= size_bytes; ++from_end) {
    damage(folder / kShard, from_end);
    const std::string findings = render(verify_checkpoint(folder));
    EXPECT_THAT(findings, HasSubstr(kShard)) << from_end;
    damage(folder / kShard, from_end);
  }
  EXPECT_THAT(verify_checkpoint(folder), IsEmpty());
}

TEST(CheckpointFolder, NamesTheTensorThatIsDamaged) {
  const TempFolder run;
  const fs::path folder = write_sample(run.path(), 3);
  damage(folder / kShard, 2);  // the last letter of "hello"
  const std::string findings = render(verify_checkpoint(folder));
  EXPECT_THAT(findings, HasSubstr("'model.w' [2:5]"));
  fs::resize_file(folder / kShard, 20);
  EXPECT_THAT(render(verify_checkpoint(folder)), HasSubstr("cut short"));
  fs::remove(folder / kShard);
  EXPECT_THAT(render(verify_checkpoint(folder)), HasSubstr("missing"));
  fs::remove(folder / kManifestName);
  EXPECT_THAT(render(verify_checkpoint(folder)), HasSubstr(kManifestName));
}

TEST(CheckpointFolder, NoticesATensorThatTheManifestDoesNotList) {
  const TempFolder run;
  Manifest manifest = test::sample_manifest(3);
  manifest.tensors.pop_back();
  const fs::path folder = write_sample(run / "step_3", manifest);
  EXPECT_THAT(render(verify_checkpoint(folder)), HasSubstr("'optimizer.count' is not in the manifest"));
}

TEST(CheckpointFolder, CleansUpAfterACrash) {
  const TempFolder run;
  write_sample(run.path(), 3);
  write_sample(run / partial_folder_name(4, "half"), test::sample_manifest(4), /*with_manifest=*/false);
  write_sample(run / partial_folder_name(5, "whole"), test::sample_manifest(5));
  write_sample(run / partial_folder_name(3, "older"), test::sample_manifest(3));
  write_sample(run / ".trash-step_1-1", test::sample_manifest(1));
  create_folders(run / ".failed-step_2-x");
  create_folders(run / ".of_somebody_else");
  EXPECT_EQ(clean_checkpoints(run.path()).size(), 5U);
  EXPECT_THAT(steps_in(run.path()), ElementsAre(3, 5));
  EXPECT_THAT(verify_checkpoint(run / "step_5"), IsEmpty());
  EXPECT_TRUE(fs::exists(run / ".of_somebody_else"));
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path()), fs::directory_iterator()), 3);
  EXPECT_THAT(clean_checkpoints(run.path()), IsEmpty());
  EXPECT_THAT(clean_checkpoints(run / "not_there"), IsEmpty());
}

TEST(CheckpointFolder, PutsAFinishedSaveInThePlaceOfADamagedOne) {
  const TempFolder run;
  fs::remove(write_sample(run.path(), 5) / kManifestName);
  write_sample(run / partial_folder_name(5, "whole"), test::sample_manifest(5));
  clean_checkpoints(run.path());
  EXPECT_THAT(verify_checkpoint(run / "step_5"), IsEmpty());
}

TEST(CheckpointFolder, KeepsTheLastOnesAndTheRoundOnes) {
  const TempFolder run;
  for (const int64_t step : {10, 15, 20, 25, 30, 35}) write_sample(run.path(), step);
  EXPECT_THAT(apply_retention(run.path(), {}, 35), IsEmpty());
  EXPECT_THAT(apply_retention(run.path(), {.keep_last = 2, .keep_every = 10}, 35), ElementsAre(15, 25));
  EXPECT_THAT(apply_retention(run.path(), {.keep_last = 1}, 35), ElementsAre(10, 20, 30));
  EXPECT_THAT(steps_in(run.path()), ElementsAre(35));
}

TEST(CheckpointFolder, NeverRemovesTheOnlyCompleteOneNorIncompleteNorNewerOnes) {
  const TempFolder run;
  write_sample(run.path(), 10);
  fs::remove(write_sample(run.path(), 20) / kManifestName);
  write_sample(run.path(), 30);
  EXPECT_THAT(apply_retention(run.path(), {.keep_last = 1}, 20), IsEmpty());
  EXPECT_THAT(apply_retention(run.path(), {.keep_last = 1}, 30), ElementsAre(10));
  EXPECT_THAT(steps_in(run.path()), ElementsAre(20, 30));
}

}  // namespace
}  // namespace primus::hub
