// What a fuzz target does about a broken promise: it ends the process, with and without NDEBUG.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace primus::fuzz {

inline void demand(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace primus::fuzz
