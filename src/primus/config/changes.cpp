#include "primus/config/changes.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "primus/base/strings.h"
#include "primus/config/dump.h"

namespace primus::config {
namespace {

// The name of the model preset stands among the parameters too; it is said in the module's head.
bool is_head_name(const MapEntry& entry) {
  return entry.key == "model" && entry.value.is_string() && entry.value.origin().layer == Layer::Experiment;
}

bool is_own(const Value& value) {
  const Layer layer = value.origin().layer;
  return layer == Layer::Experiment || layer == Layer::Overrides || layer == Layer::CommandLine;
}

// What stood there before the experiment said anything; null when nothing did.
const Value* preset_value(const Value& value) {
  for (const Value& older : value.hidden())
    if (!is_own(older)) return &older;
  return nullptr;
}

// A map whose keys are changed one by one: it has not replaced something that is no map.
bool is_merged_map(const Value& value) {
  if (!value.is_map() || value.as_map().empty()) return false;
  const Value* preset = preset_value(value);
  return preset == nullptr || preset->is_map();
}

bool means_the_same(const Value& a, const Value& b) {
  if (a.same_data(b)) return true;
  const bool numbers = (a.is_int() || a.is_double()) && (b.is_int() || b.is_double());
  return numbers && a.as_double() == b.as_double();
}

// Calls leaf(key, value) for every value below `map` that the experiment or the command line has set.
using Leaf = std::function<void(const std::string& key, const Value& value)>;
void for_each_own(const Value& map, const std::string& prefix, const Leaf& leaf) {
  for (const MapEntry& entry : map.as_map()) {
    const std::string key = prefix + entry.key;
    if (is_merged_map(entry.value)) {
      for_each_own(entry.value, key + '.', leaf);
    } else if (is_own(entry.value) && !is_head_name(entry)) {
      leaf(key, entry.value);
    }
  }
}

Status has_presets(const Experiment& experiment) {
  for (const Module& module : experiment.modules) {
    if (!module.config_chain.empty()) continue;
    Diagnostic resolved = error_at(module.place, fmt::format("modules.{} is resolved already (params)", module.name));
    resolved.suggestion = "config/origin.json in the run folder tells which layer set each value";
    return resolved;
  }
  return Done{};
}

std::string comment(const Value& value) {
  const Value* preset = preset_value(value);
  if (preset == nullptr) return "  # no preset sets it";
  const std::string place = preset->place().to_string();
  const std::string shown = preset->is_scalar() ? yaml_scalar(*preset) : describe(*preset, 80);
  return fmt::format("  # preset: {}{}", printable_ascii(shown), place.empty() ? "" : " at " + place);
}

// The changed values below `map` as YAML lines; "" when there are none.
std::string changed_lines(const Value& map, int indent) {
  std::string out;
  for (const MapEntry& entry : map.as_map()) {
    const Value& value = entry.value;
    Map one;
    if (is_merged_map(value)) {
      const std::string inner = changed_lines(value, indent + 2);
      if (inner.empty()) continue;
      one.set(entry.key, Value());
      std::string head = yaml_block(Value(std::move(one)), indent);  // "  key: null\n"
      head.resize(head.size() - std::string_view(" null\n").size());
      out += head + '\n' + inner;
      continue;
    }
    const Value* preset = preset_value(value);
    if (!is_own(value) || is_head_name(entry) || (preset != nullptr && means_the_same(value, *preset))) continue;
    one.set(entry.key, value);
    std::string lines = yaml_block(Value(std::move(one)), indent);
    lines.insert(lines.find('\n'), comment(value));
    out += lines;
  }
  return out;
}

std::vector<std::string> unchanged_keys(const Value& params) {
  std::vector<std::string> keys;
  for_each_own(params, "", [&keys](const std::string& key, const Value& value) {
    const Value* preset = preset_value(value);
    if (preset != nullptr && means_the_same(value, *preset)) keys.push_back(key);
  });
  return keys;
}

std::string module_text(const Module& module) {
  Map head;
  head.set("framework", Value(module.framework));
  head.set("config", Value(module.config));
  head.set("model", Value(module.model));
  for (const MapEntry& extra : module.extras.as_map())
    if (is_own(extra.value)) head.set(extra.key, extra.value);
  Map name;
  name.set(module.name, Value(std::move(head)));
  std::string text = yaml_block(Value(std::move(name)), 2);
  const std::string lines = changed_lines(module.params, 6);
  text += lines.empty() ? "    overrides: {}\n" : "    overrides:\n" + lines;
  const std::vector<std::string> unchanged = unchanged_keys(module.params);
  if (!unchanged.empty()) text += fmt::format("    # set to what the presets say: {}\n", join(unchanged, ", "));
  return text;
}

}  // namespace

Result<std::string> dump_changes(const Experiment& experiment) {
  if (const Status ready = has_presets(experiment); !ready) return ready.diagnostics();
  std::string text = yaml_block(experiment.meta.values);
  const std::string platform = changed_lines(experiment.platform, 4);
  Map head;
  head.set("config", Value(experiment.platform_config));
  text += "platform:\n" + yaml_block(Value(std::move(head)), 2);
  if (!platform.empty()) text += "  overrides:\n" + platform;
  if (!experiment.env.as_map().empty()) text += "env:\n" + yaml_block(experiment.env, 2);
  text += "modules:\n";
  for (const Module& module : experiment.modules) text += module_text(module);
  return text;
}

Result<Json> changes_json(const Experiment& experiment) {
  if (const Status ready = has_presets(experiment); !ready) return ready.diagnostics();
  Json modules = Json::object();
  for (const Module& module : experiment.modules) {
    Json changed = Json::object();
    for_each_own(module.params, "", [&changed](const std::string& key, const Value& value) {
      const Value* preset = preset_value(value);
      if (preset != nullptr && means_the_same(value, *preset)) return;
      Json one = {{"value", to_json(value)}, {"layer", to_string(value.origin().layer)}};
      if (preset != nullptr) {
        one["preset"] = to_json(*preset);
        one["place"] = preset->place().to_string();
      }
      changed[key] = std::move(one);
    });
    modules[module.name] = {{"framework", module.framework},
                            {"config", module.config},
                            {"model", module.model},
                            {"changed", std::move(changed)},
                            {"unchanged", unchanged_keys(module.params)}};
  }
  return Json{{"meta", to_json(experiment.meta.values)}, {"modules", std::move(modules)}};
}

}  // namespace primus::config
