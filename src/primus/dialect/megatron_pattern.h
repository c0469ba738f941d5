// Which layers have something: a period, a list, or upstream's Python expression for a list. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "primus/dialect/translation.h"

namespace primus::dialect {

// Nothing, one number, or one number a layer.
using LayerPattern = std::variant<std::monostate, int64_t, std::vector<int64_t>>;

// Integers, lists, +, * and brackets as Python computes them: "([0]*3+[1]*58)", "[1, 0]*12", "2". Nothing when the text
// is no such expression, or gives more than 10,000 numbers.
std::optional<LayerPattern> parse_layer_pattern(std::string_view text);

// The key's pattern. Errors, and nothing: no such expression, a period below 1, a list that is not one number a layer.
LayerPattern layer_pattern(Translation& t, std::string_view key, int64_t num_layers);

// Whether the list, or every period-th layer from the end of the first period, holds the layer (from 0).
bool in_period(const LayerPattern& pattern, int64_t layer, bool without);

// The key's value as it was written, whatever its kind; null when absent. Counts as taken.
const config::Value* any_value(Translation& t, std::string_view key);

}  // namespace primus::dialect
