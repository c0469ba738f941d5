#include "primus/cli/config_parameters.h"

#include <CLI/CLI.hpp>
#include <ostream>
#include <vector>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/options.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {

ExitCode run_config_parameters(Context& context) {
  std::vector<std::string> arguments = context.arguments;
  if (!arguments.empty() && arguments.front() == "parameters") arguments.erase(arguments.begin());
  CLI::App app("the parameter table as a Markdown page\nconfig parameters [FRAMEWORK]", "config parameters");
  std::string framework = "megatron", format = "md";
  app.add_option("framework", framework, "whose table");
  app.add_option("--format", format, "md")->check(CLI::IsMember({"md"}));
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  if (dialect::all_parameters(framework).empty()) {
    Diagnostic finding = error_at({.file = "command line"}, "there is no parameter table for '" + framework + "'");
    std::vector<std::string> known;
    for (const dialect::Dialect& one : dialect::all_dialects()) known.emplace_back(one.framework);
    finding.expected = join(known, ", ");
    finding.suggestion = did_you_mean(framework, known);
    throw InputError(finding);
  }
  *context.out << dialect::parameters_page(framework);
  return ExitCode::Ok;
}

}  // namespace primus::cli
