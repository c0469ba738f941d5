#include "primus/launch/orphan_guard.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "primus/base/error.h"

namespace primus::launch {
namespace {

// Messages: a group's number when it starts, its negative when it has ended.
[[noreturn]] void guard_main(int fd) {
  ::setsid();  // signals of the terminal are for the launcher
  ::prctl(PR_SET_NAME, "primus-guard");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // Nothing of the launcher may be kept open: whoever reads its output waits for the last holder.
  if (fd != 3) ::dup2(fd, 3);
  ::close_range(4, ~0U, 0);
  for (int standard = 0; standard < 3; ++standard) ::close(standard);
  std::vector<int> groups;
  for (;;) {
    int number = 0;
    const ssize_t size = ::read(3, &number, sizeof number);
    if (size < 0 && errno == EINTR) continue;
    if (size != static_cast<ssize_t>(sizeof number)) break;
    if (number > 0) {
      groups.push_back(number);
    } else {
      groups.erase(std::remove(groups.begin(), groups.end(), -number), groups.end());
    }
  }
  for (const int group : groups) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

OrphanGuard::OrphanGuard() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw RunError(std::string("pipe: ") + std::strerror(errno));
  pid_ = ::fork();
  if (pid_ < 0) throw RunError(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    ::close(ends[1]);
    guard_main(ends[0]);
  }
  ::close(ends[0]);
  fd_ = ends[1];
}

OrphanGuard::~OrphanGuard() {
  ::close(fd_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void OrphanGuard::watch(pid_t group) {
  tell(group);
}
void OrphanGuard::release(pid_t group) {
  tell(-group);
}

void OrphanGuard::tell(int number) {
  // A guard that was killed by hand is no reason to end the job: EPIPE is passed over (SIGPIPE is ignored here).
  while (::write(fd_, &number, sizeof number) < 0 && errno == EINTR) {
  }
}

}  // namespace primus::launch
