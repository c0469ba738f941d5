#include "primus/launch/rank_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "primus/base/error.h"

extern char** environ;

namespace primus::launch {
namespace {

struct Pipe {
  int read_fd = -1;
  int write_fd = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw RunError(std::string("pipe: ") + std::strerror(errno));
  return {ends[0], ends[1]};
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : added) replaced = replaced || text.compare(0, name.size() + 1, name + "=") == 0;
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct ChildPlan {
  char* const* arguments;
  char* const* environment;
  pid_t parent;
  int out_fd, err_fd, failure_fd;
};

// Only async-signal-safe calls from here to exec.
[[noreturn]] void child_main(const ChildPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the launcher ended before the line above
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd >= 0) ::dup2(null_fd, 0);
  ::dup2(plan.out_fd, 1);
  ::dup2(plan.err_fd, 2);
  ::execve(plan.arguments[0], plan.arguments, plan.environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = ::write(plan.failure_fd, &reason, sizeof reason);
  ::_exit(127);
}

}  // namespace

RankProcess::RankProcess(const RankCommand& command) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = merged_environment(command.environment);
  const std::vector<char*> argument_list = pointers(arguments);
  const std::vector<char*> environment_list = pointers(environment);
  const Pipe out = make_pipe();
  const Pipe err = make_pipe();
  const Pipe failure = make_pipe();
  const ChildPlan plan{argument_list.data(), environment_list.data(), ::getpid(), out.write_fd,
                       err.write_fd,         failure.write_fd};
  pid_ = ::fork();
  if (pid_ == 0) child_main(plan);
  const int fork_error = errno;
  for (const int fd : {out.write_fd, err.write_fd, failure.write_fd}) ::close(fd);
  out_fd_ = out.read_fd;
  err_fd_ = err.read_fd;
  if (pid_ < 0) {
    ::close(failure.read_fd);
    throw RunError(std::string("cannot start a process: ") + std::strerror(fork_error));
  }
  ::setpgid(pid_, pid_);  // both sides do it, so that no signal can come before
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  int reason = 0;
  ssize_t size = 0;
  while ((size = ::read(failure.read_fd, &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  ::close(failure.read_fd);
  if (size == static_cast<ssize_t>(sizeof reason)) {
    collect();
    throw MissingPartError("cannot start '" + command.arguments[0] + "': " + std::strerror(reason));
  }
  if (pid_fd_ < 0) throw MissingPartError("this kernel has no pidfd_open; Linux 5.4 or newer is needed");
  for (const int fd : {out_fd_, err_fd_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)),
      out_fd_(std::exchange(other.out_fd_, -1)),
      err_fd_(std::exchange(other.err_fd_, -1)),
      ended_(other.ended_) {}

RankProcess::~RankProcess() {
  if (running()) {
    signal_group(SIGKILL);
    collect();
  }
  for (const int fd : {pid_fd_, out_fd_, err_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void RankProcess::signal_group(int signal) const {
  if (running()) ::kill(-pid_, signal);
}

ProcessEnd RankProcess::collect() {
  siginfo_t info{};
  // First look, without collecting: as long as the leader is not collected, nobody else can get its group's number.
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  ::kill(-pid_, SIGKILL);
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) < 0 && errno == EINTR) {
  }
  ended_ = true;
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status};
  return {.signal = info.si_status};
}

}  // namespace primus::launch
