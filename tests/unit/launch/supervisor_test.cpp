#include "primus/launch/supervisor.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "primus/base/error.h"

namespace primus::launch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// False for a process that is gone, and for one that only waits to be collected.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return !state.empty() && state != "Z" && state != "X";
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 2000 && is_alive(pid); ++i) std::this_thread::sleep_for(5ms);
  return !is_alive(pid);
}

// Runs shell scripts as ranks, with the console in files.
class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "supervisor-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.out_fd = ::open((folder_ / "out").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    options_.err_fd = ::open((folder_ / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    options_.grace_after_failure = 300ms;
    options_.grace_after_stop = 20s;
  }
  void TearDown() override {
    ::close(options_.out_fd);
    ::close(options_.err_fd);
    fs::remove_all(folder_);
  }

  void add_rank(const std::string& script, std::vector<std::string> arguments = {}) {
    const int rank = static_cast<int>(options_.ranks.size());
    RankCommand command{.rank = rank, .arguments = {"/bin/sh", "-c", script, "stub"}};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = {{"RANK", std::to_string(rank)}, {"FOLDER", folder_.string()}};
    command.log_file = folder_ / ("rank-" + std::to_string(rank) + ".log");
    options_.ranks.push_back(command);
  }
  std::string content(const std::string& name) const { return value_or_throw(read_text_file(folder_ / name)); }
  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }
  void wait_for(const std::string& name) const {
    while (!exists(name)) std::this_thread::sleep_for(5ms);
  }
  // Runs the job in a child process that tests may send signals to.
  pid_t run_in_child() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(run_job(options_));
    return pid;
  }
  static int exit_code_of(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path folder_;
  JobOptions options_;
};

TEST_F(SupervisorTest, ShowsRankZeroAndKeepsALogOfEveryRank) {
  add_rank("echo hello; echo trouble >&2");
  add_rank("echo from $RANK");
  EXPECT_EQ(run_job(options_), 0);
  EXPECT_EQ(content("out"), "hello\n");
  EXPECT_EQ(content("err"), "trouble\n");
  EXPECT_EQ(content("rank-1.log"), "from 1\n");
  EXPECT_THAT(content("rank-0.log"), HasSubstr("trouble"));
}

TEST_F(SupervisorTest, PassesArgumentsByteByByte) {
  add_rank("printf '<%s>' \"$@\"", {"--exp_name", "my run", "x*y", "", "$HOME", "a\nb", "'\""});
  EXPECT_EQ(run_job(options_), 0);
  EXPECT_EQ(content("out"), "<--exp_name><my run><x*y><><$HOME><a\nb><'\">");
}

TEST_F(SupervisorTest, LosesNothingOfALongOutput) {
  add_rank("i=0; while [ $i -lt 20000 ]; do echo \"line $i of many, many lines\"; i=$((i+1)); done");
  EXPECT_EQ(run_job(options_), 0);
  EXPECT_THAT(content("out"), testing::EndsWith("line 19999 of many, many lines\n"));
  EXPECT_EQ(content("out"), content("rank-0.log"));
}

TEST_F(SupervisorTest, KeepsTheExitCodeOfTheRankThatFailedFirst) {
  add_rank("sleep 30");
  add_rank("echo the reason >&2; exit 7");
  EXPECT_EQ(run_job(options_), 7);
  EXPECT_THAT(content("err"), testing::StartsWith("primus: rank 1 failed first: exit code 7"));
  EXPECT_THAT(content("err"), HasSubstr("[rank 1] the reason"));
}

TEST_F(SupervisorTest, ReportsASignalAs128More) {
  add_rank("kill -SEGV $$");
  EXPECT_EQ(run_job(options_), 128 + SIGSEGV);
  EXPECT_THAT(content("err"), HasSubstr("signal 11 (SIGSEGV)"));
}

TEST_F(SupervisorTest, KillsARankThatIgnoresTheRequestToEnd) {
  add_rank("trap '' TERM; while :; do sleep 0.1; done");
  add_rank("sleep 0.1; exit 3");
  EXPECT_EQ(run_job(options_), 3);
  EXPECT_THAT(content("err"), HasSubstr("1 rank did not end within 0.3 s"));
}

TEST_F(SupervisorTest, EndsWhatARankHasStartedWhenTheRankEnds) {
  add_rank("sleep 300 & echo $! > $FOLDER/child; exit 0");
  EXPECT_EQ(run_job(options_), 0);
  const pid_t child = std::stoi(content("child"));
  EXPECT_TRUE(ends_soon(child));
}

TEST_F(SupervisorTest, ASignalReachesEveryRankAndTheyMaySave) {
  for (int rank = 0; rank < 2; ++rank) {
    add_rank(
        "trap 'echo saved > $FOLDER/saved-$RANK; exit 0' TERM; : > $FOLDER/ready-$RANK; while :; do sleep 0.02; done");
  }
  const pid_t job = run_in_child();
  wait_for("ready-0");
  wait_for("ready-1");
  ::kill(job, SIGINT);
  EXPECT_EQ(exit_code_of(job), 128 + SIGINT);
  EXPECT_TRUE(exists("saved-0"));
  EXPECT_TRUE(exists("saved-1"));
}

TEST_F(SupervisorTest, ARankThatFailsWhileSavingIsTheResult) {
  add_rank("trap 'echo disk full >&2; exit 1' TERM; : > $FOLDER/ready-0; while :; do sleep 0.02; done");
  const pid_t job = run_in_child();
  wait_for("ready-0");
  ::kill(job, SIGTERM);
  EXPECT_EQ(exit_code_of(job), 1);
  EXPECT_THAT(content("err"), HasSubstr("disk full"));
}

TEST_F(SupervisorTest, ASecondInterruptKills) {
  add_rank("trap ': > $FOLDER/asked' TERM; : > $FOLDER/ready-0; while :; do sleep 0.02; done");
  const pid_t job = run_in_child();
  wait_for("ready-0");
  ::kill(job, SIGINT);
  wait_for("asked");
  ::kill(job, SIGINT);
  EXPECT_EQ(exit_code_of(job), 128 + SIGINT);
}

TEST_F(SupervisorTest, NothingOutlivesALauncherThatIsKilled) {
  add_rank("sleep 300 & echo $! > $FOLDER/child.part; mv $FOLDER/child.part $FOLDER/child; wait");
  const pid_t job = run_in_child();
  wait_for("child");
  ::kill(job, SIGKILL);
  EXPECT_EQ(exit_code_of(job), 128 + SIGKILL);
  const pid_t child = std::stoi(content("child"));
  EXPECT_TRUE(ends_soon(child));
}

TEST_F(SupervisorTest, RefusesAProgramThatIsNotThere) {
  add_rank("sleep 300");
  options_.ranks.push_back({.rank = 1, .arguments = {"/no/such/program"}});
  EXPECT_THROW(run_job(options_), MissingPartError);
}

TEST_F(SupervisorTest, RefusesAFolderInWhichNoLogCanBeWritten) {
  add_rank("exit 0");
  options_.ranks[0].log_file = "/proc/no-such/rank-0.log";
  EXPECT_THROW(run_job(options_), RunError);
}

}  // namespace
}  // namespace primus::launch
