// config export. context.arguments: what follows its name.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

ExitCode run_config_export(Context& context);

}  // namespace primus::cli
