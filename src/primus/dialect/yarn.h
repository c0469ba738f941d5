// YaRN's numbers that several dialects write. Private to the room.
#pragma once

#include <cmath>

namespace primus::dialect {

// YaRN's magnitude: arXiv 2309.00071 section 3.4.
inline double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

}  // namespace primus::dialect
