// train --engine upstream: the experiment's own trainer, started under our supervisor.
#pragma once

#include "primus/cli/train_request.h"

namespace primus::cli {

// Throws InputError, and MissingPartError when the trainer is not on this machine.
ExitCode train_upstream(const TrainRequest& request, Context& context);

}  // namespace primus::cli
