#include "primus/launch/environment_number.h"

#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::launch {

std::optional<int> read_number(const Environment& environment, const std::vector<std::string>& names, int low, int high,
                               Diagnostics& errors) {
  for (const auto& name : names) {
    const auto text = environment(name);
    if (!text || trim(*text).empty()) continue;
    const auto value = parse_int(trim(*text));
    if (value && *value >= low && *value <= high) return static_cast<int>(*value);
    Diagnostic error = error_at({.file = "environment"}, name + " is not usable");
    error.key = name;
    error.found = "'" + printable_ascii(*text) + "'";
    error.expected = fmt::format("a whole number from {} to {}", low, high);
    errors.push_back(std::move(error));
    break;
  }
  return std::nullopt;
}

}  // namespace primus::launch
