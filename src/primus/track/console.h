// The table that scrolls by while a run trains: fixed columns, one line per log interval, and the time that is left.
#pragma once

#include <chrono>
#include <memory>

#include "primus/base/log.h"
#include "primus/track/metrics.h"

namespace primus::track {

struct ConsoleOptions {
  int64_t first_step = 0;      // steps done before this start
  int64_t num_steps = 0;       // of the whole run
  int64_t interval_steps = 1;  // a line every so many steps; the first and the last step always have one
};

// step | loss | grad norm | lr | ms | tok/s | FLOP/s | peak share | memory | left. ms and tok/s are means since the
// last line; the first step of a start is left out of every mean and of the time left (it pays for allocation and page
// faults).
std::unique_ptr<Sink> open_console(Logger& log, ConsoleOptions options);

}  // namespace primus::track
