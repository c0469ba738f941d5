// The light program: its one table of commands, its global options and its help. apps/primus.cpp maps errors to exit
// codes.
#pragma once

#include <string>
#include <vector>

#include "primus/cli/command.h"

namespace primus::cli {

// Every command in the order of the help page.
const std::vector<Command>& command_table();

// Runs one command line (without the program's name): global options, an optional "direct [options] --", the command.
// context.arguments is ignored and set for the command. Throws primus::Error. The result is an exit code, 128 + n
// included.
ExitCode run_app(Context context, const std::vector<std::string>& arguments);

// primus-train beside this program, or what PRIMUS_TRAIN_PROGRAM names. It may not exist.
fs::path train_program(const Context& context);

}  // namespace primus::cli
