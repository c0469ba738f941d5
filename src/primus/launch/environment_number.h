// Whole numbers from environment variables, with a diagnostic for what is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/base/diagnostic.h"
#include "primus/base/env.h"

namespace primus::launch {

// The value of the first of these variables that is set and not blank. Nothing when none is, or when the value is no
// whole number from low to high, which adds to `errors`.
std::optional<int> read_number(const Environment& environment, const std::vector<std::string>& names, int low, int high,
                               Diagnostics& errors);

}  // namespace primus::launch
