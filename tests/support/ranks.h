// Runs a test body in several processes, one a rank. The processes are forked, and forked processes cannot use thread
// pools that the parent has started: a body that computes calls at::set_num_threads(1) first.
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <ostream>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "primus/base/error.h"
#include "primus/dist/connect.h"

namespace primus::test {

struct RankResult {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  bool was_stopped = false;
  double seconds = 0;  // from the start of all ranks to the end of this one
  std::string output;  // both streams

  friend std::ostream& operator<<(std::ostream& out, const RankResult& result) {
    return out << "exit code " << result.exit_code << ", signal " << result.signal << ", output:\n" << result.output;
  }
};

// Holds a port as the launcher does: bound, not listening.
class HeldPort {
 public:
  HeldPort() : fd_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1, off = 0;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
  }
  ~HeldPort() { ::close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  int port() const { return port_; }
  void listen() { ::listen(fd_, 1); }

 private:
  int fd_;
  int port_ = 0;
};

// The body's exit code; 99 when an expectation failed in it, 98 and the message printed when it threw.
inline int run_body(const std::function<int(const dist::Endpoint&)>& body, const dist::Endpoint& endpoint) {
  // The parent's failures so far came along.
  const auto num_failures = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  const int before = num_failures();
  try {
    const int code = body(endpoint);
    return num_failures() > before ? 99 : code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 98;
  }
}

// `base` says everything but rank, world size and port. Stopped ranks are killed when all others have ended; all are
// after limit_seconds.
inline std::vector<RankResult> run_ranks(int num_ranks, const std::function<int(const dist::Endpoint&)>& body,
                                         dist::Endpoint base = {}, double limit_seconds = 60) {
  using Clock = std::chrono::steady_clock;
  const HeldPort held;
  base.world_size = base.local_world_size = num_ranks;
  base.master_port = held.port();
  std::fflush(nullptr);
  std::vector<pid_t> processes;
  std::vector<FILE*> outputs;
  const Clock::time_point start = Clock::now();
  for (int rank = 0; rank < num_ranks; ++rank) {
    outputs.push_back(std::tmpfile());
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(::fileno(outputs.back()), STDOUT_FILENO);
      ::dup2(::fileno(outputs.back()), STDERR_FILENO);
      base.rank = rank;
      const int code = run_body(body, base);
      std::fflush(nullptr);
      ::_exit(code);
    }
    processes.push_back(process);
  }
  std::vector<RankResult> results(static_cast<size_t>(num_ranks));
  std::vector<bool> ended(results.size(), false);
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (true) {
    bool any_runs = false, any_left = false;
    for (size_t i = 0; i < results.size(); ++i) {
      if (ended[i]) continue;
      int status = 0;
      if (::waitpid(processes[i], &status, WNOHANG | WUNTRACED) == processes[i]) {
        if (WIFSTOPPED(status)) {
          results[i].was_stopped = true;
        } else {
          ended[i] = true;
          results[i].seconds = seconds();
          if (WIFEXITED(status)) results[i].exit_code = WEXITSTATUS(status);
          if (WIFSIGNALED(status)) results[i].signal = WTERMSIG(status);
        }
      }
      any_left = any_left || !ended[i];
      any_runs = any_runs || (!ended[i] && !results[i].was_stopped);
    }
    if (!any_left) break;
    if (!any_runs || seconds() > limit_seconds) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (!ended[i]) ::kill(processes[i], SIGKILL);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::rewind(outputs[i]);
    char buffer[4096];
    for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, outputs[i])) > 0;) results[i].output.append(buffer, n);
    std::fclose(outputs[i]);
  }
  return results;
}

inline void expect_all_good(const std::vector<RankResult>& results) {
  for (size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].exit_code, 0) << "rank " << rank << ": " << results[rank];
  }
}

}  // namespace primus::test
