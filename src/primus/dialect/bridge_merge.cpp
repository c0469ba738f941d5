// Steps 3 and 4 of upstream: maps under the container's sections, and what of the user's keys is lost on the way.
// Rules: Primus fd1eeabb, merge of maps into a recipe's container.
#include <algorithm>
#include <array>
#include <set>

#include "primus/dialect/bridge_config.h"

namespace primus::dialect {

namespace {

constexpr std::array<std::string_view, 12> kSections = {"rng",  "rerun_state_machine", "train",   "model",  "optimizer",
                                                        "ddp",  "scheduler",           "dataset", "logger", "tokenizer",
                                                        "dist", "checkpoint"};

// Fields of one kind of data only: pre-training, fine-tuning.
constexpr std::array<std::string_view, 6> kPretrainData = {
    "dataset.random_seed",          "dataset.split",         "dataset.reset_position_ids",
    "dataset.reset_attention_mask", "dataset.eod_mask_loss", "dataset.drop_last_partial_validation_sequence"};
constexpr std::array<std::string_view, 2> kFinetuneData = {"dataset.dataset_name", "dataset.seed"};

// What Python calls a value, as far as the rule of types sees it.
enum class PythonType { None, Bool, Int, Float, Str, List, Dict };

PythonType python_type(const config::Value& value) {
  switch (value.kind()) {
    case config::Kind::Null:
      return PythonType::None;
    case config::Kind::Bool:
      return PythonType::Bool;
    case config::Kind::Int:
      return PythonType::Int;
    case config::Kind::Double:
      return PythonType::Float;
    case config::Kind::String:
      return PythonType::Str;
    case config::Kind::List:
      return PythonType::List;
    case config::Kind::Map:
      return PythonType::Dict;
  }
  return PythonType::None;
}

PythonType python_type(const TypedValue& value) {
  if (value.is_null()) return PythonType::None;
  if (std::holds_alternative<bool>(value.data)) return PythonType::Bool;
  if (std::holds_alternative<int64_t>(value.data)) return PythonType::Int;
  if (std::holds_alternative<double>(value.data)) return PythonType::Float;
  if (std::holds_alternative<std::string>(value.data)) return PythonType::Str;
  return std::holds_alternative<config::Value>(value.data) ? PythonType::Dict : PythonType::List;
}

const char* words(PythonType type) {
  constexpr std::array kWords = {"null", "true/false", "an integer", "a number with a point",
                                 "text", "a list",     "a map"};
  return kWords[static_cast<size_t>(type)];
}

template <class Array>
bool contains(const Array& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string written(std::string_view path, const config::Value& value) {
  return "'" + std::string(path) + ": " + config::describe(value) + "'";
}

class Merger {
 public:
  Merger(Translation& t, BridgeConfig& config) : t_(t), config_(config) {}

  void section(std::string_view name, const config::Value& map) {
    for (const config::MapEntry& entry : map.as_map()) field(std::string(name) + "." + entry.key, entry.value);
  }

 private:
  void field(const std::string& path, const config::Value& value) {
    const Parameter* row = find_parameter(kBridgeFramework, path);
    if (row == nullptr) return unknown(path, value);
    if (row->spec_field.empty() || value.is_null()) return;  // what has no effect is told by the table
    const bool finetunes = config_.recipe->builder->finetunes;
    if (finetunes ? contains(kPretrainData, path) : contains(kFinetuneData, path))
      return skip(path, value, std::string("the data of this recipe have no such field"),
                  "drop it, or choose a recipe that " + std::string(finetunes ? "pre-trains" : "fine-tunes"));
    const TypedValue current = config_.value(path);
    const PythonType wanted = python_type(current), given = python_type(value);
    if (wanted == PythonType::None)
      return skip(path, value, "it is null in the recipe, and Primus puts no value where null was", "drop it");
    if (wanted != given) {
      const bool needs_point = wanted == PythonType::Float && given == PythonType::Int;
      return skip(
          path, value,
          "the recipe holds " + std::string(words(wanted)) + " there (" + current.to_text() + "), not " + words(given),
          needs_point ? "write " + path + ": " + config::describe(value) + ".0"
                      : "write " + std::string(words(wanted)));
    }
    Diagnostics ignored;  // told by check_parameters
    NumericText also_ignored;
    if (auto typed = read_typed(*row, value, ignored, also_ignored)) config_.set(row->name, std::move(*typed));
  }

  void unknown(const std::string& path, const config::Value& value) {
    Diagnostic finding = error_at(value.origin().key_place(), "unknown key '" + path + "' of megatron_bridge");
    finding.key = path;
    finding.suggestion = suggest_parameter(kBridgeFramework, path);
    t_.out.push_back(std::move(finding));
  }

  void skip(const std::string& path, const config::Value& value, const std::string& why, std::string suggestion) {
    t_.warning(path, written(path, value) + " is skipped: " + why, std::move(suggestion));
  }

  Translation& t_;
  BridgeConfig& config_;
};

const std::set<std::string_view>& all_argument_names() {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> all;
    for (const BridgeRecipe& recipe : bridge_recipes())
      for_each_setting(recipe.builder->arguments, [&](std::string_view name, std::string_view) { all.insert(name); });
    return all;
  }();
  return names;
}

}  // namespace

void merge_bridge_maps(Translation& t, BridgeConfig& config) {
  const config::Value& params = t.keys.module().params;
  Merger merger(t, config);
  for (const std::string_view name : kSections) {
    const config::Value* map = params.find(name);
    if (map != nullptr && map->is_map()) merger.section(name, *map);
  }
  const config::Value* precision = params.find("mixed_precision");
  if (precision == nullptr || !precision->is_map()) return;
  if (config.recipe->builder->precision_is_map) return merger.section("mixed_precision", *precision);
  t.warning("mixed_precision", "the map 'mixed_precision' is skipped: the recipe holds a name there, not a map",
            "write precision_config: the name of a precision");
}

void report_dropped_arguments(Translation& t, const BridgeConfig& config) {
  // Copied into the container afterwards, whatever the recipe takes; hf_path has a rule of its own.
  constexpr std::array<std::string_view, 5> kTakenLater = {"log_interval", "eval_interval", "eval_iters",
                                                           "save_interval", "hf_path"};
  for (const config::MapEntry& entry : t.keys.module().params.as_map()) {
    const std::string_view name = entry.key;
    if (contains(kTakenLater, name) || entry.value.is_null()) continue;
    if (!all_argument_names().contains(name) || config.argument(name) != nullptr) continue;
    const Parameter* row = find_parameter(kBridgeFramework, name);
    Diagnostics ignored;
    NumericText also_ignored;
    const auto given = row == nullptr ? std::nullopt : read_typed(*row, entry.value, ignored, also_ignored);
    if (!given || means_default(*row, *given)) continue;
    const std::string path = bridge_argument_path(name);
    if (name == "peft" && given->to_text() == config.adapter) continue;
    if (!path.empty() && config.value(path).same_as(*given)) continue;
    std::string stays = path.empty() ? "" : "; " + path + " stays " + config.value(path).to_text();
    std::string instead = name == "lr" ? "write finetune_lr" : name == "finetune_lr" ? "write lr" : "drop it";
    if (path.starts_with("model."))
      instead += ", or write model: {" + std::string(name) + ": " + given->to_text() + "}";
    t.warning(name,
              written(name, entry.value) + " is dropped: " + std::string(config.recipe->flavor) +
                  " takes no such argument" + stays,
              std::move(instead));
  }
}

}  // namespace primus::dialect
