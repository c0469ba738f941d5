// Collectives of ranks on one machine through shared memory.
#pragma once

#include <memory>

#include "primus/dist/shm_segment.h"
#include "primus/dist/transport.h"

namespace primus::dist {

// Work goes in rounds of at most one buffer: every rank fills its own buffer and waits until all have. A rank fills the
// buffer of round k+2 only after it saw all fill round k+1, which they do after they are done with round k; so two
// buffers a rank are enough and no other locks exist. all_reduce has a second half: rank r combines slice r of the
// round. Cost of all_reduce: each byte is copied in once, combined once and copied out once, shared by the ranks.
std::unique_ptr<Transport> shm_transport(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks);

std::unique_ptr<StatusBoard> shm_status_board(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks);

}  // namespace primus::dist
