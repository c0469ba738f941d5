// What both programs do around their commands: find their folders, map errors to exit codes.
#pragma once

#include <string>
#include <vector>

#include "primus/cli/command.h"

namespace primus::cli {

// Runs `app` with the words of the command line and returns the process's exit code. Nothing escapes.
using AppFunction = ExitCode (*)(Context context, const std::vector<std::string>& arguments);
int run_program(int argc, char** argv, AppFunction app);

}  // namespace primus::cli
