#include "primus/dialect/preset_from_model_others.h"

#include <algorithm>

#include "primus/config/dump.h"
#include "primus/dialect/bridge.h"
#include "primus/dialect/torchtitan_flavors.h"
#include "primus/dialect/translate_writers.h"

namespace primus::dialect {

namespace {

spec::RunSpec run_of(const spec::Model& model, std::string_view framework) {
  spec::RunSpec run;
  run.model = model;
  run.data.sequence_length = compared_length(model, framework);
  return run;
}

void append_lines(const config::Map& map, const std::string& section, std::vector<PresetLine>& lines) {
  for (const config::MapEntry& entry : map) {
    if (entry.value.is_map()) {
      append_lines(entry.value.as_map(), section + entry.key + ".", lines);
    } else {
      lines.push_back({"Architecture", section + entry.key, entry.value});
    }
  }
}

const std::string& text_of(const ModelPreset& preset, std::string_view key) {
  static const std::string kNone;
  for (const PresetLine& line : preset.lines)
    if (line.key == key) return line.value.as_string();
  return kNone;
}

// ---------------------------------------------------------------- torchtitan

template <class T>
std::string yaml_of(const T& value) {
  return config::yaml_scalar(config::Value(value));
}
template <class T>
std::string yaml_of(const std::optional<T>& value) {
  return value ? yaml_of(*value) : "null";
}

// What the flavor itself has there; empty for what is no argument of it.
std::string flavors_own(const TitanModel& flavor, std::string_view key) {
  for (const TitanArgument& argument : titan_arguments())
    if (argument.key == key)
      return std::visit([&flavor](auto member) { return yaml_of(flavor.*member); }, argument.member);
  return {};
}

}  // namespace

int64_t compared_length(const spec::Model& model, std::string_view framework) {
  const int64_t all = std::max<int64_t>(1, model.max_positions);
  return framework == "torchtitan" ? all : std::min<int64_t>(all, 1024);
}

Result<ModelPreset> titan_preset(const spec::Model& model) {
  config::Map params;
  ModelPreset preset;
  std::vector<std::string> notes;
  KeyWriter keys(params, notes);
  write_titan_model(run_of(model, "torchtitan"), keys);
  append_lines(params, "", preset.lines);
  const std::string family = text_of(preset, "model.name"), flavor = text_of(preset, "model.flavor");
  const auto own = titan_model(*titan_family(family), flavor);
  const bool exact = preset.lines.size() == 2;
  preset.decisions.push_back({"model.name", family, "the family of TorchTitan that has these parts"});
  preset.decisions.push_back(
      {"model.flavor", flavor,
       exact ? "the flavor with exactly these sizes" : "the nearest flavor; what it has differently is given with it"});
  for (const PresetLine& line : preset.lines) {
    if (line.key == "model.name" || line.key == "model.flavor") continue;
    const std::string given = config::yaml_scalar(line.value), had = flavors_own(*own, line.key);
    preset.decisions.push_back(
        {line.key, given,
         given == had
             ? "as flavor " + flavor + " has it: moe_args are built from given keys only"
             : "flavor " + flavor + " has " + had + "; Primus applies it, TorchTitan alone has no option for it"});
  }
  const auto& rope = model.layers.front().attention.rope;
  if (family == "deepseek_v3" && rope && rope->yarn)
    preset.decisions.push_back({"training.seq_len", "> " + std::to_string(rope->yarn->original_max_positions),
                                "TorchTitan stretches rotary positions (YaRN) in longer sequences only"});
  return preset;
}

Result<ModelPreset> maxtext_preset(const spec::Model& model) {
  config::Map params;
  ModelPreset preset;
  std::vector<std::string> notes;
  KeyWriter keys(params, notes);
  write_maxtext_model(run_of(model, "maxtext"), keys);
  params.erase("base_config");  // the module preset has it
  append_lines(params, "", preset.lines);
  preset.extends = "model_base.yaml";
  const std::string name = text_of(preset, "model_name"), block = text_of(preset, "decoder_block");
  preset.decisions.push_back({"model_name", name,
                              name == "default"
                                  ? "no model_name of MaxText has this architecture: size by size"
                                  : "MaxText has this architecture under that name, vocabulary included"});
  if (!block.empty()) preset.decisions.push_back({"decoder_block", block, "the block of MaxText that has these parts"});
  return preset;
}

Result<ModelPreset> bridge_preset(const spec::Model& model) {
  config::Map params;
  ModelPreset preset;
  std::vector<std::string> notes;
  KeyWriter keys(params, notes);
  const spec::RunSpec run = run_of(model, "megatron_bridge");
  if (!write_bridge_model(run, keys)) return no_such_recipe(run);
  append_lines(params, "", preset.lines);
  const std::string module = text_of(preset, "recipe"), flavor = text_of(preset, "flavor");
  preset.decisions.push_back({"recipe", module, "the module of Megatron Bridge's recipes for this family"});
  preset.decisions.push_back({"flavor", flavor, "the pre-training recipe that has this architecture"});
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    if (recipe.module != module || recipe.flavor != flavor || !recipe.builder->takes_hf_path) continue;
    const std::string path(recipe.model);
    preset.lines.push_back({"Architecture", "hf_path", config::Value(path)});
    preset.decisions.push_back({"hf_path", path, "the recipe takes architecture and tokenizer from there"});
  }
  return preset;
}

}  // namespace primus::dialect
