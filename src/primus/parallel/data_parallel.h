// Data parallelism: gradient buckets, their reduction (overlapped with the backward pass), and ownership of rows
// (ZeRO-1).
//
// Losses are weighted by the trainer so that the plain SUM over ranks is the gradient of the step. Summation order over
// ranks is the group's fixed pairwise tree. With `deterministic` every round (one micro-batch of each rank) is summed
// by that tree at once and rounds by a pairwise tree of their own: micro-batch g of the global batch lies on rank g %
// size, so this is one canonical tree over g, and any power-of-two number of ranks gives equal bits.
#pragma once

#include <memory>
#include <vector>

#include "primus/dist/group.h"
#include "primus/nn/parameter.h"

namespace primus::parallel {

struct DataParallelOptions {
  bool overlap = false;  // reduce a bucket as soon as its last gradient arrives
  bool deterministic = false;
  bool shard_optimizer = false;  // ZeRO-1
  int64_t bucket_elements = 40'000'000;
  at::ScalarType reduce_dtype = at::kFloat;
};

struct RowRange {
  int64_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

// Rows of a tensor with `num_rows` rows that `rank` of `size` owns when the optimizer is sharded: contiguous, disjoint,
// together all rows, sizes differ by at most one.
RowRange owned_rows(int64_t num_rows, int rank, int size);

class DataParallel {
 public:
  // parameters: in forward order; buckets are filled from the last one. expected_contributions[i]: how many times a
  // backward pass adds to parameter i (2 for tied embeddings). Allocates every main_grad as a view of its bucket.
  DataParallel(std::vector<nn::Parameter*> parameters, std::vector<int> expected_contributions, dist::Group& group,
               DataParallelOptions options);
  ~DataParallel();

  // A step: begin_step, then for each micro-batch begin_micro_batch + its backward pass + end_micro_batch, then
  // finish_reduction. Afterwards every rank's main_grads hold the sum over micro-batches and ranks.
  void begin_step(int64_t num_micro_batches);
  void begin_micro_batch(int64_t index);
  void end_micro_batch(int64_t index);
  void finish_reduction();

  RowRange owned(size_t parameter_index) const { return owned_[parameter_index]; }
  // After the optimizer wrote the owned rows: gives every rank all rows of the compute copies.
  void gather_updated_rows();

 private:
  struct Bucket;
  void on_gradient(size_t parameter_index);
  void launch(Bucket& bucket);
  void finish(Bucket& bucket);
  void merge_micro_batches();

  std::vector<nn::Parameter*> parameters_;
  std::vector<int> expected_contributions_;
  dist::Group& group_;
  DataParallelOptions options_;
  std::vector<RowRange> owned_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<size_t> bucket_of_;
  std::vector<int> contributions_;
  int64_t num_micro_batches_ = 0;
  bool last_micro_batch_ = false;
};

}  // namespace primus::parallel
