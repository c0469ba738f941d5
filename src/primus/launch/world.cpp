#include "primus/launch/world.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "primus/base/strings.h"
#include "primus/launch/environment_number.h"
#include "primus/launch/slurm_nodes.h"

namespace primus::launch {
namespace {

constexpr int kMaxRanksPerNode = 72;  // upstream's limit for GPUS_PER_NODE
constexpr int kMaxNodes = 100000;
constexpr int kMaxThreads = 4096;

bool is_host_name(const std::string& text) {
  // A colon for IPv6 addresses; otherwise what upstream's launcher accepts.
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == ':';
  });
}

Diagnostic missing_variable(const std::string& name, const std::string& why) {
  Diagnostic error = error_at({.file = "environment"}, name + " is missing: " + why);
  error.key = name;
  return error;
}

void read_slurm_nodes(const Environment& environment, NodeRequest& request, Diagnostics& errors) {
  const auto step_nodes = read_number(environment, {"SLURM_STEP_NUM_NODES"}, 1, kMaxNodes, errors);
  const auto step_tasks = read_number(environment, {"SLURM_STEP_NUM_TASKS"}, 1, kMaxNodes * kMaxRanksPerNode, errors);
  const auto node = read_number(environment, {"SLURM_NODEID"}, 0, kMaxNodes - 1, errors);
  if (!step_nodes || !node) return;
  if (step_tasks && *step_tasks > *step_nodes) {
    Diagnostic error = error_at({.file = "environment"}, "srun started several launchers on one node");
    error.found = fmt::format("{} tasks on {} nodes", *step_tasks, *step_nodes);
    error.expected = "one task on each node: the launcher starts the ranks of its node";
    error.suggestion = "srun --ntasks-per-node=1, or let srun start the ranks itself: srun primus-train train ...";
    errors.push_back(std::move(error));
  }
  if (*step_nodes == 1) return;
  request.num_nodes = *step_nodes;
  request.node_rank = *node;
  request.source = "Slurm";
  if (!request.master_address) {
    auto nodes = environment("SLURM_STEP_NODELIST");
    if (!nodes) nodes = environment("SLURM_NODELIST");
    if (nodes) request.master_address = first_host(*nodes);
  }
  if (!request.master_port) {
    request.master_port =
        slurm_port(environment("SLURM_JOB_ID").value_or(""), environment("SLURM_STEP_ID").value_or(""));
  }
}

Diagnostic not_divisible(int ranks_per_node, int num_nodes, int64_t unit, const std::string& reason) {
  const int64_t world = int64_t{ranks_per_node} * num_nodes;
  Diagnostic error = error_at({}, "the number of ranks does not fit the parallel layout");
  error.found = num_nodes == 1 ? fmt::format("{} ranks ({})", world, reason)
                               : fmt::format("{} nodes x {} ranks = {} ({})", num_nodes, ranks_per_node, world, reason);
  error.expected = fmt::format("a multiple of {} (TP*PP*CP and ETP*EP*PP must both divide it)", unit);
  const int64_t step = unit / std::gcd(unit, int64_t{num_nodes});  // in ranks a node
  const int64_t below = ranks_per_node / step * step;
  error.suggestion =
      below > 0 ? fmt::format("--nproc {} or --nproc {}", below, below + step) : fmt::format("--nproc {}", step);
  return error;
}

void choose_threads(const WorldRequest& request, World& world) {
  const int ranks = world.ranks_per_node;
  world.threads_per_rank = std::max(1, request.num_cores / ranks);
  if (request.inherited_threads && !trim(*request.inherited_threads).empty()) {
    // OpenMP allows a list (one number a nesting level); the first is the one that counts here.
    const auto value = parse_int(trim(split(*request.inherited_threads, ',').front()));
    if (value && *value >= 1 && *value <= kMaxThreads) {
      world.threads_per_rank = static_cast<int>(*value);
      if (*value * ranks > request.num_cores) {
        world.warnings.push_back(
            fmt::format("OMP_NUM_THREADS={} is obeyed: {} ranks x {} threads are more than {} cores", *value, ranks,
                        *value, request.num_cores));
      }
      return;
    }
    world.warnings.push_back("OMP_NUM_THREADS='" + *request.inherited_threads + "' is not a number and was replaced");
  }
  if (ranks > request.num_cores) {
    world.warnings.push_back(
        fmt::format("{} ranks share {} cores: one thread each, and they take turns", ranks, request.num_cores));
  }
}

}  // namespace

