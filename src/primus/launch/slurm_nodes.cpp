#include "primus/launch/slurm_nodes.h"

#include "primus/base/hash.h"
#include "primus/base/strings.h"

namespace primus::launch {

std::string first_host(std::string_view node_list) {
  // Brackets can appear several times ("rack[1-2]node[07-09]"): of each only the first number counts.
  std::string host;
  bool inside = false;
  bool taken = false;  // the first number of the present bracket is complete
  for (const char c : trim(node_list)) {
    if (c == '[') {
      inside = true;
      taken = false;
    } else if (c == ']') {
      inside = false;
    } else if (inside) {
      if (c == '-' || c == ',') taken = true;
      if (!taken) host += c;
    } else if (c == ',') {
      break;
    } else {
      host += c;
    }
  }
  return host;
}

int slurm_port(std::string_view job_id, std::string_view step_id) {
  constexpr int kFirst = 20000;
  constexpr int kCount = 20000;
  const auto job = parse_int(trim(job_id));
  const auto step = parse_int(trim(step_id));
  if (!job) return kFirst + static_cast<int>(fnv1a64(job_id) % kCount);
  // Consecutive jobs are 16 ports apart, so that a few steps of each do not meet.
  const uint64_t number = static_cast<uint64_t>(*job) * 16 + static_cast<uint64_t>(step.value_or(0));
  return kFirst + static_cast<int>(number % kCount);
}

}  // namespace primus::launch
