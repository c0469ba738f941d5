// A configuration value read as its parameter wants it: numbers from text, lists from words, leading zeros refused.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "primus/base/diagnostic.h"
#include "primus/config/value.h"
#include "primus/dialect/parameter_table.h"

namespace primus::dialect {

// Null is monostate. Parameters of type Map hold the configuration's own value; Any holds a scalar, or one-line text.
struct TypedValue {
  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string>, config::Value>
      data;

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  // Equal meaning: 1 equals 1.0.
  bool same_as(const TypedValue& other) const;
  std::string to_text() const;  // as it would be written in a file
};

// The parameter's own default, or another value written in the table.
TypedValue table_value(const Parameter& parameter, std::string_view text);
// True for the default and for the values that the table calls harmless.
bool means_default(const Parameter& parameter, const TypedValue& value);

// Text that was read as a number ("1e-5" is text in YAML 1.1) is reported here, for one note at the end.
struct NumericText {
  std::vector<std::string> keys;
  Place first_place;
};

// Nothing, and an error in `out`, when the value does not fit the parameter's type, choices or range.
std::optional<TypedValue> read_typed(const Parameter& parameter, const config::Value& value, Diagnostics& out,
                                     NumericText& numeric_text);

// Splits the table's "a|b|c"; empty text gives nothing.
std::vector<std::string> table_words(std::string_view words);

}  // namespace primus::dialect
