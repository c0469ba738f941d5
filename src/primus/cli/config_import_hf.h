// config import-hf: a Hugging Face config.json as a model preset.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

// context.arguments: PATH [--framework F] [--output FILE] [--format text|json]. The preset goes to stdout or the file,
// every decision with its reason to stderr (text) or into the object (json).
ExitCode run_config_import_hf(Context& context);

}  // namespace primus::cli
