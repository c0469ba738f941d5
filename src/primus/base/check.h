// PRIMUS_CHECK(condition, message): for mistakes of ours, on in every build, never reachable from user input.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace primus {

// A bug in this program. Exit code 1; the message asks for a report.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const std::string& message,
                             std::source_location where = std::source_location::current());

}  // namespace primus

#define PRIMUS_CHECK(condition, message)                           \
  do {                                                             \
    if (!(condition)) ::primus::fail_check(#condition, (message)); \
  } while (false)
