// A progress line with time left for anything that takes over two seconds. Shown only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace primus {

class Progress {
 public:
  // total <= 0: the end is not known, only the count is shown.
  Progress(std::string what, int64_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: the clock is read, and the line redrawn at most ten times a second, after the first two seconds.
  void update(int64_t done);

 private:
  std::string what_;
  int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace primus
