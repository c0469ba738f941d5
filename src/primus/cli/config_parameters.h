// config parameters [FRAMEWORK]: the parameter table as the Markdown page docs/parameters/<framework>.md.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

// context.arguments: the framework (default megatron), with or without a leading "parameters".
ExitCode run_config_parameters(Context& context);

}  // namespace primus::cli
