// Putting one layer of values over another.
#pragma once

#include "primus/config/value.h"

namespace primus::config {

// Map over map merges key by key; every other pair replaces, and the new value remembers what it hid. New keys go last.
void deep_merge(Map& base, Map over);

// The text "null" becomes null where the project that defined these files makes it one: every top-level value of
// `params` and ...
void null_from_text(Value& value);
// ... those values of an override layer whose map already stands in `base`.
void null_from_text_in_overrides(Map& overrides, const Map& base);

// Sets the layer of a value and of everything below it.
void set_layer(Value& value, Layer layer);

// YAML's '<<': earlier sources win over later ones, the map's own keys over all; as in PyYAML the merged keys come
// first. Every source is a map.
Map merge_keys(std::vector<Value> sources, Map own);

}  // namespace primus::config
