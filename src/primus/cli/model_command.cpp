// model: what a model is made of, without building it.
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/command.h"
#include "primus/cli/model_params.h"

namespace primus::cli {

ExitCode run_model(Context& context) {
  if (context.arguments.empty() || context.arguments[0] == "--help" || context.arguments[0] == "-h") {
    *context.out << "usage: primus-cli model <params> [options]\n"
                    "  params  how many parameters a model has, and where they are\n"
                    "Each takes --help.\n";
    return ExitCode::Ok;
  }
  const std::string name = context.arguments[0];
  if (name != "params") {
    Diagnostic unknown =
        error_at({.file = "command line"}, fmt::format("unknown command 'model {}'", printable_ascii(name)));
    unknown.suggestion = did_you_mean(name, {"params"});
    if (unknown.suggestion.empty()) unknown.suggestion = "there is: params";
    throw InputError(unknown);
  }
  context.arguments.erase(context.arguments.begin());
  return run_model_params(context);
}

}  // namespace primus::cli
