#include "primus/base/check.h"

#include <fmt/format.h>

namespace primus {

void fail_check(const char* condition, const std::string& message, std::source_location where) {
  throw InternalError(fmt::format("{} (this is a bug in primus: '{}' does not hold at {}:{})", message, condition,
                                  where.file_name(), where.line()));
}

}  // namespace primus
