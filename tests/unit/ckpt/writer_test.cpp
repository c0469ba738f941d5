#include "primus/ckpt/writer.h"

#include <csignal>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "unit/ckpt/sample_state.h"
#include "unit/hub/temp_folder.h"

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/hub/checkpoint_reader.h"

namespace primus::ckpt {
namespace {

using test::sample_request;
using test::TempFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

hub::FoundCheckpoint latest(const fs::path& folder) {
  return value_or_throw(hub::find_checkpoint(folder));
}

// Runs `work` and returns the message of the RunError that it throws; empty when it throws none.
std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

struct HookGuard {
  explicit HookGuard(FaultHook hook) { set_fault_hook(std::move(hook)); }
  ~HookGuard() { set_fault_hook({}); }
};

size_t num_entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(CheckpointWriter, SavesEverythingInTheForegroundAndInTheBackground) {
  for (const bool in_background : {false, true}) {
    const TempFolder run;
    Writer writer({.checkpoints = run / "checkpoints", .in_background = in_background});
    writer.save(sample_request(3));
    writer.wait();
    EXPECT_FALSE(writer.busy());
    EXPECT_EQ(test::differences(latest(run.path()), 3), "");
    EXPECT_THAT(hub::verify_checkpoint(run / "checkpoints" / "step_3"), IsEmpty());
    EXPECT_EQ(num_entries(run / "checkpoints"), 1U);
    EXPECT_EQ(num_entries(run / "checkpoints" / "step_3"), 3U);
    EXPECT_EQ(writer.last_report().step, 3);
    EXPECT_EQ(writer.last_report().bytes, (35U + 5U) * 2 + 35U * 4 * 2 + 8U);
  }
}

TEST(CheckpointWriter, KeepsTheStateOfTheTrainer) {
  const TempFolder run;
  Writer writer({.checkpoints = run.path(), .in_background = false});
  writer.save(sample_request(4));
  const hub::Manifest manifest = latest(run.path()).manifest;
  const hub::CheckpointState& state = manifest.state;
  EXPECT_EQ(state.consumed_tokens, 4 * 12 * 64);
  EXPECT_EQ(state.seed, 18446744073709551557ULL);
  EXPECT_EQ(state.extra.at("loss_scale"), 65536.0);
  EXPECT_EQ(state.gemm_route, "onednn");
  EXPECT_EQ(state.torch_version, "2.15.0");
  EXPECT_EQ(manifest.created.size(), 20U);
}

TEST(CheckpointWriter, SavesWhatWasThereWhenItWasCalled) {
  const TempFolder run;
  Writer writer({.checkpoints = run.path()});
  for (const int64_t step : {3, 4}) {  // the second save reuses the buffers of the first
    SaveRequest request = sample_request(step);
    writer.save(request);
    for (NamedShard& shard : request.shards) shard.data.fill_(-1);
    writer.wait();
    EXPECT_EQ(test::differences(latest(run.path()), step), "");
  }
}

TEST(CheckpointWriter, ReservesItsBuffersWithoutWritingAnything) {
  const TempFolder run;
  Writer writer({.checkpoints = run / "checkpoints"});
  writer.reserve(sample_request(1).shards);
  EXPECT_FALSE(fs::exists(run / "checkpoints"));
  writer.save(sample_request(2));
  writer.wait();
  EXPECT_EQ(test::differences(latest(run.path()), 2), "");
}

// Runs one save on every rank, each with its own thread; returns the failures by rank.
std::vector<std::string> save_on_all(const fs::path& checkpoints, int64_t step, int world_size, bool in_background,
                                     std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  std::vector<std::future<std::string>> running;
  for (int rank = 0; rank < world_size; ++rank) {
    running.push_back(std::async(std::launch::async, [=] {
      Writer writer({.checkpoints = checkpoints,
                     .rank = rank,
                     .world_size = world_size,
                     .session = "s" + std::to_string(step),
                     .in_background = in_background,
                     .rank_timeout = timeout});
      return failure_of([&] {
        writer.save(sample_request(step, rank, world_size));
        writer.wait();
      });
    }));
  }
  std::vector<std::string> failures;
  for (auto& result : running) failures.push_back(result.get());
  return failures;
}

TEST(CheckpointWriter, MakesOneCheckpointOfManyRanks) {
  for (const int world_size : {2, 3, 5}) {
    const TempFolder run;
    const std::vector<std::string> failures = save_on_all(run.path(), 6, world_size, world_size != 3);
    EXPECT_THAT(failures, ::testing::Each(""));
    const hub::FoundCheckpoint found = latest(run.path());
    EXPECT_EQ(found.manifest.world_size, world_size);
    EXPECT_EQ(test::differences(found, 6), "");
    EXPECT_THAT(hub::verify_checkpoint(found.path), IsEmpty());
    EXPECT_EQ(num_entries(found.path), 2U * static_cast<size_t>(world_size) + 1);
  }
}

TEST(CheckpointWriter, TellsEveryRankWhenOneCannotWrite) {  // B115
  const TempFolder run;
  EXPECT_THAT(save_on_all(run.path(), 5, 2, true), ::testing::Each(""));
  for (const char* culprit : {"optimizer-00001", "model-00000", "rank-1.json", "manifest.json"}) {
    const HookGuard guard([&](std::string_view step, const fs::path& path) {
      if (step == "open" && path.filename().string().starts_with(culprit)) throw RunError("no write permission here");
    });
    const std::vector<std::string> failures = save_on_all(run.path(), 6, 2, true);
    for (const std::string& failure : failures) {
      EXPECT_THAT(failure, HasSubstr("step 6 was not saved")) << culprit;
      EXPECT_THAT(failure, HasSubstr("no write permission here")) << culprit;
      EXPECT_THAT(failure, HasSubstr(run.path().string())) << culprit;
    }
    hub::clean_checkpoints(run.path());
    EXPECT_EQ(test::differences(latest(run.path()), 5), "");
    EXPECT_EQ(num_entries(run.path()), 1U);
  }
  EXPECT_THAT(save_on_all(run.path(), 6, 2, true), ::testing::Each(""));
  EXPECT_EQ(test::differences(latest(run.path()), 6), "");
}

TEST(CheckpointWriter, GivesUpWhenAnotherRankNeverReports) {
  const TempFolder run;
  for (const int rank : {0, 1}) {
    Writer writer({.checkpoints = run.path(),
                   .rank = rank,
                   .world_size = 2,
                   .session = "s",
                   .rank_timeout = std::chrono::milliseconds(60)});
    writer.save(sample_request(6, rank, 2));
    EXPECT_THAT(failure_of([&] { writer.wait(); }), HasSubstr(rank == 0 ? "rank 1 did not write" : "within 0.06 s"));
    hub::clean_checkpoints(run.path());
    EXPECT_FALSE(hub::find_checkpoint(run.path()).ok());
    EXPECT_TRUE(fs::is_empty(run.path()));
  }
}

TEST(CheckpointWriter, RefusesShardsThatDoNotMakeWholeTensors) {
  const TempFolder run;
  Writer writer({.checkpoints = run.path(), .in_background = false});
  SaveRequest request = sample_request(1);
  request.shards[0].data = request.shards[0].data.slice(0, 0, 6).contiguous();
  EXPECT_THAT(failure_of([&] { writer.save(request); }), HasSubstr("boxes cover 30 of 35"));
  request = sample_request(1);
  request.shards.push_back(request.shards[1]);
  EXPECT_THAT(failure_of([&] { writer.save(request); }), HasSubstr("overlap"));
  request.shards.back().global_shape = {6};
  EXPECT_THAT(failure_of([&] { writer.save(request); }), HasSubstr("disagree on 'model.norm.weight'"));
  EXPECT_TRUE(fs::is_empty(run.path()));
}

TEST(CheckpointWriter, SurvivesAFullDiskWithTheOldCheckpoint) {  // B114
  const TempFolder run;
  Writer writer({.checkpoints = run.path(), .retention = {.keep_last = 1}});
  writer.save(sample_request(5));
  writer.wait();
  {
    const HookGuard guard([](std::string_view step, const fs::path& path) {
      if (step == "write" && path.extension() == ".safetensors")
        throw RunError("cannot write: No space left on device");
    });
    writer.save(sample_request(6));
    const std::string failure = failure_of([&] { writer.wait(); });
    EXPECT_THAT(failure, HasSubstr("No space left on device"));
    EXPECT_THAT(failure, HasSubstr("needs 368"));
    EXPECT_THAT(failure, HasSubstr("free in '" + run.path().string() + "'"));
  }
  EXPECT_EQ(num_entries(run.path()), 1U);
  EXPECT_EQ(test::differences(latest(run.path()), 5), "");
  writer.save(sample_request(7));
  writer.wait();
  EXPECT_EQ(test::differences(latest(run.path()), 7), "");
}

// A limit on the size of files is the nearest to a full disk that a test may have.
TEST(CheckpointWriter, SurvivesAFileSizeLimitOfTheSystem) {
  const TempFolder run;
  Writer(WriterOptions{.checkpoints = run.path(), .in_background = false}).save(sample_request(5));
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 200, .rlim_max = 200};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Writer writer({.checkpoints = run.path(), .in_background = false});
    const std::string failure = failure_of([&] { writer.save(sample_request(6)); });
    ::_exit(failure.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(num_entries(run.path()), 1U);
  EXPECT_EQ(test::differences(latest(run.path()), 5), "");
}

TEST(CheckpointWriter, PassesTheFailureOfABackgroundSaveToTheNextCall) {
  const TempFolder run;
  write_file_atomic(run / "checkpoints", "a file where a folder should be");
  Writer writer({.checkpoints = run / "checkpoints"});
  writer.save(sample_request(1));
  EXPECT_THAT(failure_of([&] { writer.save(sample_request(2)); }), HasSubstr("step 1 was not saved"));
  EXPECT_EQ(failure_of([&] { writer.wait(); }), "");
}

TEST(CheckpointWriter, RemovesOldCheckpointsAndSaysSo) {
  const TempFolder run;
  Writer writer({.checkpoints = run.path(), .retention = {.keep_last = 2}});
  for (const int64_t step : {1, 2, 3}) writer.save(sample_request(step));
  writer.wait();
  EXPECT_EQ(num_entries(run.path()), 2U);
  EXPECT_FALSE(fs::exists(run / "step_1"));
  ASSERT_EQ(writer.last_report().notes.size(), 1U);
  EXPECT_THAT(writer.last_report().notes[0].message, HasSubstr("step 1"));
}

TEST(CheckpointWriter, KeepsASaveWhoseOldOnesCannotBeRemoved) {
  const TempFolder run;
  Writer writer({.checkpoints = run.path(), .retention = {.keep_last = 1}});
  writer.save(sample_request(1));
  writer.wait();
  const HookGuard guard([](std::string_view step, const fs::path&) {
    if (step == "unlink") throw RunError("no permission");
  });
  writer.save(sample_request(2));
  EXPECT_EQ(failure_of([&] { writer.wait(); }), "");
  ASSERT_EQ(writer.last_report().notes.size(), 1U);
  EXPECT_EQ(writer.last_report().notes[0].severity, Severity::Warning);
  EXPECT_EQ(test::differences(latest(run.path()), 2), "");
}

TEST(CheckpointWriter, ReplacesACheckpointOfTheSameStep) {
  const TempFolder run;
  SaveRequest old = sample_request(8);
  for (NamedShard& shard : old.shards) shard.data.fill_(0);
  Writer(WriterOptions{.checkpoints = run.path(), .in_background = false}).save(old);
  EXPECT_NE(test::differences(latest(run.path()), 8), "");
  Writer(WriterOptions{.checkpoints = run.path(), .in_background = false}).save(sample_request(8));
  EXPECT_EQ(test::differences(latest(run.path()), 8), "");
  EXPECT_EQ(num_entries(run.path()), 1U);
}

TEST(CheckpointWriter, StopsMistakesOfItsCaller) {
  EXPECT_THROW(Writer({.checkpoints = "x", .rank = 2, .world_size = 2, .session = "s"}), InternalError);
  EXPECT_THROW(Writer({.checkpoints = "x", .rank = 0, .world_size = 2}), InternalError);
  EXPECT_THROW(Writer({.checkpoints = "x", .session = "a/b"}), InternalError);
  const TempFolder run;
  Writer writer({.checkpoints = run.path()});
  SaveRequest request = sample_request(1);
  request.shards[0].data = request.shards[0].data.t();
  EXPECT_THROW(writer.save(request), InternalError);
  request.shards[0] = NamedShard{"model.x", {2}, {0, 0}, at::zeros({2})};
  EXPECT_THROW(writer.save(request), InternalError);
}

}  // namespace
}  // namespace primus::ckpt
