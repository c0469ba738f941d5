// One process at a time: an advisory lock on a file that goes when the work is done (or the process dies).
#pragma once

#include <functional>
#include <string>

#include "primus/base/fs.h"

namespace primus::data {

class FileLock {
 public:
  // Waits while another process holds the lock, after saying so once; gives up when asked to stop. File systems without
  // locks: none is taken.
  FileLock(fs::path path, const std::function<void(const std::string&)>& say,
           const std::function<bool()>& stop_requested);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  fs::path path_;
  int fd_ = -1;
};

}  // namespace primus::data
