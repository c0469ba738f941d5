// config export: what an upstream trainer would be started with, in the experiment's dialect or in another one.
#include "primus/cli/config_export.h"

#include <fmt/format.h>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/config/dump.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/export.h"
#include "primus/dialect/translate.h"

namespace primus::cli {
namespace {

struct ExportRequest {
  std::string to, output, as = "launch";
  bool overwrite = false;
};

struct Exported {
  config::Experiment experiment;                 // in the dialect that was asked for
  std::vector<dialect::NotCarried> not_carried;  // on the way from one dialect to the other
  std::vector<std::string> notes;
};

std::string lines_of(const Exported& exported) {
  std::string out;
  for (const std::string& note : exported.notes) out += "# " + note + "\n";
  if (!exported.not_carried.empty()) out += "# Not carried from the other dialect:\n";
  for (const dialect::NotCarried& one : exported.not_carried)
    out += fmt::format("#   {}: {}  ({})\n", one.key, one.value, one.reason);
  return out;
}

void write(const std::string& path, const std::string& text, bool overwrite, Context& context) {
  std::error_code error;
  if (fs::exists(path, error) && !overwrite)
    throw bad_words(fmt::format("{} is there already", path), "--overwrite, or another --output");
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) create_folders(folder);
  write_file_atomic(path, text);
  *context.out << "wrote " << path << '\n';
}

// A folder gets every file and, as a script of its own, the command; a file name gets what would be printed.
void write_form(const dialect::LaunchForm& form, const std::string& head, const ExportRequest& wanted,
                Context& context) {
  std::error_code error;
  const bool is_folder = wanted.output.ends_with('/') || fs::is_directory(wanted.output, error);
  if (!is_folder) return write(wanted.output, head + dialect::launch_text(form), wanted.overwrite, context);
  for (const dialect::LaunchFile& file : form.files)
    write((fs::path(wanted.output) / file.name).string(), file.text, wanted.overwrite, context);
  dialect::LaunchForm command = form;
  command.files.clear();
  write((fs::path(wanted.output) / "start.sh").string(), head + dialect::launch_text(command), wanted.overwrite,
        context);
}

void check_target(const std::string& to) {
  std::vector<std::string> names;
  for (const dialect::Dialect& one : dialect::all_dialects()) names.emplace_back(one.framework);
  if (dialect::find_dialect(to) != nullptr) return;
  const std::string near = did_you_mean(to, names);
  throw bad_words(to.empty() ? "--to is missing: the trainer that the experiment is for"
                             : fmt::format("there is no dialect '{}'", printable_ascii(to)),
                  near.empty() ? "there are: " + join(names, ", ") : near);
}

Exported convert(const config::Experiment& experiment, const std::string& module, const std::string& to,
                 Context& context) {
  const config::Module* chosen = module.empty() ? &experiment.main_module() : experiment.find_module(module);
  if (chosen != nullptr && chosen->framework == to) return {experiment, {}, {}};
  Result<dialect::Translated> result = dialect::translate_experiment(experiment, module, to);
  if (!result) throw InputError(result.diagnostics());
  print_findings(result.diagnostics(), context);
  return {std::move(result->experiment), std::move(result->not_carried), std::move(result->notes)};
}

Json not_carried_json(const Exported& exported) {
  Json list = Json::array();
  for (const dialect::NotCarried& one : exported.not_carried)
    list.push_back({{"key", one.key}, {"value", one.value}, {"reason", one.reason}});
  return list;
}

}  // namespace

ExitCode run_config_export(Context& context) {
  ConfigOptions options("export", "--config F --to FRAMEWORK [--as launch|experiment] [--output FILE|DIR/] [overrides]",
                        "what an upstream trainer would be started with, or the experiment in another dialect");
  ExportRequest wanted;
  options.experiment().presets().formats({"text", "json"});
  options.text("--to", wanted.to, "megatron, torchtitan, maxtext or megatron_bridge");
  options.text("--as", wanted.as, "launch (default): what the trainer gets; experiment: a file of that dialect",
               {"launch", "experiment"});
  options.text("--output", wanted.output, "a file, or a folder for all files; default: print");
  options.flag("--overwrite", wanted.overwrite, "replace files");
  if (!options.read_with_experiment(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (!request.words.empty())
    throw bad_words(fmt::format("'{}' is no override", printable_ascii(request.words[0])), "config export --help");
  check_target(wanted.to);
  const Exported exported =
      convert(load_or_throw(request, context, request.config), request.module, wanted.to, context);
  const std::string module = exported.experiment.find_module(request.module) != nullptr ? request.module : "";
  if (wanted.as == "experiment") {
    const std::string text = lines_of(exported) + config::dump_yaml(exported.experiment);
    if (request.json()) {
      Json json = config::to_json(exported.experiment);
      json["not_carried"] = not_carried_json(exported);
      *context.out << dump_json(json, 1) << '\n';
    } else if (wanted.output.empty()) {
      *context.out << text;
    } else {
      write(wanted.output, text, wanted.overwrite, context);
    }
    return ExitCode::Ok;
  }
  Result<dialect::LaunchForm> form = dialect::export_launch(exported.experiment, module);
  if (!form) throw InputError(form.diagnostics());
  print_findings(form.diagnostics(), context);
  if (request.json()) {
    Json json = dialect::launch_json(*form);
    json["translation"] = not_carried_json(exported);
    *context.out << dump_json(json, 1) << '\n';
  } else if (wanted.output.empty()) {
    *context.out << lines_of(exported) << dialect::launch_text(*form);
  } else {
    write_form(*form, lines_of(exported), wanted, context);
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
