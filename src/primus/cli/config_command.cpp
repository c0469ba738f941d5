// config: everything about an experiment without running it. This file reads the options; config_*.cpp do the work.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/command.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_schedule.h"
#include "primus/cli/options.h"

namespace primus::cli {
namespace {

struct SubCommand {
  const char* name;
  const char* usage;
  const char* summary;
  bool takes_config;  // --config F is needed
  bool takes_overrides;
  ExitCode (*run)(const ConfigRequest&, Context&);
};

constexpr std::array kSubCommands = {
    SubCommand{"show", "--config F [--only KEY,...] [--origins] [overrides]", "print the resolved experiment", true,
               true, config_show},
    SubCommand{"explain", "KEY --config F [overrides]", "tell which layers set a value, and what the key means", true,
               true, config_explain},
    SubCommand{"diff", "A B", "compare two experiments or resolved files; exit code 4 when they differ", false, false,
               config_diff},
    SubCommand{"check", "--config F | FILE or FOLDER ... [--strict] [overrides]", "report everything that is wrong",
               false, true, config_check},
};

void print_help(std::ostream& out) {
  out << "usage: config <command> ... [--presets DIR] [--format json]\n\n";
  for (const SubCommand& one : kSubCommands)
    out << fmt::format("  config {} {}\n      {}\n", one.name, one.usage, one.summary);
  out << "  config schedule --config F [--format json|svg] [--proxy] [overrides]\n      learning rate, weight decay "
         "and batch "
         "size of every step\n";
  out << "\noverrides: --lr 3e-5  --lr=3e-5  lr=3e-5  --flag; dotted keys nest\n";
}

InputError bad_words(std::string message, std::string suggestion) {
  Diagnostic error = error_at({.file = "command line"}, std::move(message));
  error.suggestion = std::move(suggestion);
  return InputError(std::move(error));
}

const SubCommand& find_sub_command(const std::string& name) {
  std::vector<std::string> names;
  for (const SubCommand& one : kSubCommands) {
    if (name == one.name) return one;
    names.emplace_back(one.name);
  }
  names.emplace_back("schedule");
  const std::string near = did_you_mean(name, names);
  throw bad_words(fmt::format("unknown command 'config {}'", printable_ascii(name)),
                  near.empty() ? "there are: " + join(names, ", ") : near);
}

// Words in front of the first override: no dash, no '='.
void split_words(const std::vector<std::string>& rest, ConfigRequest& request) {
  const auto is_override = [](const std::string& word) {
    return word.starts_with("-") || word.find('=') != std::string::npos;
  };
  const auto first = std::find_if(rest.begin(), rest.end(), is_override);
  request.words.assign(rest.begin(), first);
  request.overrides.assign(first, rest.end());
}

}  // namespace

ExitCode run_config(Context& context) {
  const std::vector<std::string>& given = context.arguments;
  if (given.empty() || given[0] == "--help" || given[0] == "-h") {
    print_help(*context.out);
    return ExitCode::Ok;
  }
  if (given[0] == "schedule") return run_config_schedule(context);
  const SubCommand& command = find_sub_command(given[0]);
  CLI::App app(fmt::format("{}\nconfig {} {}", command.summary, command.name, command.usage),
               fmt::format("config {}", command.name));
  app.allow_extras();
  ConfigRequest request;
  std::string format = "text";
  const bool is_show = std::string_view(command.name) == "show";
  if (command.takes_overrides) app.add_option("--config", request.config, "the experiment file");
  app.add_option("--presets", request.presets, "use DIR's primus/configs and examples");
  app.add_option("--format", format, is_show ? "yaml (default) or json" : "text (default) or json")
      ->check(CLI::IsMember({"text", "yaml", "json"}));
  if (command.takes_overrides) app.add_option("--module", request.module, "the module that overrides change");
  if (is_show) {
    app.add_option("--only", request.only, "print only these parameters")->delimiter(',')->expected(1)->take_all();
    app.add_flag("--origins", request.origins, "print where every value comes from, as JSON");
  }
  if (std::string_view(command.name) == "check") {
    app.add_flag("--strict", request.strict, "warnings fail the check too");
    app.add_option("--nproc", request.num_ranks, "check the batch against this number of ranks")
        ->check(CLI::PositiveNumber);
  }
  if (!parse_options(app, std::vector<std::string>(given.begin() + 1, given.end()), context)) return ExitCode::Ok;
  request.json = format == "json";
  split_words(app.remaining(), request);
  if (!command.takes_overrides && !request.overrides.empty()) {
    throw bad_words(fmt::format("'{}' is no option of config {}", printable_ascii(request.overrides[0]), command.name),
                    fmt::format("config {} {}", command.name, command.usage));
  }
  if (command.takes_config && request.config.empty()) {
    throw bad_words(fmt::format("config {} needs an experiment", command.name), "--config F names it");
  }
  return command.run(request, context);
}

}  // namespace primus::cli
