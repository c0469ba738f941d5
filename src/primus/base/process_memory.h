// Memory of this process as the operating system accounts for it. Linux; zeros elsewhere.
#pragma once

#include <cstdint>

namespace primus {

struct ProcessMemory {
  int64_t resident_bytes = 0;
  int64_t peak_resident_bytes = 0;
  int64_t limit_bytes = 0;  // of the container or machine
};

ProcessMemory process_memory();

}  // namespace primus
