// One job at a time in a run folder.
#pragma once

#include "primus/base/fs.h"

namespace primus::track {

// Holds the folder until it is destroyed and every process that was started meanwhile has ended: ranks inherit it, so
// it outlives a launcher that is killed. The folder is made when it is missing. Throws InputError while another job has
// it (after some seconds, since the ranks of a killed job need a moment to end). File systems without locks: nothing is
// held.
class RunFolderLock {
 public:
  explicit RunFolderLock(const fs::path& run_folder);
  ~RunFolderLock();
  RunFolderLock(const RunFolderLock&) = delete;
  RunFolderLock& operator=(const RunFolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace primus::track
