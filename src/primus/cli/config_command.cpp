// config: everything about an experiment without running it. This file holds the one list of its sub-commands.
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/command.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_export.h"
#include "primus/cli/config_import_hf.h"
#include "primus/cli/config_parameters.h"
#include "primus/cli/config_request.h"
#include "primus/cli/config_schedule.h"

namespace primus::cli {

const std::vector<ConfigCommand>& config_commands() {
  static const std::vector<ConfigCommand> table = {
      {"show", "--config F [--only KEY,...] [--changed] [--as spec] [--origins] [overrides]",
       "print the resolved experiment, what it changes, or the run that it describes", run_config_show},
      {"explain", "KEY [--config F [overrides]]", "tell which layers set a value, what the key means and what it sets",
       run_config_explain},
      {"check", "--config F | FILE or FOLDER ... [--strict] [overrides]", "report everything that is wrong",
       run_config_check},
      {"diff", "A B [--as spec] [--presets-b DIR] | A overrides",
       "compare experiments, run folders or trees; exit code 4 when they differ", run_config_diff},
      {"schedule", "--config F [--format table|json|svg] [--proxy] [overrides]",
       "learning rate, weight decay and batch size of every step", run_config_schedule},
      {"proxy", "--config F [--mock] [--one-device] [--output FILE] [overrides]",
       "print what --proxy changes, or write it as an experiment", run_config_proxy},
      {"list", "[models|examples|modules|flavors|keys] [WORDS ...] [--framework F]",
       "search models, experiments, presets and keys", run_config_list},
      {"import-hf", "PATH [--framework F] [--output FILE]",
       "a Hugging Face config.json as a model preset, with the reason of every decision", run_config_import_hf},
      {"export", "--config F --to FRAMEWORK [--as launch|experiment] [--output FILE|DIR/] [overrides]",
       "what an upstream trainer would be started with, or the experiment in another dialect", run_config_export},
      {"new", "--framework F --model M [--device D] [--output FILE]", "write a commented experiment", run_config_new},
      {"schema", "--framework F", "JSON Schema of an experiment, for editors", run_config_schema},
      {"parameters", "[FRAMEWORK]", "the parameter table as a Markdown page", run_config_parameters},
  };
  return table;
}

namespace {

void print_config_help(std::ostream& out) {
  out << "usage: config <command> ... [--presets DIR] [--format json]\n\n";
  for (const ConfigCommand& one : config_commands())
    out << fmt::format("  config {} {}\n      {}\n", one.name, one.usage, one.summary);
  out << "\noverrides: --lr 3e-5  --lr=3e-5  lr=3e-5  --flag; dotted keys nest\n"
         "config <command> --help lists the options of one of them\n";
}

}  // namespace

ExitCode run_config(Context& context) {
  if (context.arguments.empty() || context.arguments[0] == "--help" || context.arguments[0] == "-h") {
    print_config_help(*context.out);
    return ExitCode::Ok;
  }
  const std::string name = context.arguments[0];
  std::vector<std::string> names;
  for (const ConfigCommand& command : config_commands()) {
    if (name == command.name) {
      context.arguments.erase(context.arguments.begin());
      return command.run(context);
    }
    names.emplace_back(command.name);
  }
  const std::string near = did_you_mean(name, names);
  throw bad_words(fmt::format("unknown command 'config {}'", printable_ascii(name)),
                  near.empty() ? "there are: " + join(names, ", ") : near);
}

}  // namespace primus::cli
