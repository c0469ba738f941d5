// A character test that the readers of scalars share; without locale.
#pragma once

namespace primus::config {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace primus::config
