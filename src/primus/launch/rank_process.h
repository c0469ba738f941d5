// One rank as a child process: fork, exec, its pipes and its end.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "primus/base/fs.h"

namespace primus::launch {

struct RankCommand {
  int rank = 0;                                                  // in the whole job
  std::vector<std::string> arguments;                            // [0]: path of the program; passed on byte by byte
  std::vector<std::pair<std::string, std::string>> environment;  // added to, and stronger than, the inherited one
  fs::path log_file;                                             // everything it prints; empty: nowhere
};

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // not 0: it was ended by this signal
  bool good() const { return exit_code == 0 && signal == 0; }
  int as_exit_code() const { return signal != 0 ? 128 + signal : exit_code; }
};

// Owns the child: the destructor kills its group and waits for it.
class RankProcess {
 public:
  // Starts it in a process group of its own, with standard input from /dev/null and both outputs in pipes (non-blocking
  // on our side). It gets SIGKILL when the launcher's thread ends. Throws MissingPartError when the program cannot be
  // run.
  explicit RankProcess(const RankCommand& command);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;
  ~RankProcess();

  pid_t pid() const { return pid_; }
  int pid_fd() const { return pid_fd_; }  // readable when it has ended
  int out_fd() const { return out_fd_; }
  int err_fd() const { return err_fd_; }
  bool running() const { return pid_ > 0 && !ended_; }

  void signal_group(int signal) const;
  // To be called when pid_fd is readable: kills what is left of its group, then collects it.
  ProcessEnd collect();

 private:
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  bool ended_ = false;
};

}  // namespace primus::launch
