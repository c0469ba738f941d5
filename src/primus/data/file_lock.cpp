#include "primus/data/file_lock.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace primus::data {

FileLock::FileLock(fs::path path, const std::function<void(const std::string&)>& say,
                   const std::function<bool()>& stop_requested)
    : path_(std::move(path)) {
  bool said = false;
  while (!stop_requested || !stop_requested()) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return;
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
      // The holder before us may have removed the file: then this lock is on nothing that a third process would see.
      struct stat held{}, named{};
      if (::fstat(fd_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 && held.st_ino == named.st_ino) return;
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return;
    } else {
      if (say && !said)
        say(fmt::format("another process prepares the same data; waiting for it ('{}')", path_.string()));
      said = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ::close(fd_);
    fd_ = -1;
  }
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace primus::data
