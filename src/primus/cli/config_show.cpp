// config show, explain and diff.
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/config/diff.h"
#include "primus/config/dump.h"
#include "primus/config/explain.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

InputError bad_words(std::string message, std::string suggestion) {
  Diagnostic error = error_at({.file = "command line"}, std::move(message));
  error.suggestion = std::move(suggestion);
  return InputError(std::move(error));
}

config::Experiment load_or_throw(const ConfigRequest& request, Context& context, const std::string& file) {
  Result<config::Experiment> loaded = config::load_experiment(load_options(request, context, file));
  if (!loaded) throw InputError(loaded.diagnostics());
  print_findings(loaded.diagnostics(), context);
  return std::move(loaded).value();
}

std::optional<config::ParameterFacts> table_facts(std::string_view framework, std::string_view key) {
  const dialect::Parameter* parameter = dialect::find_parameter(framework, key);
  if (parameter == nullptr) return std::nullopt;
  config::ParameterFacts facts;
  facts.type = dialect::to_string(parameter->type);
  if (parameter->nullable) facts.type += " or null";
  facts.unit = parameter->unit;
  facts.default_text = parameter->default_text;
  facts.doc = parameter->doc;
  facts.status = dialect::to_string(parameter->status);
  if (!parameter->reason.empty()) facts.status += fmt::format(": {}", parameter->reason);
  return facts;
}

}  // namespace

config::LoadOptions load_options(const ConfigRequest& request, const Context& context, const std::string& file) {
  return {.path = file,
          .command_line_overrides = request.overrides,
          .environment = context.environment,
          .presets_root = request.presets.empty() ? context.install_root : fs::path(request.presets),
          .prefer_presets_tree = !request.presets.empty(),
          .module = request.module};
}

void print_findings(const Diagnostics& diagnostics, Context& context) {
  if (!diagnostics.empty()) *context.err << render(diagnostics, context.colour) << '\n';
}

Json findings_json(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json one = {{"severity", d.severity == Severity::Error     ? "error"
                             : d.severity == Severity::Warning ? "warning"
                                                               : "note"},
                {"file", d.place.file},
                {"line", d.place.line},
                {"column", d.place.column}};
    one["message"] = d.message;
    for (const auto& [name, text] :
         {std::pair{"key", &d.key}, {"found", &d.found}, {"expected", &d.expected}, {"suggestion", &d.suggestion}}) {
      if (!text->empty()) one[name] = *text;
    }
    list.push_back(std::move(one));
  }
  return list;
}

ExitCode config_show(const ConfigRequest& request, Context& context) {
  if (!request.words.empty()) {
    throw bad_words(fmt::format("'{}' is no override", printable_ascii(request.words[0])),
                    "an experiment is given as --config F");
  }
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  if (request.origins) {
    *context.out << dump_json(config::origins_json(experiment), 1) << '\n';
  } else if (request.json) {
    *context.out << dump_json(config::to_json(experiment, request.only), 1) << '\n';
  } else {
    *context.out << config::dump_yaml(experiment, request.only);
  }
  return ExitCode::Ok;
}

ExitCode config_explain(const ConfigRequest& request, Context& context) {
  if (request.words.size() != 1) throw bad_words("config explain takes one key", "config explain KEY --config F");
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  const auto answers = value_or_throw(config::explain(experiment, request.words[0], table_facts));
  if (request.json) {
    Json list = Json::array();
    for (const config::Explanation& one : answers) list.push_back(config::to_json(one));
    *context.out << dump_json(list.size() == 1 ? list[0] : Json{{"answers", list}}, 1) << '\n';
    return ExitCode::Ok;
  }
  for (const config::Explanation& one : answers) *context.out << config::render(one);
  return ExitCode::Ok;
}

ExitCode config_diff(const ConfigRequest& request, Context& context) {
  if (request.words.size() != 2) throw bad_words("config diff takes two files", "config diff A B");
  const config::Experiment before = load_or_throw(request, context, request.words[0]);
  const config::Experiment after = load_or_throw(request, context, request.words[1]);
  const std::vector<config::Difference> differences = config::compare(before, after);
  if (request.json) {
    *context.out << dump_json(config::to_json(differences), 1) << '\n';
  } else if (differences.empty()) {
    *context.out << "no differences\n";
  } else {
    *context.out << config::render(differences);
  }
  return differences.empty() ? ExitCode::Ok : ExitCode::CheckFailed;
}

}  // namespace primus::cli
