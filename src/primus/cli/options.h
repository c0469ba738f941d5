// Reading a command's own options with CLI11, with our exit codes and suggestions.
#pragma once

#include <string>
#include <vector>

#include "primus/cli/command.h"

namespace CLI {
class App;
}

namespace primus::cli {

// Parses context.arguments. False: --help was asked for and printed, nothing else is to be done. Throws InputError for
// everything that CLI11 refuses; an unknown option is answered with the nearest one. With app.allow_extras() the words
// that are no option of the command are left in app.remaining(), in order.
bool parse_options(CLI::App& app, Context& context);

// The same for a part of the arguments.
bool parse_options(CLI::App& app, const std::vector<std::string>& arguments, Context& context);

}  // namespace primus::cli