int64_t smallest_world(const LayoutSizes& layout) {
  const int64_t dense = layout.tensor * layout.pipeline * layout.context;
  const int64_t experts = layout.expert_tensor * layout.expert * layout.pipeline;
  return std::lcm(dense, experts);
}

Result<NodeRequest> read_node_request(const Environment& environment) {
  Diagnostics errors;
  NodeRequest request;
  request.ranks_per_node = read_number(environment, {"GPUS_PER_NODE"}, 1, kMaxRanksPerNode, errors);
  request.master_port = read_number(environment, {"MASTER_PORT"}, 1024, 65535, errors);
  if (const auto address = environment("MASTER_ADDR"); address && !address->empty()) {
    request.master_address = *address;
    if (!is_host_name(*address)) {
      Diagnostic error = error_at({.file = "environment"}, "MASTER_ADDR is not a host name");
      error.key = "MASTER_ADDR";
      error.found = "'" + printable_ascii(*address) + "'";
      error.expected = "letters, digits, '.', '_', '-' (':' in an IPv6 address)";
      errors.push_back(std::move(error));
    }
  }
  const auto num_nodes = read_number(environment, {"NNODES"}, 1, kMaxNodes, errors);
  const auto node_rank = read_number(environment, {"NODE_RANK"}, 0, kMaxNodes - 1, errors);
  if (num_nodes) {
    request.num_nodes = *num_nodes;
    request.source = "environment";
    if (node_rank) {
      request.node_rank = *node_rank;
      if (*node_rank >= *num_nodes) {
        Diagnostic error = error_at({.file = "environment"}, "NODE_RANK is not below NNODES");
        error.found = fmt::format("NODE_RANK={} NNODES={}", *node_rank, *num_nodes);
        error.expected = fmt::format("0 to {}", *num_nodes - 1);
        errors.push_back(std::move(error));
      }
    } else if (*num_nodes > 1) {
      errors.push_back(
          missing_variable("NODE_RANK", fmt::format("NNODES={} and every node needs its number", *num_nodes)));
    }
  } else if (node_rank && *node_rank > 0) {
    errors.push_back(missing_variable("NNODES", fmt::format("NODE_RANK={} is given", *node_rank)));
  } else {
    read_slurm_nodes(environment, request, errors);
  }
  if (!errors.empty()) return errors;
  return request;
}

Result<World> plan_world(const WorldRequest& request) {
  const int64_t unit = smallest_world(request.layout);
  World world;
  world.num_nodes = request.nodes.num_nodes;
  world.node_rank = request.nodes.node_rank;
  if (request.ranks_per_node) {
    world.ranks_per_node = *request.ranks_per_node;
    world.ranks_reason = "--nproc";
  } else if (request.nodes.ranks_per_node) {
    world.ranks_per_node = *request.nodes.ranks_per_node;
    world.ranks_reason = "GPUS_PER_NODE";
  } else {
    world.ranks_per_node = static_cast<int>(unit / std::gcd(unit, int64_t{world.num_nodes}));
    world.ranks_reason = "smallest for this layout";
  }
  Diagnostics errors;
  if (int64_t{world.ranks_per_node} * world.num_nodes % unit != 0) {
    errors.push_back(not_divisible(world.ranks_per_node, world.num_nodes, unit, world.ranks_reason));
  }
  if (world.num_nodes > 1 && !request.nodes.master_address) {
    errors.push_back(missing_variable(
        "MASTER_ADDR", fmt::format("the {} nodes of this job must know where node 0 is", world.num_nodes)));
  }
  if (!errors.empty()) return errors;

  world.master_address = request.nodes.master_address.value_or("127.0.0.1");
  world.master_port = request.nodes.master_port;
  if (world.num_nodes > 1 && !world.master_port) world.master_port = kDefaultMasterPort;
  choose_threads(request, world);
  return world;
}

std::string World::to_string(int num_cores) const {
  const auto counted = [](int count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  std::string text = num_nodes == 1 ? fmt::format("{} ({})", counted(ranks_per_node, "rank"), ranks_reason)
                                    : fmt::format("node {} of {}, {} on each ({})", node_rank, num_nodes,
                                                  counted(ranks_per_node, "rank"), ranks_reason);
  return text + fmt::format(", {}{} on {}", counted(threads_per_rank, "thread"), ranks_per_node == 1 ? "" : " each",
                            counted(num_cores, "core"));
}

}  // namespace primus::launch
