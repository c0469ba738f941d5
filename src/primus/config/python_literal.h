// Python literals on the command line: [1, 'two', 3.0], (1, 2), {'a': 1}, None.
#pragma once

#include <optional>
#include <string_view>

#include "primus/config/value.h"

namespace primus::config {

// What Python's ast.literal_eval gives: lists, tuples (as lists), dicts with text keys, texts, numbers, True, False,
// None. Nothing for any other text, and for sets, bytes and complex numbers, which no parameter takes.
std::optional<Value> read_python_literal(std::string_view text);

// Python's int() and float() of a whole text, underscores between digits included. Nothing when it does not fit.
std::optional<int64_t> read_python_int(std::string_view text);
std::optional<double> read_python_float(std::string_view text);

}  // namespace primus::config
