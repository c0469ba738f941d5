#include "primus/dialect/dialects.h"

#include "primus/dialect/bridge.h"
#include "primus/dialect/maxtext.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/module_keys.h"
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

constexpr Dialect kDialects[] = {
    {"megatron", megatron_rows, megatron_to_spec},
    {"torchtitan", torchtitan_rows, torchtitan_to_spec},
    {"maxtext", maxtext_rows, maxtext_to_spec},
    {"megatron_bridge", bridge_rows, bridge_to_spec},
};

}  // namespace

std::span<const Dialect> all_dialects() {
  return kDialects;
}

std::vector<std::span<const Parameter>> table_parts(const Dialect& dialect) {
  std::vector<std::span<const Parameter>> parts = dialect.rows();
  parts.insert(parts.begin(), module_rows());
  return parts;
}

const Dialect* find_dialect(std::string_view framework) {
  for (const Dialect& dialect : kDialects)
    if (dialect.framework == framework) return &dialect;
  return nullptr;
}

}  // namespace primus::dialect
