#include "primus/base/fault.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/fs.h"

namespace primus {
namespace {

using ::testing::HasSubstr;

fs::path scratch_folder() {
  const fs::path folder = fs::temp_directory_path() / ("primus-fault-" + std::to_string(::getpid()));
  fs::create_directories(folder / "checkpoints");
  return folder;
}

struct Disarm {
  ~Disarm() { set_fault_hook({}); }
};

std::string refusal_of(const std::string& value) {
  const Disarm disarm;
  try {
    install_fault_from_environment(environment_of({{"PRIMUS_FAULT", value}}));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Fault, IsRefusedWhenItMakesNoSense) {
  for (const char* bad : {"x", "0", "-3", "1.5", "4:explode", "4:kill:a:b", ":kill"}) {
    EXPECT_THAT(refusal_of(bad), HasSubstr("PRIMUS_FAULT")) << bad;
  }
  for (const char* good : {"", "1", "7:kill", "7:enospc", "2:enospc:checkpoints"}) EXPECT_EQ(refusal_of(good), "");
}

TEST(Fault, FillsTheDiskFromTheChosenWriteOn) {
  const Disarm disarm;
  const fs::path folder = scratch_folder();
  // open and write of the first file pass, the write of the second one does not.
  install_fault_from_environment(environment_of({{"PRIMUS_FAULT", "7:enospc:checkpoints"}}));
  write_file_atomic(folder / "elsewhere", "not counted");
  write_file_atomic(folder / "checkpoints/first", "five steps");
  EXPECT_THROW(write_file_atomic(folder / "checkpoints/second", "no"), RunError);
  EXPECT_THROW(write_file_atomic(folder / "checkpoints/third", "no"), RunError);
  EXPECT_TRUE(fs::exists(folder / "checkpoints/first"));
  EXPECT_FALSE(fs::exists(folder / "checkpoints/second"));
  EXPECT_NO_THROW(write_file_atomic(folder / "elsewhere", "again"));
  fs::remove_all(folder);
}

TEST(FaultDeathTest, EndsTheProcessAtTheChosenStep) {
  const fs::path folder = scratch_folder();
  const auto write_one = [&] {
    install_fault_from_environment(environment_of({{"PRIMUS_FAULT", "3"}}));
    write_file_atomic(folder / "file", "text");
  };
  EXPECT_EXIT(write_one(), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_FALSE(fs::exists(folder / "file"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace primus
