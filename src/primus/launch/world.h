// How many ranks a job has, with how many threads, and where they meet. Pure functions; nothing here touches the
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/result.h"

namespace primus::launch {

// Sizes of the parallel axes that the number of ranks must fit.
struct LayoutSizes {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t context = 1;
  int64_t expert = 1;
  int64_t expert_tensor = 1;
};

// The smallest number of ranks that TP*PP*CP and ETP*EP*PP both divide (data parallel size 1 where they agree).
int64_t smallest_world(const LayoutSizes& layout);

// What the environment says about the nodes of this job: NNODES, NODE_RANK, MASTER_ADDR, MASTER_PORT, GPUS_PER_NODE;
// else what Slurm says about the running step; else one node.
struct NodeRequest {
  int num_nodes = 1;
  int node_rank = 0;
  std::optional<int> ranks_per_node;  // GPUS_PER_NODE
  std::optional<std::string> master_address;
  std::optional<int> master_port;
  std::string source = "single node";  // "environment", "Slurm" or "single node"
};

// Errors: numbers out of range, an address with characters that no host name has, a node rank without a node count.
Result<NodeRequest> read_node_request(const Environment& environment);

struct WorldRequest {
  NodeRequest nodes;
  std::optional<int> ranks_per_node;  // --nproc; beats GPUS_PER_NODE
  LayoutSizes layout;
  int num_cores = 1;                             // that this process may use
  std::optional<std::string> inherited_threads;  // OMP_NUM_THREADS as the user exported it
};

struct World {
  int num_nodes = 1;
  int node_rank = 0;
  int ranks_per_node = 1;
  int threads_per_rank = 1;
  std::string master_address = "127.0.0.1";
  std::optional<int> master_port;  // nothing: the launcher chooses a free one
  std::string ranks_reason;        // "--nproc", "GPUS_PER_NODE", "smallest for this layout"
  std::vector<std::string> warnings;

  int world_size() const { return num_nodes * ranks_per_node; }
  // "2 ranks (--nproc), 1 thread each on 2 cores": the one line that is printed.
  std::string to_string(int num_cores) const;
};

// Port of a job on several nodes when MASTER_PORT is not given: every node must arrive at the same one without talking.
inline constexpr int kDefaultMasterPort = 1234;

// Errors: a number of ranks that the layout does not divide (with the nearest ones), several nodes without an address.
Result<World> plan_world(const WorldRequest& request);

}  // namespace primus::launch
