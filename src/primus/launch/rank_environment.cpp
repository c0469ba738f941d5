#include "primus/launch/rank_environment.h"

#include <fmt/format.h>
#include <optional>
#include <vector>

#include "primus/base/hash.h"
#include "primus/base/strings.h"
#include "primus/launch/environment_number.h"
#include "primus/launch/slurm_nodes.h"

namespace primus::launch {
namespace {

constexpr int kMaxRanks = 1 << 22;

bool is_set(const Environment& environment, const std::string& name) {
  const auto text = environment(name);
  return text && !trim(*text).empty();
}

struct Names {
  const char* source;
  std::vector<std::string> rank, world_size, local_rank, local_world_size;
};

// One source of ranks: both numbers or neither.
bool read_ranks(const Environment& environment, const Names& names, RankEnvironment& result, Diagnostics& errors) {
  const auto any_set = [&](const std::vector<std::string>& list) {
    for (const auto& name : list) {
      if (is_set(environment, name)) return true;
    }
    return false;
  };
  if (!any_set(names.rank) || !any_set(names.world_size)) return false;
  const auto world_size = read_number(environment, names.world_size, 1, kMaxRanks, errors);
  const auto rank = read_number(environment, names.rank, 0, kMaxRanks - 1, errors);
  const auto local_rank = read_number(environment, names.local_rank, 0, kMaxRanks - 1, errors);
  const auto local_size = read_number(environment, names.local_world_size, 1, kMaxRanks, errors);
  result.source = names.source;
  if (!rank || !world_size) return true;
  if (*rank >= *world_size) {
    Diagnostic error =
        error_at({.file = "environment"}, names.rank.front() + " is not below " + names.world_size.front());
    error.found = fmt::format("{}={} {}={}", names.rank.front(), *rank, names.world_size.front(), *world_size);
    error.expected = fmt::format("0 to {}", *world_size - 1);
    errors.push_back(std::move(error));
    return true;
  }
  result.rank = *rank;
  result.world_size = *world_size;
  // Without word about nodes all ranks are taken to be on this one.
  result.local_world_size = local_size.value_or(*world_size);
  result.local_rank = local_rank.value_or(*rank % result.local_world_size);
  if (result.local_rank >= result.local_world_size) {
    Diagnostic error = error_at({.file = "environment"}, "the local rank is not below the number of local ranks");
    error.found = fmt::format("local rank {} of {} ({})", result.local_rank, result.local_world_size, names.source);
    errors.push_back(std::move(error));
  }
  return true;
}

// "4(x2),3" -> 4: tasks a node as Slurm writes them; only the first node's count, which is exact when all are equal.
std::optional<int> slurm_local_size(const Environment& environment, const RankEnvironment& result) {
  auto text = environment("SLURM_STEP_TASKS_PER_NODE");
  if (!text) text = environment("SLURM_TASKS_PER_NODE");
  if (!text || text->find(',') != std::string::npos) return std::nullopt;
  const auto count = parse_int(trim(split(*text, '(').front()));
  if (!count || *count < 1 || *count > result.world_size || *count <= result.local_rank) return std::nullopt;
  return static_cast<int>(*count);
}

void find_master(const Environment& environment, RankEnvironment& result, Diagnostics& errors) {
  const auto port = read_number(environment, {"MASTER_PORT"}, 1, 65535, errors);
  const auto address = environment("MASTER_ADDR");
  if (result.world_size == 1 && !port) return;
  if (address && !address->empty()) {
    result.master_address = *address;
  } else if (result.source == "Slurm") {
    auto nodes = environment("SLURM_STEP_NODELIST");
    if (!nodes) nodes = environment("SLURM_NODELIST");
    if (!nodes) nodes = environment("SLURM_JOB_NODELIST");
    if (nodes && !first_host(*nodes).empty()) result.master_address = first_host(*nodes);
  } else if (result.local_world_size < result.world_size) {
    Diagnostic error = error_at({.file = "environment"}, "MASTER_ADDR is missing: this job has ranks on several nodes");
    error.key = "MASTER_ADDR";
    error.expected = "the host name of the node that runs rank 0";
    errors.push_back(std::move(error));
  }
  if (port) {
    result.master_port = *port;
  } else if (result.source == "Slurm") {
    result.master_port =
        slurm_port(environment("SLURM_JOB_ID").value_or(""), environment("SLURM_STEP_ID").value_or(""));
  } else if (result.source == "Open MPI") {
    // The name of the job is the one thing that all its ranks know and that no other job of this machine has.
    auto job = environment("PMIX_NAMESPACE");
    if (!job) job = environment("OMPI_MCA_ess_base_jobid");
    result.master_port = 20000 + static_cast<int>(fnv1a64(job.value_or("")) % 20000);
  } else {
    Diagnostic error = error_at({.file = "environment"}, "MASTER_PORT is missing: this job has several ranks");
    error.key = "MASTER_PORT";
    error.expected = "the port on which rank 0 waits for the others, the same for all ranks";
    errors.push_back(std::move(error));
  }
}

}  // namespace

Result<RankEnvironment> read_rank_environment(const Environment& environment) {
  const std::vector<Names> sources = {
      {"RANK and WORLD_SIZE", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}},
      {"Slurm", {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_LOCALID"}, {}},
      {"Open MPI",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
  };
  RankEnvironment result;
  Diagnostics errors;
  const bool rank_given = is_set(environment, "RANK");
  if (rank_given != is_set(environment, "WORLD_SIZE")) {
    const char* missing = rank_given ? "WORLD_SIZE" : "RANK";
    Diagnostic error = error_at({.file = "environment"},
                                fmt::format("{} is set, {} is not", rank_given ? "RANK" : "WORLD_SIZE", missing));
    error.key = missing;
    error.expected = "both or neither";
    return Diagnostics{error};
  }
  for (const auto& source : sources) {
    if (read_ranks(environment, source, result, errors)) break;
  }
  if (errors.empty() && result.source == "Slurm") {
    if (const auto size = slurm_local_size(environment, result)) result.local_world_size = *size;
  }
  if (errors.empty()) find_master(environment, result, errors);
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace primus::launch
