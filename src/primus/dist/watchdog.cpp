#include "primus/dist/watchdog.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace primus::dist {

namespace {

constexpr double kPeriodSeconds = 1;
constexpr double kSecondsToLeave = 5;  // after a failed operation
constexpr int kTicksUntilEnded = 2;    // an operation that waits for the ended rank tells first, with its name

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double period(const WatchdogLimits& limits) {
  return std::min(kPeriodSeconds, limits.heartbeat_seconds / 4);
}

}  // namespace

void end_process(const std::string& report) {
  const std::string line = report + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(nullptr);
  std::_Exit(1);
}

struct Watchdog::Watched {
  int rank = 0;
  RankStatus last{};
  double heard_at_s = 0;
  int num_ticks_ended = 0;
};

Watchdog::Watchdog(std::string group_name, int rank, int num_ranks, StatusBoard& board, WatchdogLimits limits,
                   std::function<void(const std::string&)> end)
    : group_name_(std::move(group_name)),
      rank_(rank),
      num_ranks_(num_ranks),
      board_(board),
      limits_(limits),
      end_(std::move(end)) {
  const double now_s = now_seconds();
  for (const int peer : board_.watched()) watched_.push_back({.rank = peer, .heard_at_s = now_s});
  last_tick_s_ = now_s;
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
  own_.left = true;
  own_.failed = !failure_.empty();
  try {
    board_.publish(own_);
  } catch (const std::exception&) {
    // Who would read it is gone.
  }
}

void Watchdog::set_step(int64_t step) {
  const std::lock_guard lock(mutex_);
  own_.step = step;
}

void Watchdog::begin(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  own_.sequence = operation.sequence;
  own_.operation = operation.text;
  own_.waiting = true;
  waiting_since_s_ = now_seconds();
}

void Watchdog::finish() {
  const std::lock_guard lock(mutex_);
  own_.waiting = false;
}

void Watchdog::failed(const std::string& report) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  failure_ = report;
  failed_at_s_ = now_seconds();
}

RankStatus Watchdog::own() const {
  const std::lock_guard lock(mutex_);
  return own_;
}

std::string Watchdog::here(const RankStatus& own) const {
  return fmt::format("group {}, rank {}: {}", group_name_, rank_, describe(own));
}

void Watchdog::run() {
  const auto pause = std::chrono::duration<double>(period(limits_));
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    try {
      tick(now_seconds());
    } catch (const std::exception& error) {
      failed(fmt::format("{} ({})", error.what(), here(own())));
    }
    lock.lock();
    stop_changed_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

void Watchdog::tick(double now_s) {
  RankStatus own;
  double waited_s = 0;
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    ++own_.num_beats;
    own = own_;
    waited_s = own.waiting ? now_s - waiting_since_s_ : 0;
    if (!failure_.empty() && now_s - failed_at_s_ > kSecondsToLeave) failure = failure_;
    if (!failure_.empty() && failure.empty()) return;
  }
  if (!failure.empty()) end_(failure);
  board_.publish(own);
  // When this process itself was stopped for a while, the silence was here.
  if (now_s - last_tick_s_ > std::min(3 * period(limits_) + 1, limits_.heartbeat_seconds / 2)) {
    for (Watched& watched : watched_) watched.heard_at_s = now_s;
  }
  last_tick_s_ = now_s;
  for (Watched& watched : watched_) look_at(watched, now_s);
  if (own.waiting) look_at_operation(own, waited_s, now_s);
}

void Watchdog::look_at(Watched& watched, double now_s) {
  const std::optional<RankStatus> status = board_.read(watched.rank);
  const bool heard = status && status->num_beats != watched.last.num_beats;
  if (status) watched.last = *status;
  if (watched.last.left) return;
  if (board_.ended(watched.rank)) {
    // It may have left between the two look-ups.
    if (++watched.num_ticks_ended >= kTicksUntilEnded && !board_.read(watched.rank).value_or(RankStatus{}).left) {
      end_(fmt::format("lost peer rank {}: its process has ended; its last word: {} ({})", watched.rank,
                       describe(watched.last), here(own())));
    }
    return;
  }
  const bool board_is_silent = !status && watched.rank != board_.keeper();
  if (heard || board_is_silent) {
    watched.heard_at_s = now_s;
    return;
  }
  const double silent_s = now_s - watched.heard_at_s;
  if (silent_s > limits_.heartbeat_seconds) {
    end_(fmt::format("rank {} is stuck: no heartbeat for {:.0f} s; its last word: {} ({})", watched.rank, silent_s,
                     describe(watched.last), here(own())));
  }
}

void Watchdog::look_at_operation(const RankStatus& own, double waited_s, double now_s) {
  const bool compare = waited_s > limits_.compare_seconds && now_s - last_compare_s_ > limits_.compare_seconds;
  const bool timed_out = waited_s > limits_.operation_seconds;
  if (!compare && !timed_out) return;
  last_compare_s_ = now_s;
  std::vector<std::string> missing;
  for (int peer = 0; peer < num_ranks_; ++peer) {
    if (peer == rank_) continue;
    std::optional<RankStatus> status = board_.read(peer);
    if (!status) {
      const auto known = std::ranges::find(watched_, peer, &Watched::rank);
      if (known != watched_.end() && known->last.num_beats > 0) status = known->last;
    }
    if (!status) {
      missing.push_back(fmt::format("rank {} (no news of it)", peer));
      continue;
    }
    if (status->sequence == own.sequence && status->operation != own.operation) {
      end_(fmt::format("ranks are in different operations: rank {} in {}, rank {} in {}, both as operation {} ({})",
                       rank_, own.operation, peer, status->operation, own.sequence, here(own)));
    }
    if (status->sequence < own.sequence) missing.push_back(fmt::format("rank {} ({})", peer, describe(*status)));
  }
  if (!timed_out) return;
  end_(fmt::format("{} has waited {:.0f} s, longer than distributed_timeout_minutes allows; not there: {} ({})",
                   own.operation, waited_s,
                   missing.empty() ? "no rank is missing" : fmt::format("{}", fmt::join(missing, ", ")), here(own)));
}

}  // namespace primus::dist
