// A program as a child process: how long it took, what it printed, how much memory it needed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "primus/base/fs.h"

namespace primus::bench {

// A folder of this scoreboard alone, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Command {
  std::vector<std::string> words;                                // [0]: program, looked up in PATH without a slash
  std::vector<std::pair<std::string, std::string>> environment;  // added to, and stronger than, the inherited one
  bool prints_command = true;                                    // a line on standard error, for long ones
};

struct Ended {
  int exit_code = 0;  // 128 + n: ended by signal n; 127: could not be started
  std::string out;
  std::string error_tail;  // last line of standard error that is not empty
  double wall_s = 0;
  // The largest resident size of it or of a process that it has waited for; never below this process's own, since the
  // kernel counts the moment between fork and exec.
  int64_t peak_bytes = 0;
};
Ended run_process(const Command& command);

// `name` beside this program: primus, primus-train, libmkl_switch.so.
fs::path beside_this_program(const std::string& name);

}  // namespace primus::bench
