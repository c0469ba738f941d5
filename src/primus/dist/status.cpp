#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/dist/transport.h"

namespace primus::dist {

std::string describe(const RankStatus& status) {
  std::string text = status.step > 0 ? fmt::format("step {}", status.step) : std::string("before the first step");
  if (status.left) return text + (status.failed ? ", it has left after an error" : ", it has left");
  if (status.sequence == 0) return text + ", no operation yet";
  if (status.waiting) return text + fmt::format(", in {} (operation {})", status.operation, status.sequence);
  return text + fmt::format(", computing since {} (operation {})", status.operation, status.sequence);
}

void fail_on_mismatch(int own_rank, const std::string& own, int peer, const std::string& theirs, uint64_t sequence) {
  throw RunError(fmt::format("ranks are in different operations: rank {} in {}, rank {} in {}, both as operation {}",
                             own_rank, own, peer, theirs.empty() ? "none" : theirs, sequence));
}

}  // namespace primus::dist
