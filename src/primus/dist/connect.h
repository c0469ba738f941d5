// The group of all ranks of a job.
#pragma once

#include <memory>
#include <string>

#include "primus/dist/group.h"

namespace primus::dist {

struct Endpoint {
  int rank = 0;
  int world_size = 1;
  int local_world_size = 1;           // ranks on this machine
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  double timeout_minutes = 10;        // longest wait of one operation
};

// Meets the other ranks and returns when all are there. One rank: the group of one. All ranks on one machine: shared
// memory; otherwise Gloo over TCP. Throws RunError naming the ranks that did not come.
std::unique_ptr<Group> connect(const Endpoint& endpoint);

}  // namespace primus::dist
