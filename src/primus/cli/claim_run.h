// Claims the run folder of a resolved run: the glue between experiment, checkpoints and track/run_folder.h.
#pragma once

#include "primus/cli/resolve_run.h"
#include "primus/track/run_folder.h"

namespace primus::cli {

// Called once per job: by the launcher, or by rank 0 where another launcher started the ranks. Throws InputError.
track::RunFolderClaim claim_run(const TrainRequest& request, const ResolvedRun& run);

}  // namespace primus::cli
