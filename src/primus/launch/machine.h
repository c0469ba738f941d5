// What this process may use of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/fs.h"

namespace primus::launch {

// Cores that this process may run on: its affinity mask, less where the control group's quota is smaller. At least 1.
int available_cores();

// Whole cores of a "cpu.max" line ("150000 100000" -> 1, "max 100000" -> nothing); at least 1.
std::optional<int> cores_of_quota(std::string_view cpu_max);

struct CpuFacts {
  std::string model;                  // "AMD EPYC ..."
  std::vector<std::string> features;  // those of avx2, fma, avx512f, avx512_bf16, amx_bf16 ... that matter here
};
CpuFacts read_cpu_facts(const fs::path& cpuinfo = "/proc/cpuinfo");

struct MemoryFacts {
  int64_t total_bytes = 0;  // the smaller of the machine's and the control group's
  int64_t available_bytes = 0;
};
MemoryFacts read_memory_facts();

// Free bytes for this user where `path` is or would be made; nothing when no part of it exists.
std::optional<int64_t> free_disk_bytes(const fs::path& path);

}  // namespace primus::launch
