// What a plain YAML 1.1 scalar means, exactly as PyYAML's SafeLoader reads it.
#pragma once

#include <string_view>

#include "primus/base/result.h"
#include "primus/config/value.h"

namespace primus::config {

struct ScalarReading {
  Value value;                    // without an origin
  bool is_date = false;           // a YAML 1.1 timestamp: kept as text
  bool is_reserved = false;       // "<<" or "=" as a value, which YAML 1.1 sets apart
  bool is_octal = false;          // 010: eight
  bool is_sexagesimal = false;    // 12:30: seven hundred and fifty
  const char* problem = nullptr;  // a number that cannot be held: why
};

// "yes" -> true, "010" -> 8, "1_000" -> 1000, "1e5" -> text, "12:30" -> 750, ".inf" -> infinity, "" and "~" -> null.
ScalarReading read_plain_scalar(std::string_view text);

// True when a reader of YAML 1.1 or 1.2, or Python, could take the text for something other than text.
bool looks_like_another_type(std::string_view text);

}  // namespace primus::config
