// Ends the process at every single step of a save, of its clean-up and of the start after it, and looks at what is
// left.
#include <atomic>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "unit/ckpt/sample_state.h"
#include "unit/hub/temp_folder.h"

#include "primus/base/error.h"
#include "primus/hub/checkpoint_reader.h"

namespace primus::ckpt {
namespace {

using test::sample_request;
using test::TempFolder;

constexpr int kCrashed = 42;

// Runs `work` in a child that ends at its n-th fault point (counted from 1). Returns the child's exit code: kCrashed,
// or 0 when the work was done before. The steps that were passed are appended to `log`.
int run_until(int n, const fs::path& log, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> count{0};
    set_fault_hook([&](std::string_view step, const fs::path&) {
      std::ofstream(log, std::ios::app) << step << "\n";
      if (++count >= n) ::_exit(kCrashed);
    });
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void save(const fs::path& checkpoints, int64_t step, int rank, int world_size, bool in_background) {
  Writer writer({.checkpoints = checkpoints,
                 .rank = rank,
                 .world_size = world_size,
                 .session = "step" + std::to_string(step),
                 .in_background = in_background,
                 .retention = {.keep_last = 1}});
  writer.save(sample_request(step, rank, world_size));
  writer.wait();
}

// The newest checkpoint of the run, after a look at every byte of it. Its step, or -1.
int64_t step_of_sound_latest(const fs::path& run) {
  const std::optional<hub::FoundCheckpoint> found = value_or_throw(hub::find_latest(run));
  if (!found) return -1;
  EXPECT_EQ(render(hub::verify_checkpoint(found->path)), "");
  EXPECT_EQ(test::differences(*found, found->manifest.state.step), "");
  return found->manifest.state.step;
}

std::set<std::string> lines_of(const fs::path& path) {
  std::ifstream stream(path);
  std::set<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

// What a restarted job does: clean up, look, save the step again, look again.
void expect_a_restart_works(const fs::path& run, int64_t old_step, int64_t new_step, int n) {
  const fs::path checkpoints = hub::checkpoints_folder(run);
  hub::clean_checkpoints(checkpoints);
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("step_")) << n << ": " << entry.path();
  }
  EXPECT_THAT(step_of_sound_latest(run), ::testing::AnyOf(old_step, new_step)) << n;
  save(checkpoints, new_step, 0, 1, false);
  EXPECT_EQ(step_of_sound_latest(run), new_step) << n;
  EXPECT_EQ(std::distance(fs::directory_iterator(checkpoints), fs::directory_iterator()), 1) << n;
}

// Crashes a save of `new_step` over an existing `old_step` at every fault point in turn.
void crash_everywhere(int64_t old_step, int64_t new_step,
                      const std::function<void(const fs::path& checkpoints)>& work) {
  const TempFolder logs = TempFolder::in_memory();
  bool seen_old = false, seen_new = false;
  int n = 1;
  for (int code = kCrashed; code == kCrashed; ++n) {
    ASSERT_LT(n, 500);
    const TempFolder run = TempFolder::in_memory();
    const fs::path checkpoints = hub::checkpoints_folder(run.path());
    save(checkpoints, old_step, 0, 1, false);
    code = run_until(n, logs / "steps", [&] { work(checkpoints); });
    ASSERT_TRUE(code == kCrashed || code == 0) << n << ": " << code;
    const int64_t found = step_of_sound_latest(run.path());
    EXPECT_THAT(found, ::testing::AnyOf(old_step, new_step)) << n;
    seen_old = seen_old || found == old_step;
    seen_new = seen_new || found == new_step;
    expect_a_restart_works(run.path(), old_step, new_step, n);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(n, 15);
  EXPECT_TRUE(seen_old && seen_new);
  EXPECT_THAT(lines_of(logs / "steps"),
              ::testing::IsSupersetOf({"mkdir", "open", "write", "fsync", "rename", "fsync_folder", "unlink"}));
}

TEST(CrashOfASave, LeavesACompleteCheckpointWhereverItHappens) {  // B114
  crash_everywhere(10, 20, [](const fs::path& checkpoints) { save(checkpoints, 20, 0, 1, false); });
}

TEST(CrashOfASave, LeavesACompleteCheckpointAlsoInTheBackground) {
  crash_everywhere(10, 20, [](const fs::path& checkpoints) { save(checkpoints, 20, 0, 1, true); });
}

TEST(CrashOfASave, LeavesACompleteCheckpointWithTwoRanks) {
  crash_everywhere(10, 20, [](const fs::path& checkpoints) {
    std::thread other([&] { save(checkpoints, 20, 1, 2, false); });
    save(checkpoints, 20, 0, 2, false);
    other.join();
  });
}

TEST(CrashOfASave, LeavesACompleteCheckpointWhenAStepIsSavedAgain) {
  crash_everywhere(20, 20, [](const fs::path& checkpoints) { save(checkpoints, 20, 0, 1, false); });
}

TEST(CrashOfACleanUp, LeavesACompleteCheckpointWhereverItHappens) {  // B114
  const TempFolder logs = TempFolder::in_memory();
  for (int save_step = 1, code = kCrashed; code == kCrashed; save_step += 3) {
    for (int clean_step = 1, clean_code = kCrashed; clean_code == kCrashed; ++clean_step) {
      const TempFolder run = TempFolder::in_memory();
      const fs::path checkpoints = hub::checkpoints_folder(run.path());
      save(checkpoints, 10, 0, 1, false);
      code = run_until(save_step, logs / "save", [&] { save(checkpoints, 20, 0, 1, false); });
      clean_code = run_until(clean_step, logs / "clean", [&] { hub::clean_checkpoints(checkpoints); });
      EXPECT_THAT(step_of_sound_latest(run.path()), ::testing::AnyOf(10, 20)) << save_step << ", " << clean_step;
      expect_a_restart_works(run.path(), 10, 20, clean_step);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

// A disk that fills up (or a network file system that fails) at the n-th step: the save says so or is complete, the old
// checkpoint stays, and the same writer can save again.
TEST(FailureOfASave, LeavesTheOldCheckpointWhereverItHappens) {
  int num_failed = 0;
  bool reached = true;
  for (int n = 1; reached; ++n) {
    ASSERT_LT(n, 500);
    const TempFolder run = TempFolder::in_memory();
    const fs::path checkpoints = hub::checkpoints_folder(run.path());
    save(checkpoints, 10, 0, 1, false);
    Writer writer({.checkpoints = checkpoints, .retention = {.keep_last = 1}});
    int count = 0;
    set_fault_hook([&](std::string_view, const fs::path&) {
      if (++count == n) throw RunError("No space left on device");
    });
    writer.save(sample_request(20));
    bool failed = false;
    try {
      writer.wait();
    } catch (const RunError& error) {
      failed = true;
      EXPECT_THAT(error.what(), ::testing::HasSubstr("No space left on device"));
    }
    set_fault_hook({});
    reached = count >= n;
    num_failed += failed ? 1 : 0;
    EXPECT_THAT(step_of_sound_latest(run.path()), failed ? ::testing::AnyOf(10, 20) : ::testing::AnyOf(20, 20)) << n;
    writer.save(sample_request(30));
    writer.wait();
    EXPECT_EQ(step_of_sound_latest(run.path()), 30) << n;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(num_failed, 10);
}

}  // namespace
}  // namespace primus::ckpt
