// TorchTitan: a TOML file for its JobConfig.
#include <algorithm>
#include <map>

#include "primus/base/strings.h"
#include "primus/dialect/export_forms.h"
#include "primus/dialect/export_torchtitan_fields.h"
#include "primus/dialect/reader.h"
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

class TitanExport {
 public:
  TitanExport(const ExportSource& source, LaunchForm& form) : source_(source), form_(form) {}

  void run() {
    const std::vector<std::string> fields = split_whitespace(torchtitan_fields());
    for (const Leaf& leaf : leaves_of(source_.module.params)) {
      if (std::find(fields.begin(), fields.end(), leaf.key) == fields.end()) lose(leaf);
    }
    for (const std::string& field : fields) write(field);
    std::string text;
    for (const std::string& section : sections_) {
      text += text.empty() ? "" : "\n";
      text += "[" + section + "]\n" + lines_[section];
    }
    const std::string name = source_.experiment.meta.exp_name + ".toml";
    form_.arguments = {"--job.config_file", source_.path_of(name)};
    form_.files.push_back({name, std::move(text)});
  }

 private:
  void not_carried(const std::string& key, const config::Value& value, std::string reason) {
    form_.not_carried.push_back({key, config::describe(value), std::move(reason)});
  }

  void lose(const Leaf& leaf) {
    const Parameter* row = find_parameter("torchtitan", leaf.key);
    if (leaf.value->is_map() || (row == nullptr && leaf.value->is_null())) return;
    if (row != nullptr) {
      const auto typed = source_.typed(*row);
      if (typed && (typed->is_null() || means_default(*row, *typed))) return;
    }
    for (const TitanArgument& argument : titan_arguments())
      if (argument.key == leaf.key)
        return not_carried(leaf.key, *leaf.value,
                           "no upstream form: TorchTitan takes the model's arguments from the flavor alone");
    if (leaf.key.starts_with("primus_turbo."))
      return not_carried(leaf.key, *leaf.value, "AMD's kernels, an extension of Primus");
    not_carried(leaf.key, *leaf.value,
                row != nullptr && !row->instead.empty()
                    ? "an old name that JobConfig has no more; it means " + std::string(row->instead)
                : row != nullptr ? reason_of(*row, "TorchTitan")
                                 : "JobConfig has no such field");
  }

  void write(const std::string& field) {
    const config::Value* value = find_value(source_.module.params, field);
    if (value == nullptr || value->is_map()) return;
    const Parameter* row = find_parameter("torchtitan", field);
    const auto typed = row == nullptr ? std::nullopt : source_.typed(*row);
    if (typed && !value->is_null() && row->default_text == "null" && typed->is_null()) return;
    if (value->is_null()) {
      if (row != nullptr && row->default_text != "null")
        not_carried(field, *value, "TOML has no null; upstream's default is " + std::string(row->default_text));
      return;
    }
    // A whole number stays one; a number that YAML 1.1 read as text becomes a number.
    std::string text = typed && !value->is_int() ? toml_literal(*typed) : toml_literal(*value);
    if (field == "model.converters" && typed) text = converters(*typed);
    if (field == "experimental.custom_args_module" || field == "job.custom_config_module") {
      if (typed && typed->to_text().starts_with("primus.")) return not_carried(field, *value, "a module of Primus");
    }
    const size_t dot = field.rfind('.');
    const std::string section = field.substr(0, dot);
    if (std::find(sections_.begin(), sections_.end(), section) == sections_.end()) sections_.push_back(section);
    lines_[section] += field.substr(dot + 1) + " = " + text + "\n";
  }

  std::string converters(const TypedValue& given) {
    TypedValue kept = given;
    if (auto* names = std::get_if<std::vector<std::string>>(&kept.data)) {
      if (std::erase(*names, "primus_turbo") > 0)
        form_.not_carried.push_back(
            {"model.converters", "primus_turbo", "an extension of Primus; upstream's converters are kept"});
    }
    return toml_literal(kept);
  }

  const ExportSource& source_;
  LaunchForm& form_;
  std::vector<std::string> sections_;
  std::map<std::string, std::string> lines_;
};

}  // namespace

void export_torchtitan(const ExportSource& source, LaunchForm& form) {
  form.upstream = "pytorch/torchtitan v0.2.2 (73a0e697)";
  form.package = "torchtitan";
  form.program = {"-m", "torchtitan.train"};
  form.accepted = "Sections, fields and types were checked with the ConfigManager of torchtitan 0.2.2.";
  TitanExport(source, form).run();
}

}  // namespace primus::dialect
