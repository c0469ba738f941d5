#include "primus/config/explain.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/config/secret.h"

namespace primus::config {
namespace {

// The module that the key's front names, and the rest of the key.
std::pair<const Module*, std::string> split_module(const Experiment& experiment, std::string key) {
  const bool prefixed = key.starts_with("modules.");
  if (prefixed) key.erase(0, 8);
  for (const Module& module : experiment.modules) {
    if (!key.starts_with(module.name + '.')) continue;
    key.erase(0, module.name.size() + 1);
    for (const char* part : {"overrides.", "params."}) {
      if (key.starts_with(part)) key.erase(0, std::string_view(part).size());
    }
    return {&module, key};
  }
  return {nullptr, key};
}

void add_names(const Value& map, const std::string& prefix, std::vector<std::string>& names) {
  for (const MapEntry& entry : map.as_map()) {
    names.push_back(prefix + entry.key);
    if (entry.value.is_map()) add_names(entry.value, prefix + entry.key + '.', names);
  }
}

}  // namespace

Result<std::vector<Explanation>> explain(const Experiment& experiment, const std::string& key,
                                         const FactsLookup& lookup) {
  std::vector<Explanation> found;
  const auto add = [&found](std::string name, const Value* value) {
    if (value != nullptr) found.push_back({.key = std::move(name), .value = value});
  };
  add(key, experiment.meta.values.find(key));
  if (key.starts_with("platform.")) add(key, experiment.platform.find_path(key.substr(9)));
  if (key.starts_with("env.")) add(key, experiment.env.find(key.substr(4)));
  const auto [only, name] = split_module(experiment, key);
  for (const Module& module : experiment.modules) {
    if (only != nullptr && only != &module) continue;
    const Value* value = module.params.find_path(name);
    if (value == nullptr) value = module.extras.find(name);
    std::optional<ParameterFacts> facts = lookup ? lookup(module.framework, name) : std::nullopt;
    if (value == nullptr && (!facts || !found.empty())) continue;
    found.push_back({.key = module.name + '.' + name, .value = value, .facts = std::move(facts), .module = &module});
  }
  if (!found.empty()) return found;
  std::vector<std::string> names;
  add_names(experiment.meta.values, "", names);
  for (const Module& module : experiment.modules) add_names(module.params, "", names);
  Diagnostic unknown = error_at({.file = experiment.file},
                                fmt::format("nothing sets '{}', and no parameter has that name", printable_ascii(key)));
  unknown.suggestion = did_you_mean(name, names);
  unknown.key = key;
  return unknown;
}

namespace {

std::string shown_value(const Value& value) {
  return value.is_scalar() ? yaml_scalar(value) : describe(value, 100);
}

std::string layer_line(const Value& value, bool newest) {
  const Origin& origin = value.origin();
  std::string line =
      fmt::format("  {} {:<15} {}", newest ? "set by" : "hides ", to_string(origin.layer), shown_value(value));
  const std::string place = value.place().to_string();
  if (!place.empty() && place != to_string(origin.layer)) line += "  at " + place;
  const bool differs = value.is_scalar() && !value.is_null() && !origin.is_secret && !origin.raw.empty() &&
                       origin.raw != shown_value(value) && !value.is_string();
  if (differs) line += fmt::format("  (written {})", printable_ascii(origin.raw));
  if (!origin.placeholder.empty()) {
    line += fmt::format("  from {}, {}", printable_ascii(origin.placeholder),
                        origin.substitution == Substitution::Variable ? "set in the environment" : "its default");
  }
  return line + '\n';
}

// "llama3.1_8B -> llama3_8B -> llama3_base": files by the names that presets have.
std::string chain_text(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const size_t slash = file.find_last_of('/');
    std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    for (const std::string_view suffix : {".yaml", ".yml"})
      if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    names.push_back(std::move(name));
  }
  return join(names, " -> ");
}

std::string facts_text(const ParameterFacts& facts) {
  std::string text = fmt::format("  {}{}, default {}: {}\n", facts.type, facts.unit.empty() ? "" : " in " + facts.unit,
                                 facts.default_text, facts.doc);
  text += fmt::format("  here: {}\n", facts.status);
  for (const std::string& note : facts.notes) text += fmt::format("  {}\n", note);
  return text;
}

}  // namespace

std::string render(const Explanation& explanation) {
  std::string text;
  if (explanation.value == nullptr) {
    text = explanation.key + (explanation.module == nullptr ? ":\n" : ": set nowhere\n");
  } else {
    const Value& value = *explanation.value;
    text = fmt::format("{}: {}\n", explanation.key, shown_value(value));
    text += layer_line(value, true);
    for (const Value& older : value.hidden()) text += layer_line(older, false);
  }
  if (explanation.facts) text += facts_text(*explanation.facts);
  if (explanation.module == nullptr) return text;
  const Module& module = *explanation.module;
  if (!module.model_chain.empty()) text += fmt::format("  model preset:  {}\n", chain_text(module.model_chain));
  if (!module.config_chain.empty()) text += fmt::format("  module preset: {}\n", chain_text(module.config_chain));
  return text;
}

Json to_json(const Explanation& explanation) {
  Json json = {{"key", explanation.key}};
  if (explanation.value != nullptr) {
    json["value"] = to_json(*explanation.value);
    Json layers = Json::array();
    const auto add = [&layers](const Value& value) {
      Json layer = origin_json(value);
      layer["value"] = to_json(value);
      if (!value.origin().is_secret && !value.origin().raw.empty()) layer["written"] = value.origin().raw;
      layers.push_back(std::move(layer));
    };
    add(*explanation.value);
    for (const Value& older : explanation.value->hidden()) add(older);
    json["layers"] = std::move(layers);
  } else {
    json["value"] = nullptr;
    json["layers"] = Json::array();
  }
  if (explanation.facts) {
    json["parameter"] = {{"type", explanation.facts->type},
                         {"unit", explanation.facts->unit},
                         {"default", explanation.facts->default_text},
                         {"status", explanation.facts->status},
                         {"doc", explanation.facts->doc},
                         {"spec_field", explanation.facts->spec_field},
                         {"notes", explanation.facts->notes}};
  }
  if (explanation.module != nullptr) {
    json["model_chain"] = explanation.module->model_chain;
    json["config_chain"] = explanation.module->config_chain;
  }
  return json;
}

}  // namespace primus::config
