// config schedule: learning rate, weight decay and batch size of every step, without training.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

// context.arguments: "--config F [--format table|json|svg] [--proxy] [--presets DIR] [--module M] [overrides]", with or
// without a leading "schedule". Prints to context.out.
ExitCode run_config_schedule(Context& context);

}  // namespace primus::cli
