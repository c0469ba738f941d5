#include "primus/spec/to_json.h"

#include <algorithm>

#include "primus/base/strings.h"
#include "primus/spec/visit.h"

namespace primus::spec {
namespace {

// ---- names of enumerators, as the compiler knows them

template <auto kValue>
constexpr std::string_view enumerator_text() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [kValue = primus::spec::LrDecay::Cosine]", "[with auto ... ]"
  text.remove_suffix(1);
  if (const size_t rest = text.find(';'); rest != std::string_view::npos) text = text.substr(0, rest);
  const size_t at = text.find_last_of(":)");
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

template <class E, size_t... kIndexes>
std::string_view enumerator_name(E value, std::index_sequence<kIndexes...>) {
  constexpr std::string_view kNames[] = {enumerator_text<static_cast<E>(kIndexes)>()...};
  return kNames[static_cast<size_t>(value)];
}

// ---- values

template <class T>
Json write(const T& value);

template <class T>
Json write(const std::optional<T>& value) {
  return value ? write(*value) : Json(nullptr);
}

template <class T>
Json write(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(write(value));
  return list;
}

template <class T>
Json write(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return json_number(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(enumerator_name(value, std::make_index_sequence<16>()));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    Json::object_t object;
    visit([&object](const char* name, const auto& field) { object.emplace_back(name, write(field)); }, value);
    return object;
  }
}

// ---- layers

// Equal elements together, in the order in which they are first met.
struct Group {
  std::vector<size_t> at;
  const Json* value;
};

std::vector<Group> grouped(const Json& list) {
  std::vector<Group> groups;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto same = [&](const Group& group) { return *group.value == list[i]; };
    // Most often a layer equals the one before it.
    const auto found = std::find_if(groups.rbegin(), groups.rend(), same);
    if (found != groups.rend()) {
      found->at.push_back(i);
    } else {
      groups.push_back({{i}, &list[i]});
    }
  }
  return groups;
}

// ---- comparison

bool is_layers(const std::string& field) {
  return field == "model.layers";
}

void compare_json(const Json& before, const Json& after, const std::string& field, std::vector<FieldDifference>& out);

struct Found {
  FieldDifference difference;
  std::vector<size_t> at;  // layers
};

// A field that differs in more ways than this is one difference with a value for each layer.
constexpr size_t kMostKinds = 4;

Found layer_by_layer(std::vector<Found> found) {
  Found all;
  std::vector<std::pair<size_t, const FieldDifference*>> layers;
  for (const Found& one : found)
    for (const size_t layer : one.at) layers.emplace_back(layer, &one.difference);
  std::sort(layers.begin(), layers.end());
  Json before = Json::array(), after = Json::array();
  for (const auto& [layer, difference] : layers) {
    all.at.push_back(layer);
    before.push_back(difference->before);
    after.push_back(difference->after);
  }
  const auto one_value = [](Json list) {
    const bool same = std::all_of(list.begin(), list.end(), [&list](const Json& item) { return item == list[0]; });
    return same ? Json(list[0]) : list;
  };
  all.difference = {found.front().difference.field, one_value(std::move(before)), one_value(std::move(after))};
  return all;
}

// Differences of layer i against layer i; equal ones of several layers become one.
void compare_layers(const Json& before, const Json& after, std::vector<FieldDifference>& out) {
  std::vector<Found> found;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    std::vector<FieldDifference> here;
    compare_json(before[i], after[i], "", here);
    for (FieldDifference& one : here) {
      const auto same = std::find_if(found.begin(), found.end(), [&one](const Found& known) {
        const FieldDifference& d = known.difference;
        return d.field == one.field && d.before == one.before && d.after == one.after;
      });
      if (same != found.end()) {
        same->at.push_back(i);
      } else {
        found.push_back({std::move(one), {i}});
      }
    }
  }
  if (before.size() != after.size()) out.push_back({"model.layers (count)", before.size(), after.size()});
  while (!found.empty()) {
    const std::string field = found.front().difference.field;
    std::vector<Found> same_field;
    for (const Found& one : found)
      if (one.difference.field == field) same_field.push_back(one);
    std::erase_if(found, [&field](const Found& one) { return one.difference.field == field; });
    if (same_field.size() > kMostKinds) same_field = {layer_by_layer(std::move(same_field))};
    for (Found& one : same_field) {
      one.difference.field = "model.layers[" + index_ranges(one.at) + "]." + field;
      out.push_back(std::move(one.difference));
    }
  }
}

void compare_json(const Json& before, const Json& after, const std::string& field, std::vector<FieldDifference>& out) {
  if (before == after) return;
  if (is_layers(field)) return compare_layers(before, after, out);
  if (!before.is_object() || !after.is_object()) {
    out.push_back({field, before, after});
    return;
  }
  for (const auto& [name, value] : before.items()) {
    compare_json(value, after[name], field.empty() ? name : field + '.' + name, out);
  }
}

// The values below `json` that the path names; layers are passed through.
void collect(const Json& json, std::string_view path, std::vector<Json>& values) {
  if (json.is_array() && !json.empty() && json[0].is_object() && !path.empty()) {
    for (const Json& item : json) collect(item, path, values);
    return;
  }
  if (path.empty()) {
    if (std::find(values.begin(), values.end(), json) == values.end()) values.push_back(json);
    return;
  }
  const size_t dot = std::min(path.find('.'), path.size());
  const std::string name(path.substr(0, dot));
  if (json.is_null()) return collect(json, "", values);  // a part that this run does not have
  if (!json.is_object() || !json.contains(name)) return;
  collect(json[name], path.substr(std::min(dot + 1, path.size())), values);
}

}  // namespace

Json to_json(const RunSpec& run) {
  Json json = write(run);
  Json layers = Json::array();
  for (const Group& group : grouped(json["model"]["layers"])) {
    Json one = {{"at", index_ranges(group.at)}};
    one.update(*group.value);
    layers.push_back(std::move(one));
  }
  json["model"]["layers"] = std::move(layers);
  return json;
}

std::vector<FieldDifference> compare(const RunSpec& before, const RunSpec& after) {
  std::vector<FieldDifference> out;
  compare_json(write(before), write(after), "", out);
  return out;
}

std::optional<Json> field_value(const RunSpec& run, std::string_view field) {
  std::vector<Json> values;
  collect(write(run), field, values);
  if (values.empty()) return std::nullopt;
  if (values.size() == 1) return std::move(values[0]);
  return Json(std::move(values));
}

std::string index_ranges(const std::vector<size_t>& indexes) {
  std::string text;
  for (size_t i = 0; i < indexes.size();) {
    size_t last = i;
    while (last + 1 < indexes.size() && indexes[last + 1] == indexes[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(indexes[i]);
    if (last > i) text += '-' + std::to_string(indexes[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace primus::spec
