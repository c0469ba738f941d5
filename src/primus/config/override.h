// Overrides typed after a command: --key value, --key=value, key=value, bare --flag; dots nest.
#pragma once

#include <string>
#include <vector>

#include "primus/base/diagnostic.h"
#include "primus/config/value.h"

namespace primus::config {

struct Override {
  std::string key;                // as typed, without the dashes in front: "train-iters", "a.b"
  std::vector<std::string> path;  // {"a", "b"}
  Value value;
};

// In the order typed. A token that fits no spelling is an error; what would surprise (a bracketed text that is no
// literal, "null", an assignment taken as a value) is a warning.
std::vector<Override> parse_overrides(const std::vector<std::string>& tokens, Diagnostics& diagnostics);

// true/false -> true/false; a text that starts with [ ( { or is None -> Python literal; with a point -> number when it
// is one; else integer when it is one; else text. So 1e-5 is text here, 1.0e-5 a number.
Value type_command_line_text(const std::string& text);

// Puts them into `params`, later ones over earlier ones. A key spelt with dashes is taken with underscores when
// `params` lacks the first form (a note says so); a path through a value that is no map is an error.
void apply_overrides(const std::vector<Override>& overrides, Map& params, Diagnostics& diagnostics);

}  // namespace primus::config
