#include "primus/track/run_folder_lock.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

#include "primus/base/error.h"

namespace primus::track {

RunFolderLock::RunFolderLock(const fs::path& run_folder) {
  std::error_code code;
  fs::create_directories(run_folder, code);  // whoever claims the folder next says what is wrong with it
  // The folder itself is locked: no file that could be moved aside. Not closed on exec, so that ranks hold it too.
  fd_ = ::open(run_folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd_ < 0) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (std::chrono::steady_clock::now() > deadline) {
      ::close(fd_);
      Diagnostic error = error_at({run_folder.string()}, "another job is running in this folder");
      error.suggestion = "wait for its end, stop it, or start elsewhere with --exp_name NAME";
      throw InputError(error);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

RunFolderLock::~RunFolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace primus::track
