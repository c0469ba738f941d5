// libyaml's complaints in words that help. Private to the YAML reader.
#pragma once

#include <string>
#include <string_view>
#include <yaml.h>

#include "primus/base/diagnostic.h"

namespace primus::config {

// The finding for a parser that has stopped with an error; `text` is what it read. Never shows a secret's line.
Diagnostic describe_syntax_error(const yaml_parser_t& parser, std::string_view text, const std::string& file);

}  // namespace primus::config
