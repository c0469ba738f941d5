#include "primus/base/fs.h"

#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

#include "primus/base/error.h"

namespace primus {
namespace {

size_t num_files(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Takes the hook away again, also when an expectation throws.
struct HookGuard {
  explicit HookGuard(FaultHook hook) { set_fault_hook(std::move(hook)); }
  ~HookGuard() { set_fault_hook({}); }
};

TEST(DurableFile, LeavesTheTargetAloneUntilItIsClosed) {
  const test::TempFolder folder;
  write_file_atomic(folder / "state", "old");
  DurableFile file(folder / "state");
  file.write("ne");
  file.write("w");
  EXPECT_EQ(*read_text_file(folder / "state"), "old");
  file.close();
  EXPECT_EQ(*read_text_file(folder / "state"), "new");
  EXPECT_EQ(num_files(folder.path()), 1U);
}

TEST(DurableFile, LeavesNothingBehindWhenItIsNotClosed) {
  const test::TempFolder folder;
  {
    DurableFile file(folder / "state");
    file.write("half");
  }
  EXPECT_EQ(num_files(folder.path()), 0U);
}

TEST(DurableFile, KeepsTheOldContentWhateverStepFails) {
  const test::TempFolder folder;
  write_file_atomic(folder / "state", "old");
  for (const std::string failing : {"open", "write", "fsync", "rename"}) {
    const HookGuard guard([&](std::string_view step, const fs::path&) {
      if (step == failing) throw RunError("no space left");
    });
    EXPECT_THROW(write_file_atomic(folder / "state", "new"), RunError) << failing;
    EXPECT_EQ(*read_text_file(folder / "state"), "old") << failing;
    EXPECT_EQ(num_files(folder.path()), 1U) << failing;
  }
}

TEST(DurableFile, PassesItsStepsThroughTheFaultHookInOrder) {
  const test::TempFolder folder;
  std::vector<std::string> steps;
  const HookGuard guard([&](std::string_view step, const fs::path&) { steps.emplace_back(step); });
  write_file_atomic(folder / "state", "x");
  EXPECT_EQ(steps, (std::vector<std::string>{"open", "write", "fsync", "rename", "fsync_folder"}));
}

TEST(DurableFile, NamesAFolderThatIsNotThere) {
  const test::TempFolder folder;
  try {
    write_file_atomic(folder / "nowhere/state", "x");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("nowhere/state"), std::string::npos);
    EXPECT_EQ(error.code(), ExitCode::RunFailed);
  }
}

TEST(ReadTextFile, SaysWhatIsWrong) {
  const test::TempFolder folder;
  EXPECT_EQ(read_text_file(folder / "missing").diagnostics()[0].message, "no such file");
  EXPECT_NE(read_text_file(folder.path()).diagnostics()[0].message.find("folder"), std::string::npos);
  write_file_atomic(folder / "zero", std::string("a\0b", 3));
  EXPECT_EQ(read_text_file(folder / "zero")->size(), 3U);
}

TEST(MappedFile, MapsBytesAndEmptyFiles) {
  const test::TempFolder folder;
  write_file_atomic(folder / "full", "abc");
  write_file_atomic(folder / "empty", "");
  MappedFile full = std::move(MappedFile::open(folder / "full")).value();
  EXPECT_EQ(full.bytes().size(), 3U);
  EXPECT_EQ(full.bytes()[2], std::byte{'c'});
  EXPECT_TRUE(MappedFile::open(folder / "empty")->bytes().empty());
  EXPECT_FALSE(MappedFile::open(folder / "missing").ok());
  EXPECT_FALSE(MappedFile::open(folder.path()).ok());
  const MappedFile moved = std::move(full);
  EXPECT_EQ(moved.bytes()[0], std::byte{'a'});
}

}  // namespace
}  // namespace primus
