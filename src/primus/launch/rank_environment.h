// Who a rank is, read from what started it: primus, torchrun, srun or mpirun. Pure: works on an Environment.
#pragma once

#include <string>

#include "primus/base/env.h"
#include "primus/base/result.h"

namespace primus::launch {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;            // 0: not needed, since there is one rank
  std::string source = "single";  // "RANK and WORLD_SIZE", "Slurm", "Open MPI" or "single"
};

// Precedence: RANK/WORLD_SIZE, then Slurm (SLURM_PROCID ...), then Open MPI (OMPI_COMM_WORLD_RANK ...), then one rank.
// MASTER_ADDR and MASTER_PORT win over what a scheduler implies, whatever the source of the rank.
// Errors: half of a pair, numbers out of range, several ranks and no way to know where rank 0 is.
Result<RankEnvironment> read_rank_environment(const Environment& environment);

}  // namespace primus::launch
