// The group of all ranks of a job.
#pragma once

#include <memory>
#include <string>

#include "primus/dist/group.h"

namespace primus::dist {

enum class Backend { Auto, SharedMemory, Gloo };

struct Endpoint {
  int rank = 0;
  int world_size = 1;
  int local_world_size = 1;  // ranks on this machine
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  double timeout_minutes = 10;      // longest wait of one operation
  double startup_seconds = 60;      // longest wait for the other ranks to come
  double heartbeat_seconds = 30;    // silence after which a rank counts as stuck
  Backend backend = Backend::Auto;  // Auto: shared memory when all ranks are on this machine, otherwise Gloo
};

// Meets the other ranks and returns when all are there. One rank: the group of one. The environment overrules the
// endpoint: PRIMUS_DIST_BACKEND (shm, gloo), PRIMUS_HEARTBEAT_SECONDS, PRIMUS_STARTUP_SECONDS. Throws RunError naming
// the ranks that did not come, InputError when one of these variables makes no sense.
std::unique_ptr<Group> connect(const Endpoint& endpoint);

}  // namespace primus::dist
