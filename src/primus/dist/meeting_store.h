// The c10d side of a meeting. Only for the files of this room that speak to c10d.
#pragma once

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "primus/dist/meeting.h"
#include "primus/tensor/prelude.h"

namespace primus::dist {

struct Meeting::Store {
  Endpoint endpoint;
  c10::intrusive_ptr<c10d::TCPStore> tcp;
};

}  // namespace primus::dist
