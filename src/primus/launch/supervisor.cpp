#include "primus/launch/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/launch/failure_report.h"
#include "primus/launch/orphan_guard.h"

namespace primus::launch {
namespace {

using Clock = std::chrono::steady_clock;
// After the first failure others may be failing by themselves; they get this long to say why before they are told to
// end.
constexpr std::chrono::milliseconds kSettleTime{200};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {  // somebody made the terminal non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
      continue;
    }
    if (size <= 0) return;  // a closed console is no reason to end a training run
    text.remove_prefix(static_cast<size_t>(size));
  }
}

int open_log(const fs::path& path) {
  if (path.empty()) return -1;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) throw RunError("cannot write '" + path.string() + "': " + std::strerror(errno));
  return fd;
}

// Blocks the signals that the loop reads, for its lifetime.
class SignalReader {
 public:
  SignalReader() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&wanted, number);
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    old_pipe_action_ = std::signal(SIGPIPE, SIG_IGN);
    fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalReader() {
    ::close(fd_);
    std::signal(SIGPIPE, old_pipe_action_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;

  int fd() const { return fd_; }
  std::optional<int> next() const {
    signalfd_siginfo info{};
    if (::read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  void (*old_pipe_action_)(int) = SIG_DFL;
  int fd_ = -1;
};

struct Rank {
  explicit Rank(const RankCommand& command) : log_fd(open_log(command.log_file)), process(command) {}
  int log_fd;
  RankProcess process;
  bool out_open = true;
  bool err_open = true;
  LineTail out_tail, err_tail;
  RankStory story;
};

class Supervisor {
 public:
  explicit Supervisor(const JobOptions& options) : options_(options), launcher_log_(open_log(options.launcher_log)) {}
  ~Supervisor() {
    for (auto& rank : ranks_) {
      if (rank.log_fd >= 0) ::close(rank.log_fd);
    }
    if (launcher_log_ >= 0) ::close(launcher_log_);
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  int run() {
    start();
    while (num_running() > 0) turn();
    for (auto& rank : ranks_) drain(rank);
    return conclude();
  }

 private:
  enum class Phase { Running, Settling, Stopping, Killed };

  void start();
  void turn();
  void handle_signal(int number);
  void handle_ends();
  void handle_deadline();
  void forward(Rank& rank, bool from_err);
  void drain(Rank& rank);
  void signal_all(int number);
  void stop_all(std::chrono::milliseconds grace);
  void kill_all();
  int conclude();
  void say(const std::string& text);
  // Ending by the signal that the user's stop became, or by the code that stands for it.
  bool is_asked_for(const ProcessEnd& end) const {
    const int code = end.as_exit_code();
    return stop_signal_ && (code == 128 + SIGTERM || code == 128 + *stop_signal_ || code == 128 + SIGKILL);
  }
  int num_running() const {
    return static_cast<int>(
        std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.process.running(); }));
  }

  const JobOptions& options_;
  int launcher_log_;
  SignalReader signals_;  // before the guard and the ranks, so that no signal is lost while they start
  OrphanGuard guard_;
  std::vector<Rank> ranks_;
  Phase phase_ = Phase::Running;
  std::optional<Clock::time_point> deadline_;
  std::optional<int> stop_signal_;  // the user's, when it came before any failure
  Clock::time_point start_ = Clock::now();
};

void Supervisor::start() {
  ranks_.reserve(options_.ranks.size());
  for (const RankCommand& command : options_.ranks) {
    ranks_.emplace_back(command);
    Rank& rank = ranks_.back();
    guard_.watch(rank.process.pid());
    rank.story.rank = command.rank;
    rank.story.local_rank = static_cast<int>(ranks_.size()) - 1;
    rank.story.pid = rank.process.pid();
    rank.story.log_file = command.log_file.string();
  }
}

// One wait and everything it brought. Signals first, then output, then ends: what a rank wrote before it ended is shown
// before its end is acted upon, while its death is seen before the complaints of its peers that are still to come.
void Supervisor::turn() {
  std::vector<pollfd> waiting{{signals_.fd(), POLLIN, 0}};
  for (const Rank& rank : ranks_) {
    waiting.push_back({rank.out_open ? rank.process.out_fd() : -1, POLLIN, 0});
    waiting.push_back({rank.err_open ? rank.process.err_fd() : -1, POLLIN, 0});
    waiting.push_back({rank.process.running() ? rank.process.pid_fd() : -1, POLLIN, 0});
  }
  int timeout_ms = -1;
  if (deadline_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    timeout_ms = static_cast<int>(std::max<int64_t>(left, 0));
  }
  if (::poll(waiting.data(), waiting.size(), timeout_ms) < 0 && errno != EINTR) {
    throw RunError(std::string("poll: ") + std::strerror(errno));
  }
  while (const auto number = signals_.next()) handle_signal(*number);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (waiting[1 + 3 * i].revents != 0) forward(ranks_[i], /*from_err=*/false);
    if (waiting[2 + 3 * i].revents != 0) forward(ranks_[i], /*from_err=*/true);
  }
  handle_ends();
  handle_deadline();
}

void Supervisor::handle_signal(int number) {
  if (number == SIGUSR1 || number == SIGUSR2) return signal_all(number);
  const bool already_stopping = phase_ != Phase::Running;
  if (!already_stopping) {
    stop_signal_ = number;
    say(fmt::format("SIG{}: ranks save and exit{}", ::sigabbrev_np(number),
                    number == SIGINT ? " (Ctrl-C again ends them at once)" : ""));
    stop_all(options_.grace_after_stop);
  } else if (number == SIGINT && phase_ != Phase::Killed) {
    if (!stop_signal_) stop_signal_ = number;
    say("SIGINT again: ranks are killed");
    kill_all();
  }
}

void Supervisor::handle_ends() {
  for (Rank& rank : ranks_) {
    if (!rank.process.running()) continue;
    pollfd ended{rank.process.pid_fd(), POLLIN, 0};
    if (::poll(&ended, 1, 0) <= 0) continue;
    rank.story.end = rank.process.collect();
    rank.story.ended_after_s = std::chrono::duration<double>(Clock::now() - start_).count();
    rank.story.stopped_by_us = phase_ == Phase::Stopping || phase_ == Phase::Killed;
    guard_.release(rank.story.pid);
    if (rank.story.end.good()) continue;
    if (phase_ == Phase::Running) {
      phase_ = Phase::Settling;
      deadline_ = Clock::now() + kSettleTime;
    } else if (phase_ == Phase::Stopping && !is_asked_for(rank.story.end)) {
      // One failed while all were saving: the others cannot finish together any more.
      deadline_ = std::min(*deadline_, Clock::now() + options_.grace_after_failure);
    }
  }
}

void Supervisor::handle_deadline() {
  if (!deadline_ || Clock::now() < *deadline_) return;
  if (phase_ == Phase::Settling) {
    stop_all(options_.grace_after_failure);
  } else if (phase_ == Phase::Stopping) {
    say(fmt::format(
        "{} rank{} did not end within {:g} s and {} killed", num_running(), num_running() == 1 ? "" : "s",
        std::chrono::duration<double>(stop_signal_ ? options_.grace_after_stop : options_.grace_after_failure).count(),
        num_running() == 1 ? "is" : "are"));
    kill_all();
  }
}

// Moves what is there from a pipe to the log, and to the console for the rank that is shown.
void Supervisor::forward(Rank& rank, bool from_err) {
  bool& open = from_err ? rank.err_open : rank.out_open;
  const int fd = from_err ? rank.process.err_fd() : rank.process.out_fd();
  std::array<char, 65536> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    open = false;
    return;
  }
  const std::string_view bytes(buffer.data(), static_cast<size_t>(size));
  (from_err ? rank.err_tail : rank.out_tail).add(bytes);
  if (rank.log_fd >= 0) write_all(rank.log_fd, bytes);
  if (rank.story.rank == options_.console_rank) write_all(from_err ? options_.err_fd : options_.out_fd, bytes);
}

