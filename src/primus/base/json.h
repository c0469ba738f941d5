// JSON: nlohmann's ordered_json with the three rules that the library leaves open.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "primus/base/result.h"

namespace primus {

using Json = nlohmann::ordered_json;  // keys stay in the order in which they were written

// Strict parse: duplicate keys, nesting over 256 and trailing text are errors with line and column.
Result<Json> parse_json(std::string_view text, const std::string& file);

// NaN and infinities become the strings "NaN", "Infinity", "-Infinity" (JSON has no such numbers); invalid UTF-8 is
// replaced; doubles round-trip. indent < 0: one line.
std::string dump_json(const Json& value, int indent = -1);

// A double as JSON, following the rule above.
Json json_number(double value);

}  // namespace primus
