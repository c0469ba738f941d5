// A group of ranks and its collectives. Tensors are contiguous CPU tensors, equal in shape and dtype on all ranks; GPU
// tensors are refused by the groups of this room.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "primus/tensor/fwd.h"

namespace primus::dist {

// An operation under way. wait() returns when the result may be read, and throws RunError naming group and operation
// when a peer is lost or the time limit passes. Destroying an unfinished Work waits.
class Work {
 public:
  virtual ~Work() = default;
  virtual void wait() = 0;
};

// All ranks call the same operations in the same order from one thread.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // "dp", "world": what reports say

  // The step under way, for the reports of every rank.
  virtual void set_step(int64_t) {}

  // In place, elementwise sum. Summation order: a fixed function of (rank order, size), never of timing; the pairwise
  // tree
  // ((0+1)+(2+3))+... in the dtype of the tensor (16-bit: each addition in f32, rounded to nearest even).
  virtual std::unique_ptr<Work> all_reduce_sum(const at::Tensor& tensor) = 0;
  // In place, elementwise maximum; one NaN makes the result NaN.
  virtual std::unique_ptr<Work> all_reduce_max(const at::Tensor& tensor) = 0;
  virtual std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int root) = 0;
  // parts[r] is rank r's part of every rank's buffer; parts may differ in size (a part may be empty).
  virtual std::unique_ptr<Work> all_gather(const std::vector<at::Tensor>& parts) = 0;  // parts[rank()] is the input
  virtual void barrier() = 0;

  // Small host-side messages, one from every rank, in rank order.
  virtual std::vector<std::string> all_gather_text(const std::string& mine) = 0;
};

// The group of one: every operation is done at once.
std::unique_ptr<Group> single_rank_group(std::string name);

}  // namespace primus::dist
