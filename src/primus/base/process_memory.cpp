#include "primus/base/process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace primus {

namespace {

int64_t read_number(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : 0;  // "max" is no number: no limit here
}

}  // namespace

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  if (statm >> total_pages >> resident_pages) memory.resident_bytes = resident_pages * ::sysconf(_SC_PAGESIZE);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) memory.peak_resident_bytes = usage.ru_maxrss * 1024;
  memory.limit_bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const int64_t limit = read_number(path); limit > 0) memory.limit_bytes = std::min(memory.limit_bytes, limit);
  }
  return memory;
}

}  // namespace primus
