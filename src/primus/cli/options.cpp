#include "primus/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"

namespace primus::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// "--config was missing" and the like come from CLI11; the first word that nothing took gets a suggestion.
InputError refused(const CLI::App& app, const CLI::ParseError& reason, const std::vector<std::string>& arguments) {
  Diagnostic error = error_at({.file = "command line"}, reason.what());
  const std::vector<std::string> names = option_names(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&reason) != nullptr) {
    for (const auto& argument : arguments) {
      const std::string word = argument.substr(0, argument.find('='));
      if (!word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) continue;
      error.message = "unknown option '" + word + "' of " + app.get_name();
      error.suggestion = did_you_mean(word, names);
      break;
    }
  }
  if (error.suggestion.empty()) error.suggestion = app.get_name() + " --help lists the options";
  return InputError(error);
}

}  // namespace

bool parse_options(CLI::App& app, Context& context) {
  return parse_options(app, context.arguments, context);
}

bool parse_options(CLI::App& app, const std::vector<std::string>& arguments, Context& context) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    *context.out << app.help();
    return false;
  } catch (const CLI::ParseError& reason) {
    throw refused(app, reason, arguments);
  }
  return true;
}

}  // namespace primus::cli
