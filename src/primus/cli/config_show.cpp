// config show: the resolved experiment, what it changes, or the run that it describes.
#include <fmt/format.h>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/config/changes.h"
#include "primus/config/dump.h"
#include "primus/spec/to_json.h"

namespace primus::cli {
namespace {

struct ShowRequest {
  std::vector<std::string> only;
  bool origins = false, changed = false;
};

// The fields that --only names, or the whole run.
Json spec_json(const spec::RunSpec& run, const std::vector<std::string>& only) {
  if (only.empty()) return spec::to_json(run);
  Json fields = Json::object();
  Diagnostics missing;
  for (const std::string& name : only) {
    if (auto value = spec::field_value(run, name)) {
      fields[name] = std::move(*value);
      continue;
    }
    missing.push_back(
        error_at({.file = "command line"}, fmt::format("the run has no field '{}'", printable_ascii(name))));
    std::vector<std::string> names;
    const Json whole = spec::to_json(run);
    for (const auto& [section, value] : whole.items()) {
      names.push_back(section);
      if (value.is_object())
        for (const auto& [field, inner] : value.items()) names.push_back(section + '.' + field);
    }
    missing.back().suggestion = did_you_mean(name, names);
  }
  if (!missing.empty()) throw InputError(missing);
  return fields;
}

ExitCode show_spec(const ConfigRequest& request, const ShowRequest& show, const config::Experiment& experiment,
                   Context& context) {
  const Result<spec::RunSpec> run = describe_run(experiment, request.module);
  if (!run) throw InputError(run.diagnostics());
  print_findings(run.diagnostics(), context);
  Json json = spec_json(*run, show.only);
  mask_secrets(json, experiment);
  *context.out << (request.json() ? dump_json(json, 1) + '\n' : yaml_of(json));
  return ExitCode::Ok;
}

}  // namespace

ExitCode run_config_show(Context& context) {
  ConfigOptions options("show", "--config F [--only KEY,...] [--changed] [--as spec] [--origins] [overrides]",
                        "print the resolved experiment: a file that shows the same again");
  ShowRequest show;
  options.experiment().presets().formats({"yaml", "json", "text"}).as_spec();
  options.list("--only", show.only, "print only these parameters (fields with --as spec)");
  options.flag("--changed", show.changed, "print only what differs from the presets, as an experiment");
  options.flag("--origins", show.origins, "print where every value comes from, as JSON");
  if (!options.read_with_experiment(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (!request.words.empty()) {
    throw bad_words(fmt::format("'{}' is no override", printable_ascii(request.words[0])),
                    "an experiment is given as --config F");
  }
  if (show.changed && (!show.only.empty() || request.as == "spec" || show.origins))
    throw bad_words("--changed goes with none of --only, --origins and --as spec", "leave one of them out");
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  std::ostream& out = *context.out;
  if (request.as == "spec") return show_spec(request, show, experiment, context);
  if (show.origins) {
    out << dump_json(config::origins_json(experiment), 1) << '\n';
  } else if (show.changed && request.json()) {
    out << dump_json(value_or_throw(config::changes_json(experiment)), 1) << '\n';
  } else if (show.changed) {
    out << value_or_throw(config::dump_changes(experiment));
  } else if (request.json()) {
    out << dump_json(config::to_json(experiment, show.only), 1) << '\n';
  } else {
    out << config::dump_yaml(experiment, show.only);
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
