// Ends a process that would otherwise wait for ever for another rank.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "primus/dist/transport.h"

namespace primus::dist {

struct WatchdogLimits {
  double heartbeat_seconds = 30;   // silence of a rank's watchdog thread after which it counts as stuck
  double compare_seconds = 10;     // an operation that waits longer is compared with those of the other ranks
  double operation_seconds = 600;  // longest wait of one operation
};

// One line to standard error, buffers of files written out, exit code 1. Never returns.
void end_process(const std::string& report);

// A thread that says about once a second that this rank lives, and looks at the others. Slow ranks are left alone: a
// rank that computes keeps its heartbeat.
class Watchdog {
 public:
  // end: end_process, or another in tests.
  Watchdog(std::string group_name, int rank, int num_ranks, StatusBoard& board, WatchdogLimits limits,
           std::function<void(const std::string&)> end = end_process);
  // Tells the others that this rank has left.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Any thread.
  void set_step(int64_t step);
  void begin(const Operation& operation);
  void finish();
  // An operation failed. The caller has some seconds to end the run by itself.
  void failed(const std::string& report);
  RankStatus own() const;

 private:
  struct Watched;
  void run();
  void tick(double now_s);
  void look_at(Watched& watched, double now_s);
  void look_at_operation(const RankStatus& own, double waited_s, double now_s);
  std::string here(const RankStatus& own) const;

  const std::string group_name_;
  const int rank_, num_ranks_;
  StatusBoard& board_;
  const WatchdogLimits limits_;
  const std::function<void(const std::string&)> end_;
  std::vector<Watched> watched_;
  double last_tick_s_ = 0, last_compare_s_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  RankStatus own_;
  double waiting_since_s_ = 0;
  std::string failure_;
  double failed_at_s_ = 0;
  std::thread thread_;
};

}  // namespace primus::dist
