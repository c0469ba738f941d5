// The sub-commands of `checkpoint` that have a file of their own. context.arguments starts with the action's name.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

inline constexpr const char* kImportHfSummary = "weights of a Hugging Face folder as a checkpoint";
inline constexpr const char* kExportHfSummary = "a checkpoint as a complete Hugging Face folder";

ExitCode run_checkpoint_import_hf(Context& context);
ExitCode run_checkpoint_export_hf(Context& context);

}  // namespace primus::cli
