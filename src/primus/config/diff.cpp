#include "primus/config/diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/config/secret.h"

namespace primus::config {
namespace {

std::optional<double> numeric_reading(const Value& value) {
  if (value.is_int() || value.is_double()) return value.as_double();
  if (value.is_string() && value.origin().style == Style::Plain) return parse_double(value.as_string());
  return std::nullopt;
}

// A file that was written by `config show` holds the mask instead of a secret: nothing can be said about it.
bool is_masked(const Value& value) {
  return value.is_string() && value.as_string() == kMask;
}

bool reads_the_same(const Value& a, const Value& b) {
  if (a.same_data(b)) return true;
  if ((a.origin().is_secret && is_masked(b)) || (b.origin().is_secret && is_masked(a))) return true;
  if (a.is_list() && b.is_list() && a.as_list().size() == b.as_list().size()) {
    return std::equal(a.as_list().begin(), a.as_list().end(), b.as_list().begin(), reads_the_same);
  }
  const auto left = numeric_reading(a), right = numeric_reading(b);
  return left && right && *left == *right;
}

void compare_values(const Value* before, const Value* after, const std::string& key, std::vector<Difference>& out) {
  if (before != nullptr && after != nullptr && before->is_map() && after->is_map()) {
    const std::string prefix = key.empty() ? "" : key + '.';
    for (const MapEntry& entry : before->as_map()) {
      compare_values(&entry.value, after->find(entry.key), prefix + entry.key, out);
    }
    for (const MapEntry& entry : after->as_map()) {
      if (before->find(entry.key) == nullptr) out.push_back({prefix + entry.key, nullptr, &entry.value});
    }
    return;
  }
  if (before != nullptr && after != nullptr && reads_the_same(*before, *after)) return;
  out.push_back({key, before, after});
}

void compare_texts(const std::string& before, const std::string& after, const std::string& key,
                   std::vector<Difference>& out) {
  if (before == after) return;
  Difference one{.key = key};
  one.texts = {Value(before), Value(after)};
  out.push_back(std::move(one));
}

// The names in a module's head; those of a file without presets say nothing.
void compare_heads(const Module& before, const Module& after, std::vector<Difference>& out) {
  compare_texts(before.framework, after.framework, before.name + ".framework", out);
  compare_texts(before.config, after.config, before.name + ".config", out);
  // A scalar `model` among the parameters is this name.
  const Value* name = before.params.find("model");
  if (name == nullptr || name->is_map()) compare_texts(before.model, after.model, before.name + ".model", out);
}

const Module* mate_of(const Module& module, const Experiment& own, const Experiment& other) {
  for (const Module& candidate : other.modules) {
    if (candidate.name == module.name) return &candidate;
  }
  return own.modules.size() == 1 && other.modules.size() == 1 ? &other.modules[0] : nullptr;
}

}  // namespace

std::vector<Difference> compare(const Experiment& before, const Experiment& after) {
  std::vector<Difference> out;
  compare_values(&before.meta.values, &after.meta.values, "", out);
  compare_values(&before.platform, &after.platform, "platform", out);
  compare_values(&before.env, &after.env, "env", out);
  for (const Module& module : before.modules) {
    const Module* mate = mate_of(module, before, after);
    if (mate != nullptr) compare_heads(module, *mate, out);
    compare_values(&module.params, mate == nullptr ? nullptr : &mate->params, module.name, out);
    if (mate != nullptr) compare_values(&module.extras, &mate->extras, module.name, out);
  }
  for (const Module& module : after.modules) {
    if (mate_of(module, after, before) == nullptr) out.push_back({module.name, nullptr, &module.params});
  }
  for (Difference& one : out) {
    if (one.texts.empty()) continue;
    one.before = &one.texts[0];
    one.after = &one.texts[1];
  }
  return out;
}

std::string render(const std::vector<Difference>& differences) {
  std::string changed, added, removed;
  const auto shown = [](const Value& value) { return value.is_scalar() ? yaml_scalar(value) : describe(value, 100); };
  for (const Difference& one : differences) {
    if (one.before == nullptr) {
      added += fmt::format("  {}: {}\n", one.key, shown(*one.after));
    } else if (one.after == nullptr) {
      removed += fmt::format("  {}: {}\n", one.key, shown(*one.before));
    } else {
      changed += fmt::format("  {}: {} -> {}\n", one.key, shown(*one.before), shown(*one.after));
    }
  }
  std::string text;
  for (const auto& [title, lines] : {std::pair{"changed", &changed}, {"added", &added}, {"removed", &removed}}) {
    if (!lines->empty()) text += fmt::format("{}:\n{}", title, *lines);
  }
  return text;
}

Json to_json(const std::vector<Difference>& differences) {
  Json json = {{"changed", Json::object()}, {"added", Json::object()}, {"removed", Json::object()}};
  for (const Difference& one : differences) {
    if (one.before == nullptr) {
      json["added"][one.key] = to_json(*one.after);
    } else if (one.after == nullptr) {
      json["removed"][one.key] = to_json(*one.before);
    } else {
      json["changed"][one.key] = {{"before", to_json(*one.before)}, {"after", to_json(*one.after)}};
    }
  }
  return json;
}

}  // namespace primus::config
