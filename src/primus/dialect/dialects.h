// The dialects, one row each: the only place that lists them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "primus/dialect/parameter_table.h"

namespace primus::dialect {

struct Translation;

struct Dialect {
  std::string_view framework;                         // as experiments write it
  std::vector<std::span<const Parameter>> (*rows)();  // its own keys, by topic
  void (*to_spec)(Translation&);  // fills the spec, all topics in the order in which they need each other
};

std::span<const Dialect> all_dialects();
// The whole table by topic: the keys of every module, then the dialect's own.
std::vector<std::span<const Parameter>> table_parts(const Dialect& dialect);
const Dialect* find_dialect(std::string_view framework);  // null: no such dialect

}  // namespace primus::dialect
