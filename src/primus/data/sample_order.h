// In which order the samples of a data set are consumed: a function of the position, so any run can go on anywhere.
// Source: megatron/training/datasets/data_samplers.py.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "primus/base/result.h"
#include "primus/spec/train.h"

namespace primus::data {

// `Single` takes the samples in order, once. `Cyclic` goes through them in passes, each in its own random order; the
// last N % (micro batch * ranks) samples of a pass are left out. Megatron's cyclic order depends on micro batch and
// number of data-parallel ranks; they are fixed here apart from the layout that trains, so that a run can be continued
// on another layout in the order it was started with (and with ranks = 1 every layout sees the same order).
struct OrderRule {
  spec::LoaderOrder order = spec::LoaderOrder::Single;
  bool shard_per_rank = true;  // Cyclic: every rank walks its own contiguous part of the data set
  int64_t micro_batch_size = 1;
  int64_t num_ranks = 1;  // data-parallel ranks
  bool operator==(const OrderRule&) const = default;
};

class SampleOrder {
 public:
  // Errors: an empty data set; Cyclic with fewer samples than one micro batch on every rank; more than 2^32 - 1 samples
  // in a Cyclic pass.
  static Result<SampleOrder> make(int64_t num_samples, const OrderRule& rule);
  SampleOrder(SampleOrder&& other) noexcept;
  SampleOrder& operator=(SampleOrder&& other) noexcept;

  // Samples after which nothing is left; -1: never ends. Single leaves out an incomplete last round of micro batches.
  int64_t num_positions() const;
  // Samples of one pass (Single: all).
  int64_t pass_length() const { return pass_length_; }

  // Data set indices of the positions [consumed, consumed + count) of the run. Positions count from the start of
  // training; consumed + count <= num_positions() where that is not -1. Threads: safe. Cost: one permutation when a
  // pass begins.
  std::vector<int64_t> indices(int64_t consumed, int64_t count) const;

  // Indices of one micro batch. A global batch that starts after `consumed` samples is cut into rounds of
  // micro_batch_size * num_ranks positions; rank r takes the r-th part of each. With the micro batch and ranks of the
  // rule, this is Megatron's order on every rank.
  std::vector<int64_t> micro_batch(int64_t consumed, int64_t round, int64_t micro_batch_size, int64_t rank,
                                   int64_t num_ranks) const;

 private:
  SampleOrder(int64_t num_samples, const OrderRule& rule);
  int64_t index_in_pass(const std::vector<uint32_t>& permutation, int64_t place) const;
  int64_t permutation_size() const;

  int64_t num_samples_ = 0, pass_length_ = 0;
  OrderRule rule_;
  mutable std::mutex mutex_;
  mutable int64_t cached_pass_ = -1;
  mutable std::vector<uint32_t> permutation_;
};

}  // namespace primus::data
