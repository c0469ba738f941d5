// How bytes get from rank to rank: two implementations, shared memory and Gloo. One thread calls, in the order of the
// group's operations. Every function throws RunError when a peer is lost; the transport is unusable afterwards.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primus/dist/tree_reduce.h"

namespace primus::dist {

// One operation of a group. Equal on all ranks, or something is wrong.
struct Operation {
  uint64_t sequence = 0;  // from 1
  std::string text;       // "all_reduce_sum Float [100003]"
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Returns when every rank has come to its operation of this sequence number (so this is a barrier). Throws RunError
  // naming both sides when another rank is in a different one.
  virtual void announce(const Operation& operation) = 0;

  // In place, in the order of tree_reduce. Equal length on all ranks.
  virtual void all_reduce(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) = 0;
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  // parts[r] has the same length on all ranks; the own part is sent, the others are filled.
  virtual void all_gather(const std::vector<std::span<std::byte>>& parts) = 0;
};

// What a rank tells the others about itself, about once a second.
struct RankStatus {
  uint64_t num_beats = 0;
  int64_t step = 0;
  uint64_t sequence = 0;  // its last operation; 0: none yet
  bool waiting = false;   // that operation is under way
  bool left = false;      // it has left the group by itself
  bool failed = false;    // it left because of an error
  std::string operation;  // text of that operation
};

// Where ranks leave their status and read that of others. One thread at a time.
class StatusBoard {
 public:
  virtual ~StatusBoard() = default;
  virtual void publish(const RankStatus& own) = 0;
  // Nothing: the board does not answer at the moment, which says nothing about that rank unless it keeps the board.
  virtual std::optional<RankStatus> read(int rank) = 0;
  // The rank without which the board does not answer; -1: there is none.
  virtual int keeper() const = 0;
  // Whether the process of that rank is known to have ended.
  virtual bool ended(int rank) = 0;
  // The ranks whose heartbeat this one watches. Each rank is watched by at least one other.
  virtual std::vector<int> watched() const = 0;
};

// "step 12, in all_reduce_sum Float [7] (operation 40)", "step 12, computing since operation 40 (barrier)".
std::string describe(const RankStatus& status);

// Throws RunError that names both sides.
[[noreturn]] void fail_on_mismatch(int own_rank, const std::string& own, int peer, const std::string& theirs,
                                   uint64_t sequence);

}  // namespace primus::dist
