#include "primus/dialect/preset_from_model.h"

#include <optional>

#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/config/load.h"
#include "primus/dialect/megatron_preset.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/preset_from_model_others.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/translate_writers.h"
#include "primus/spec/architecture.h"

namespace primus::dialect {

namespace {

// The few keys that a run needs beside the preset.
void megatron_run(const spec::Model& model, KeyWriter& keys) {
  keys.set("tokenizer_type", "NullTokenizer");
  keys.set("vocab_size", model.vocab_size - 1);
  keys.set("data_path", "data");
  for (const char* key : {"seq_length", "micro_batch_size", "global_batch_size", "train_iters"})
    keys.set(key, int64_t{1});
  keys.set("lr", 1e-3);
  keys.set("eval_iters", int64_t{0});
}
void titan_run(const spec::Model& model, KeyWriter& keys) {
  keys.set("training.seq_len", compared_length(model, "torchtitan"));
}
void maxtext_run(const spec::Model& model, KeyWriter& keys) {
  keys.set("max_target_length", compared_length(model, "maxtext"));
  keys.set("dataset_type", "synthetic");
}
void bridge_run(const spec::Model&, KeyWriter& keys) {
  keys.set("mock", true);
}

Result<ModelPreset> every_key(const spec::Model& model) {
  return megatron_preset(model);
}

struct Writer {
  std::string_view framework;
  Result<ModelPreset> (*preset)(const spec::Model&);
  void (*run_keys)(const spec::Model&, KeyWriter&);
  bool names_models;  // by a flavor, a name, a recipe: some fields are spelt differently there
};

constexpr Writer kWriters[] = {
    {"megatron", every_key, megatron_run, false},
    {"torchtitan", titan_preset, titan_run, true},
    {"maxtext", maxtext_preset, maxtext_run, true},
    {"megatron_bridge", bridge_preset, bridge_run, true},
};

const Writer* find_writer(std::string_view framework) {
  for (const Writer& writer : kWriters)
    if (writer.framework == framework) return &writer;
  return nullptr;
}

// An experiment of nothing but the preset and what every run needs.
config::Experiment bare_experiment(const ModelPreset& preset, const spec::Model& model, const Writer& writer) {
  config::Map params = preset_params(preset);
  std::vector<std::string> notes;
  KeyWriter keys(params, notes);
  writer.run_keys(model, keys);
  config::Module module;
  module.name = "pre_trainer";
  module.framework = writer.framework;
  module.params = config::Value(std::move(params));
  config::Experiment experiment;
  experiment.modules.push_back(std::move(module));
  return experiment;
}

// A difference that changes no function, or only the epsilon of one norm, as a decision; nothing for every other one.
std::optional<PresetDecision> same_meaning(const std::string& difference, const spec::Model& wanted,
                                           const spec::Model& got) {
  const std::string field = difference.substr(0, difference.find(" ("));
  if (field.ends_with(".rope.interleaved"))
    return PresetDecision{field, difference.ends_with("(true)") ? "false" : "true",
                          "the same rotation, its pairs laid out differently: query and key weights are permuted"};
  if (field == "model.max_positions" && !wanted.learned_positions)
    return PresetDecision{field, std::to_string(got.max_positions), "no limit of rotary positions"};
  if (field == "model.final_norm.eps")
    return PresetDecision{
        field, format_double(got.final_norm.eps),
        "the dialect has no epsilon for its last norm; published: " + format_double(wanted.final_norm.eps)};
  if (field == "model.vocab_size" && got.vocab_size == 0) return PresetDecision{field, "open", "the tokenizer decides"};
  return std::nullopt;
}

// What the dialect's own rules forbid, as the fields that are in the way.
std::vector<std::string> errors_of(const Diagnostics& findings) {
  std::vector<std::string> texts;
  for (const Diagnostic& finding : findings)
    if (finding.severity == Severity::Error) texts.push_back(finding.key + ": " + finding.message);
  return texts;
}

Diagnostic cannot_be_expressed(std::string_view framework, const std::vector<std::string>& lost) {
  Diagnostic finding = error_at({}, "this model cannot be expressed in the dialect " + std::string(framework));
  finding.found = join(lost, "; ");
  return finding;
}

// 1e-06 is text in YAML 1.1, 1.0e-06 a number.
std::string yaml_text(const config::Value& value) {
  std::string text;
  if (value.is_list()) {
    std::vector<std::string> items;
    for (const config::Value& item : value.as_list()) items.push_back(yaml_text(item));
    return "[" + join(items, ", ") + "]";
  }
  return config::yaml_scalar(value);
}

// "a.b.c" below "a.b.d" is one line in their section; sections that are new get their own.
std::string indented_key(const std::string& key, std::vector<std::string>& sections) {
  std::vector<std::string> path = split(key, '.');
  const std::string name = path.back();
  path.pop_back();
  std::string text;
  size_t same = 0;
  while (same < path.size() && same < sections.size() && path[same] == sections[same]) ++same;
  for (size_t i = same; i < path.size(); ++i) text += std::string(2 * i, ' ') + path[i] + ":\n";
  sections = std::move(path);
  return text + std::string(2 * sections.size(), ' ') + name;
}

}  // namespace

std::vector<std::string> preset_frameworks() {
  std::vector<std::string> names;
  for (const Writer& writer : kWriters) names.emplace_back(writer.framework);
  return names;
}

config::Map preset_params(const ModelPreset& preset) {
  config::Map params;
  std::vector<std::string> notes;
  KeyWriter keys(params, notes);
  for (const PresetLine& line : preset.lines) keys.set(line.key, line.value);
  return params;
}

Result<ModelPreset> preset_from_model(const spec::Model& model, std::string_view framework) {
  const Writer* writer = find_writer(framework);
  if (writer == nullptr) {
    Diagnostic finding = error_at({.file = "command line"}, "there is no dialect '" + printable_ascii(framework) + "'");
    finding.expected = join(preset_frameworks(), ", ");
    finding.suggestion = did_you_mean(std::string(framework), preset_frameworks());
    return finding;
  }
  if (model.layers.empty()) return error_at({}, "a model without layers has no preset");
  Result<ModelPreset> written = writer->preset(model);
  if (!written.ok()) return written.diagnostics();
  ModelPreset& preset = *written;
  for (PresetLine& line : preset.lines) {
    const Parameter* row = find_parameter(framework, line.key);
    line.ours = row != nullptr && row->ours;
  }
  const auto again = to_spec(bare_experiment(preset, model, *writer), {}, {.world_size = 0, .for_training = false});
  if (!again.ok()) return cannot_be_expressed(framework, errors_of(again.diagnostics()));
  const spec::Model wanted = canonical_model(model), got = canonical_model(again->model);
  std::vector<std::string> lost;
  for (const std::string& difference : spec::architecture_differences(wanted, got)) {
    const auto decision = writer->names_models ? same_meaning(difference, wanted, got) : std::nullopt;
    if (decision) {
      preset.decisions.push_back(*decision);
    } else {
      lost.push_back(difference);
    }
  }
  if (!lost.empty()) return cannot_be_expressed(framework, lost);
  const double scale = again->model.layers.front().attention.softmax_scale;
  if (writer->names_models && scale != got.layers.front().attention.softmax_scale)
    preset.decisions.push_back({"model.layers.attention.softmax_scale", format_double(scale),
                                "the scale is in the first query weights; published ones are multiplied by it"});
  if (model.mtp && !got.mtp)
    preset.decisions.push_back({"model.mtp", "none", "the dialect predicts one token; only training is affected"});
  return preset;
}

std::string preset_text(const ModelPreset& preset, const std::vector<std::string>& comment) {
  std::string text;
  for (const std::string& line : comment) text += line.empty() ? "#\n" : "# " + line + "\n";
  if (!preset.extends.empty()) text += "extends:\n  - " + preset.extends + "\n";
  std::string group;
  std::vector<std::string> sections;
  for (const PresetLine& line : preset.lines) {
    if (line.group != group) text += "\n# " + line.group + "\n";
    group = line.group;
    text += indented_key(line.key, sections) + ": " + yaml_text(line.value);
    text += line.ours ? "  # an addition of this project\n" : "\n";
  }
  return text;
}

}  // namespace primus::dialect
