// MaxText: the .yml that Primus writes, and the overrides that it hands over beside it.
#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/dialect/export_forms.h"
#include "primus/dialect/maxtext.h"

namespace primus::dialect {

namespace {

// Read by Primus alone, and taken out of the file as it does.
constexpr std::string_view kOfPrimus[] = {"file_sink_level", "stderr_sink_level", "sink_level", "trainable", "model"};

// A key of release/v26.6 that maxtext 0.2.5 refuses.
constexpr std::string_view kNewer = "pure_nnx_decoder";

// "[a,b]" and scalars, as MaxText reads its command line.
std::string word_of(const config::Value& value) {
  if (!value.is_list()) return value.is_string() ? value.as_string() : config::yaml_scalar(value);
  std::vector<std::string> items;
  for (const config::Value& item : value.as_list()) items.push_back(word_of(item));
  return "[" + join(items, ",") + "]";
}

}  // namespace

void export_maxtext(const ExportSource& source, LaunchForm& form) {
  form.upstream = "AI-Hypercomputer/maxtext (ROCm release/v26.6)";
  form.package = "maxtext";
  form.program = {"-m", "maxtext.trainers.pre_train.train"};
  form.by_torchrun = false;
  form.accepted = "Keys were checked with the pyconfig of maxtext 0.2.5; release/v26.6 itself is not on PyPI.";
  config::Map kept;
  for (const config::MapEntry& entry : source.module.params.as_map()) {
    bool of_primus = entry.key == "override_model";
    for (const std::string_view name : kOfPrimus) of_primus = of_primus || name == entry.key;
    if (!of_primus) kept.set(entry.key, entry.value);
    if (entry.key == kNewer) form.unproven.emplace_back(kNewer);
    const Parameter* row = find_parameter("maxtext", entry.key);
    if (of_primus || row == nullptr) continue;
    const auto typed = source.typed(*row);
    if (row->ours && typed && !means_default(*row, *typed)) {
      form.not_carried.push_back({entry.key, typed->to_text(), reason_of(*row, "MaxText")});
      kept.erase(entry.key);
    }
  }
  const std::string name = source.experiment.meta.exp_name + ".yml";
  form.files.push_back({name, config::yaml_block(config::Value(std::move(kept)))});
  form.arguments = {source.path_of(name)};
  if (const config::Value* overrides = source.module.params.find("override_model");
      overrides != nullptr && overrides->is_map())
    for (const config::MapEntry& entry : overrides->as_map())
      form.arguments.push_back(entry.key + "=" + word_of(entry.value));
  form.notes.emplace_back("base_config is looked up by MaxText: beside the file, then in its own configs folder");
}

}  // namespace primus::dialect