// The ranks are gone; their pipes may still be held by a process that left the group, so only what is there is read.
void Supervisor::drain(Rank& rank) {
  for (const bool from_err : {false, true}) {
    const bool& open = from_err ? rank.err_open : rank.out_open;
    pollfd ready{from_err ? rank.process.err_fd() : rank.process.out_fd(), POLLIN, 0};
    while (open && ::poll(&ready, 1, 0) > 0) forward(rank, from_err);
  }
}

void Supervisor::signal_all(int number) {
  for (const Rank& rank : ranks_) rank.process.signal_group(number);
}

void Supervisor::stop_all(std::chrono::milliseconds grace) {
  phase_ = Phase::Stopping;
  deadline_ = Clock::now() + grace;
  signal_all(SIGTERM);
}

void Supervisor::kill_all() {
  phase_ = Phase::Killed;
  deadline_.reset();
  signal_all(SIGKILL);
}

int Supervisor::conclude() {
  std::vector<RankStory> stories;
  for (Rank& rank : ranks_) {
    rank.story.last_lines = rank.err_tail.lines();
    if (rank.story.last_lines.empty()) rank.story.last_lines = rank.out_tail.lines();
    if (!is_asked_for(rank.story.end)) stories.push_back(rank.story);
  }
  const int cause = find_cause(stories);
  if (cause < 0) return stop_signal_ ? 128 + *stop_signal_ : 0;
  const int exit_code = stories[static_cast<size_t>(cause)].end.as_exit_code();
  say(failure_report(stories, cause) + fmt::format("  exit code of the job: {}", exit_code));
  return exit_code;
}

void Supervisor::say(const std::string& text) {
  const std::string line = "primus: " + text + "\n";
  write_all(options_.err_fd, line);
  if (launcher_log_ >= 0) write_all(launcher_log_, line);
}

}  // namespace

int run_job(const JobOptions& options) {
  return Supervisor(options).run();
}

}  // namespace primus::launch
