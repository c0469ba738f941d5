// Ends every process of the job when the launcher is gone, whatever ended it, SIGKILL included.
#pragma once

#include <sys/types.h>

namespace primus::launch {

// A small process of its own that waits for the end of a pipe whose other end only the launcher holds. Ranks themselves
// die with the launcher by PR_SET_PDEATHSIG; the guard also reaches what they started (their process groups).
class OrphanGuard {
 public:
  OrphanGuard();   // forks; must be called while the process has one thread
  ~OrphanGuard();  // the guard process ends too
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;

  void watch(pid_t group);
  void release(pid_t group);

 private:
  void tell(int number);

  int fd_ = -1;
  pid_t pid_ = -1;
};

}  // namespace primus::launch
