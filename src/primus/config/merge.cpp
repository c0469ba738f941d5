#include "primus/config/merge.h"

#include <algorithm>

namespace primus::config {

void deep_merge(Map& base, Map over) {
  for (MapEntry& entry : over) {
    Value* present = base.find(entry.key);
    if (present == nullptr) {
      base.set(std::move(entry.key), std::move(entry.value));
    } else if (present->is_map() && entry.value.is_map()) {
      present->origin() = entry.value.origin();
      deep_merge(present->as_map(), std::move(entry.value.as_map()));
    } else {
      entry.value.hide(std::move(*present));
      *present = std::move(entry.value);
    }
  }
}

void null_from_text(Value& value) {
  if (value.is_string() && value.as_string() == "null") value.set_data_of(Value());
}

void null_from_text_in_overrides(Map& overrides, const Map& base) {
  for (MapEntry& entry : overrides) {
    const Value* below = base.find(entry.key);
    if (entry.value.is_map() && below != nullptr && below->is_map()) {
      null_from_text_in_overrides(entry.value.as_map(), below->as_map());
    }
    null_from_text(entry.value);
  }
}

void set_layer(Value& value, Layer layer) {
  value.origin().layer = layer;
  if (value.is_list()) {
    for (Value& item : value.as_list()) set_layer(item, layer);
  } else if (value.is_map()) {
    for (MapEntry& entry : value.as_map()) set_layer(entry.value, layer);
  }
}

Map merge_keys(std::vector<Value> sources, Map own) {
  if (sources.empty()) return own;
  std::reverse(sources.begin(), sources.end());
  Map merged;
  const auto put = [&merged](MapEntry& entry) {
    if (Value* older = merged.find(entry.key)) entry.value.hide(std::move(*older));
    merged.set(entry.key, std::move(entry.value));
  };
  for (Value& source : sources) {
    for (MapEntry& entry : source.as_map()) put(entry);
  }
  for (MapEntry& entry : own) put(entry);
  return merged;
}

}  // namespace primus::config
