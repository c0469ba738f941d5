// Collectives of ranks on several machines, over TCP (Gloo).
#pragma once

#include <memory>

#include "primus/dist/meeting.h"

namespace primus::dist {

// Every operation is made of messages between pairs of ranks, so that sums follow the same tree as in shared memory,
// bit for bit. Cost of all_reduce of n bytes on R ranks: each rank sends and receives 2 n (R - 1) / R bytes in 2 (R -
// 1) messages per 16 MiB; memory: 16 MiB. Every operation also sends one small message to each rank: what it is about
// to do.
std::unique_ptr<Transport> gloo_transport(const Meeting& meeting);

// Status of the ranks in the store of the meeting. Returns when all ranks have theirs there; from then on nobody else
// may use the store. Each rank watches its neighbour and rank 0; rank 0 watches all. The destructor on rank 0 waits
// some seconds until the others know that it leaves: the store ends with it.
std::unique_ptr<StatusBoard> store_status_board(Meeting& meeting);

}  // namespace primus::dist
