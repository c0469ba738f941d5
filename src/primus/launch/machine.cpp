#include "primus/launch/machine.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sched.h>
#include <string>

#include "primus/base/strings.h"

namespace primus::launch {
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "MemTotal:       24610012 kB" -> bytes
int64_t meminfo_bytes(std::string_view line) {
  const auto words = split_whitespace(line);
  return words.size() < 2 ? 0 : parse_int(words[1]).value_or(0) * 1024;
}

}  // namespace

std::optional<int> cores_of_quota(std::string_view cpu_max) {
  const auto words = split_whitespace(cpu_max);
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_int(words[0]);
  const auto period = parse_int(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<int>(std::max<int64_t>(1, *quota / *period));
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cores = std::max(1, CPU_COUNT(&set));
  // Inside a container the control group's own folder is the root of the file system that is seen.
  if (const auto quota = cores_of_quota(first_line("/sys/fs/cgroup/cpu.max"))) cores = std::min(cores, *quota);
  return cores;
}

CpuFacts read_cpu_facts(const fs::path& cpuinfo) {
  static constexpr std::array<std::string_view, 9> kInteresting = {
      "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd"};
  CpuFacts facts;
  std::ifstream file(cpuinfo);
  std::string line;
  while (std::getline(file, line) && (facts.model.empty() || facts.features.empty())) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string_view value = trim(std::string_view(line).substr(colon + 1));
    if (key == "model name" && facts.model.empty()) facts.model = value;
    if (key != "flags" && key != "Features") continue;
    const auto flags = split_whitespace(value);
    for (const auto wanted : kInteresting) {
      if (std::find(flags.begin(), flags.end(), wanted) != flags.end()) facts.features.emplace_back(wanted);
    }
  }
  return facts;
}

MemoryFacts read_memory_facts() {
  MemoryFacts facts;
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("MemTotal:")) facts.total_bytes = meminfo_bytes(line);
    if (line.starts_with("MemAvailable:")) facts.available_bytes = meminfo_bytes(line);
  }
  const auto limit = parse_int(trim(first_line("/sys/fs/cgroup/memory.max")));
  if (!limit) return facts;
  facts.total_bytes = std::min(facts.total_bytes, *limit);
  const auto used = parse_int(trim(first_line("/sys/fs/cgroup/memory.current")));
  if (used) facts.available_bytes = std::min(facts.available_bytes, std::max<int64_t>(0, *limit - *used));
  return facts;
}

std::optional<int64_t> free_disk_bytes(const fs::path& path) {
  std::error_code error;
  for (fs::path folder = fs::absolute(path, error); !folder.empty(); folder = folder.parent_path()) {
    const fs::space_info space = fs::space(folder, error);
    if (!error) return static_cast<int64_t>(space.available);
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

}  // namespace primus::launch
