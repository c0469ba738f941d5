// ${NAME} and ${NAME:default} in texts. No escape, no bash operators: `${X:-5}` has the default "-5".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/diagnostic.h"
#include "primus/base/env.h"
#include "primus/config/value.h"

namespace primus::config {

struct Expansion {
  std::string text;
  bool found_any = false;             // at least one placeholder was there
  bool used_variable = false;         // ... and a set variable had a part in the result
  bool names_secret = false;          // ... or one whose name says that it is secret
  std::vector<std::string> missing;   // names that are not set and have no default
  std::vector<std::string> literals;  // "${}" and the like: kept as text
  bool unterminated = false;
  bool too_many = false;  // more than kMostPlaceholders
};

inline constexpr size_t kMostPlaceholders = 64;  // in one text, nested ones included

// A variable that is set but empty counts as set. Defaults may hold balanced braces and placeholders. With
// `bare_dollar`, $NAME is replaced too when NAME is set (the `env:` block).
Expansion expand_placeholders(std::string_view text, const Environment& environment, bool bare_dollar = false);

// The type that a substituted text takes: true/false in any case, an integer, a decimal number, else text.
Value type_substituted(const std::string& text);

// Expands every text below `value` and re-types those that held a placeholder, or keeps them text with `keep_text`.
// `key` is the dotted path for messages. A missing variable is an error that names variable, key and place.
void substitute_placeholders(Value& value, const std::string& key, const Environment& environment, bool keep_text,
                             Diagnostics& diagnostics);

// Reports what an expansion found wrong; true when the text can be used.
bool report_expansion(const Expansion& expansion, const Value& value, const std::string& key, Diagnostics& diagnostics);

}  // namespace primus::config
