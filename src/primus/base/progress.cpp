#include "primus/base/progress.h"

#include <cstdio>
#include <fmt/format.h>

#include "primus/base/log.h"
#include "primus/base/strings.h"

namespace primus {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(total), terminal_(stderr_is_terminal()), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(int64_t done) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - start_ < std::chrono::seconds(2) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string line = fmt::format("\r\033[K{}: {}", what_, format_thousands(done));
  if (total_ > 0 && done > 0) {
    const double left = seconds * static_cast<double>(total_ - done) / static_cast<double>(done);
    line += fmt::format(" of {} ({:.0f} %), {} left", format_thousands(total_),
                        100.0 * static_cast<double>(done) / static_cast<double>(total_), format_duration(left));
  }
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace primus
