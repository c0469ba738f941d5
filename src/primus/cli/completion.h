// Shell completion. The scripts ask the program itself, which knows its commands, options, keys and presets.
#pragma once

#include <string>
#include <vector>

#include "primus/cli/command.h"

namespace primus::cli {

// What may stand in place of the last of `words` (which may be empty), the words behind "primus-cli". Options and
// values come from the commands' own help, keys from the table of the experiment's framework, presets from their
// folder. kFileNames alone: the shell completes file names.
std::vector<std::string> complete(const Context& context, const std::vector<std::string>& words);

inline constexpr const char* kFileNames = "__files__";

// completion bash|zsh|fish: prints the script. completion query WORDS ...: one candidate a line, for the scripts.
ExitCode run_completion(Context& context);

}  // namespace primus::cli
