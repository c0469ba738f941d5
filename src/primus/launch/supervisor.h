// Starts the ranks of this node and stays until all of them are gone: output, signals, failures, exit code.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "primus/launch/rank_process.h"

namespace primus::launch {

struct JobOptions {
  std::vector<RankCommand> ranks;                         // of this node, local rank = index
  std::chrono::milliseconds grace_after_failure{10'000};  // SIGTERM to SIGKILL when a rank has failed
  std::chrono::milliseconds grace_after_stop{300'000};    // the same when the user asked to stop: ranks save first
  int console_rank = 0;   // whose output is shown as it comes; none when not on this node
  fs::path launcher_log;  // what the launcher itself says, also here; empty: nowhere
  int out_fd = 1;
  int err_fd = 2;
};

// Exit code of the job: 0 when every rank ended with 0; the code of the rank that failed first (128 + n for a signal);
// 128 + n when signal n stopped the job and the ranks followed.
//
// SIGINT, SIGTERM and SIGHUP of the launcher reach the ranks as SIGTERM, upon which they save and exit; a second SIGINT
// kills. SIGUSR1 and SIGUSR2 are passed on as they are. When a rank fails the others get SIGTERM, and SIGKILL after the
// grace period; a report on err_fd names the first. Signal handling of the calling thread is restored on return. Throws
// MissingPartError when a program cannot be started (what was started is ended).
int run_job(const JobOptions& options);

}  // namespace primus::launch
