#include "primus/dialect/export.h"

#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/check_parameters.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/export_forms.h"
#include "primus/dialect/reader.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {

namespace {

struct Exporter {
  std::string_view framework;
  void (*run)(const ExportSource&, LaunchForm&);
};

constexpr Exporter kExporters[] = {
    {"megatron", export_megatron},
    {"torchtitan", export_torchtitan},
    {"maxtext", export_maxtext},
    {"megatron_bridge", export_bridge},
};

// Secrets become "***", or lose their mark so that they are written as they are.
void settle_secrets(config::Value& value, bool show) {
  if (value.is_map()) {
    for (config::MapEntry& entry : value.as_map()) settle_secrets(entry.value, show);
  } else if (value.is_list()) {
    for (config::Value& item : value.as_list()) settle_secrets(item, show);
  } else if (value.origin().is_secret) {
    if (!show) value.set_data_of(config::Value("***"));
    value.origin().is_secret = false;
  }
}

void comment(std::string& out, const std::string& text) {
  out += text.empty() ? "#\n" : "# " + text + "\n";
}

void comment_list(std::string& out, const std::string& head, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  comment(out, "");
  comment(out, head);
  for (const std::string& line : lines) comment(out, "  " + line);
}

std::string head_of(const LaunchForm& form) {
  std::string out;
  comment(out, form.upstream + ", started with " + form.experiment);
  comment(out, form.accepted.empty() ? "No real parser has accepted this form." : form.accepted);
  comment_list(out, "Not known to that parser:", form.unproven);
  comment_list(out, "Changed on the way:", form.notes);
  std::vector<std::string> lost;
  for (const NotCarried& one : form.not_carried)
    lost.push_back(one.key + ": " + printable_ascii(one.value) + "  (" + one.reason + ")");
  comment_list(out, "Not carried:", lost);
  return out;
}

// "--flag value" pairs on lines of their own.
std::string command_lines(const LaunchForm& form) {
  std::string out = "python";
  for (const std::string& word : form.program) out += " " + shell_quoted(word);
  for (const std::string& word : form.arguments)
    out += (word.starts_with("--") ? " \\\n    " : " ") + shell_quoted(word);
  return out + "\n";
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::optional<TypedValue> ExportSource::typed(const Parameter& row) const {
  const config::Value* value = find_value(module.params, row.name);
  if (value == nullptr) return std::nullopt;
  Diagnostics ignored;  // told by to_spec
  NumericText also_ignored;
  return read_typed(row, *value, ignored, also_ignored);
}

std::string ExportSource::path_of(const std::string& file_name) const {
  return options.folder.empty() ? file_name : options.folder + "/" + file_name;
}

Result<LaunchForm> export_launch(const config::Experiment& experiment, std::string_view module_name,
                                 const ExportOptions& options) {
  Result<spec::RunSpec> run = to_spec(experiment, module_name, {.for_training = false});
  if (!run.ok()) return run.diagnostics();
  const config::Module& original =
      module_name.empty() ? experiment.main_module() : *experiment.find_module(module_name);
  config::Module module = original;
  settle_secrets(module.params, options.show_secrets);
  LaunchForm form;
  form.framework = module.framework;
  form.experiment = experiment.file + " (" + module.name + ")";
  for (const Exporter& exporter : kExporters) {
    if (exporter.framework != module.framework) continue;
    exporter.run({experiment, module, options}, form);
    return Result<LaunchForm>(std::move(form), run.diagnostics());
  }
  return error_at(module.place, "framework '" + module.framework + "' has no launch form");
}

std::string launch_text(const LaunchForm& form) {
  std::string out = head_of(form);
  if (form.files.empty()) return out + "\n" + command_lines(form);
  comment(out, "");
  comment(out, "Started as:");
  for (const std::string& line : split(std::string(trim(command_lines(form))), '\n')) comment(out, "  " + line);
  for (const LaunchFile& file : form.files) {
    out += "\n";
    if (form.files.size() > 1) comment(out, "---- " + file.name);
    out += file.text;
  }
  return out;
}

Json launch_json(const LaunchForm& form) {
  Json json = {{"framework", form.framework}, {"experiment", form.experiment}, {"upstream", form.upstream},
               {"program", form.program},     {"arguments", form.arguments},   {"by_torchrun", form.by_torchrun}};
  json["files"] = Json::object();
  for (const LaunchFile& file : form.files) json["files"][file.name] = file.text;
  json["accepted"] = form.accepted;
  json["unproven"] = form.unproven;
  json["notes"] = form.notes;
  json["not_carried"] = Json::array();
  for (const NotCarried& one : form.not_carried)
    json["not_carried"].push_back({{"key", one.key}, {"value", one.value}, {"reason", one.reason}});
  return json;
}

}  // namespace primus::dialect
