// How MaxText puts its settings together (pyconfig): base.yml < the module < configs/models/<model_name>.yml <
// override_model.
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/config/yaml_reader.h"
#include "primus/dialect/check_parameters.h"
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_models.h"

namespace primus::dialect {

namespace {

using config::Map;
using config::Value;

void set_origin(Value& value, const config::Origin& origin) {
  value.origin() = origin;
  if (!value.is_list()) return;
  for (Value& item : value.as_list()) set_origin(item, origin);
}

// The model's keys, each as if it stood where model_name does.
Map keys_of_model(const MaxtextModel& model, const config::Origin& origin) {
  Diagnostics findings;
  std::string text = "{";
  text += model.keys;
  if (!model.more.empty()) text += ", " + std::string(model.more);
  auto value = config::read_yaml(text + "}", std::make_shared<const std::string>(model.name),
                                 config::Layer::ModelPreset, findings);
  PRIMUS_CHECK(value.has_value() && !has_errors(findings), render(findings));
  for (config::MapEntry& entry : value->as_map()) {
    set_origin(entry.value, origin);
    entry.value.origin().layer = config::Layer::ModelPreset;
  }
  return value->as_map();
}

std::string shown(const std::string& key, const Value& value) {
  return "'" + key + ": " + config::describe(value) + "'";
}

// Equal in meaning where the table knows the key: 1 and 1.0, "1e-5" and 1.0e-05.
bool same_value(const std::string& key, const Value& a, const Value& b) {
  const Parameter* row = find_parameter("maxtext", key);
  if (row == nullptr) return a.same_data(b);
  Diagnostics ignored;
  NumericText also_ignored;
  const auto x = read_typed(*row, a, ignored, also_ignored), y = read_typed(*row, b, ignored, also_ignored);
  return x && y ? x->same_as(*y) : a.same_data(b);
}

struct Layers {
  Map model, overrides;
  std::string model_name;
};

void check_nested(Translation& t, Map& overrides) {
  std::vector<std::string> nested;
  for (const config::MapEntry& entry : overrides) {
    if (!entry.value.is_map()) continue;
    Diagnostic finding = error_at(entry.value.origin().key_place(),
                                  "'override_model." + entry.key + "' is a map, and override_model is flat");
    finding.key = "override_model." + entry.key;
    finding.expected = "keys of MaxText and their values";
    t.out.push_back(std::move(finding));
    nested.push_back(entry.key);
  }
  for (const std::string& key : nested) overrides.erase(key);
}

// The table's findings about override_model.
void check_overrides(Translation& t, const Map& overrides) {
  config::Module module = t.keys.module();
  module.params = Value(overrides);
  Diagnostics findings = check_parameters(
      module, {.for_training = t.options.for_training, .allow_precision_fallback = t.options.allow_precision_fallback});
  for (Diagnostic& finding : findings) {
    if (!finding.key.empty()) finding.key = "override_model." + finding.key;
    t.out.push_back(std::move(finding));
  }
}

// What the model's file asks for and nobody has built: one error, where the name stands.
void check_model(Translation& t, const Layers& layers) {
  if (!t.options.for_training) return;
  std::vector<std::string> needed;
  for (const config::MapEntry& entry : layers.model) {
    const Parameter* row = find_parameter("maxtext", entry.key);
    PRIMUS_CHECK(row != nullptr, "a model sets a key that the table does not have: " + entry.key);
    // Rows with a field are described: spec::engine_limits speaks for them.
    if (row->status != Status::NotBuilt || !row->spec_field.empty()) continue;
    Diagnostics ignored;
    NumericText also_ignored;
    const auto typed = read_typed(*row, entry.value, ignored, also_ignored);
    if (!typed || !means_default(*row, *typed)) needed.push_back(shown(entry.key, entry.value));
  }
  if (!needed.empty())
    t.error("model_name", "model_name " + layers.model_name + " needs what is not built yet: " + join(needed, ", "));
}

// Without override_model_config MaxText dies on an override that differs from the model's file.
void check_permission(Translation& t, const Layers& layers) {
  if (t.keys.flag("override_model_config")) return;
  for (const config::MapEntry& entry : layers.overrides) {
    const Value* of_model = layers.model.find(entry.key);
    if (of_model == nullptr || same_value(entry.key, *of_model, entry.value)) continue;
    Diagnostic finding = error_at(entry.value.place(), shown("override_model." + entry.key, entry.value) +
                                                           " is not allowed: model_name " + layers.model_name +
                                                           " sets " + shown(entry.key, *of_model));
    finding.key = "override_model." + entry.key;
    finding.suggestion = "set override_model_config: true";
    t.out.push_back(std::move(finding));
  }
}

void warn_of_shadowing(Translation& t, const Layers& layers) {
  for (const config::MapEntry& entry : t.keys.module().params.as_map()) {
    const Value* winner = layers.model.find(entry.key);
    if (winner == nullptr || layers.overrides.find(entry.key) != nullptr) continue;
    if (same_value(entry.key, *winner, entry.value)) continue;
    t.warning(entry.key,
              shown(entry.key, entry.value) + " does nothing: model_name " + layers.model_name + " sets " +
                  shown(entry.key, *winner) + ", and that wins",
              "write override_model: {" + entry.key + ": " + config::describe(entry.value) +
                  "} if yours is meant, or drop the key");
  }
}

}  // namespace

const MaxtextModel* find_maxtext_model(std::string_view model_name) {
  std::string name(model_name);
  constexpr std::string_view kInstruct = "-Instruct";
  for (size_t at = name.find(kInstruct); at != std::string::npos; at = name.find(kInstruct))
    name.erase(at, kInstruct.size());
  for (const auto models : {maxtext_dense_models(), maxtext_moe_models()})
    for (const MaxtextModel& model : models)
      if (model.name == name) return &model;
  return nullptr;
}

std::vector<std::string> maxtext_model_names() {
  std::vector<std::string> names;
  for (const auto models : {maxtext_dense_models(), maxtext_moe_models()})
    for (const MaxtextModel& model : models) names.emplace_back(model.name);
  std::sort(names.begin(), names.end());
  return names;
}

config::Module maxtext_settings(Translation& t) {
  Layers layers;
  layers.model_name = t.keys.text("model_name");
  if (const Value* overrides = t.keys.map("override_model")) layers.overrides = overrides->as_map();
  check_nested(t, layers.overrides);
  check_overrides(t, layers.overrides);
  const config::Module& module = t.keys.module();
  if (layers.model_name != "default") {
    const MaxtextModel* model = find_maxtext_model(layers.model_name);
    const Value* name = module.params.find("model_name");
    if (model != nullptr && name != nullptr) layers.model = keys_of_model(*model, name->origin());
    if (model == nullptr)
      t.error("model_name", "MaxText has no model '" + layers.model_name + "'",
              "default, " + join(maxtext_model_names(), ", "), did_you_mean(layers.model_name, maxtext_model_names()));
  }
  check_permission(t, layers);
  warn_of_shadowing(t, layers);
  for (const config::MapEntry& entry : layers.overrides) layers.model.erase(entry.key);
  check_model(t, layers);

  config::Module settings = module;
  Map& params = settings.params.as_map();
  for (const Map* layer : {&layers.model, &layers.overrides})
    for (const config::MapEntry& entry : *layer) params.set(entry.key, entry.value);
  return settings;
}

}  // namespace primus::dialect
