// A group over any transport: one communication thread that runs the operations in the order in which they were called.
#pragma once

#include <memory>
#include <string>

#include "primus/dist/group.h"
#include "primus/dist/transport.h"
#include "primus/dist/watchdog.h"

namespace primus::dist {

// Refuses tensors that are not contiguous, not on the CPU or of a type that cannot be reduced (RunError).
std::unique_ptr<Group> threaded_group(std::string name, int rank, int num_ranks, std::unique_ptr<Transport> transport,
                                      std::unique_ptr<StatusBoard> board, WatchdogLimits limits);

}  // namespace primus::dist
