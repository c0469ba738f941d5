// Micro batches for one rank, assembled ahead by a background thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "primus/data/dataset.h"
#include "primus/data/sample_order.h"

namespace primus::data {

// b: micro batch size, s: sequence length; all arrays row by row, [b, s].
struct MicroBatch {
  int64_t num_samples = 0, sequence_length = 0;
  std::vector<int64_t> tokens, labels;
  std::vector<float> loss_mask;
  std::vector<int64_t> position_ids;
  std::vector<int32_t> document_start;  // first position that attention may look back to
  std::vector<int64_t> positions;       // [b] place of each sample in the run (0: the first sample of training)
  std::vector<int64_t> sample_indices;  // [b] index in the data set
  int64_t num_loss_tokens = 0;          // ones of loss_mask
  bool has_document_starts = false;     // any document_start is not 0
};

struct LoaderLayout {
  int64_t micro_batch_size = 1, rank = 0, num_ranks = 1;
  int64_t queue_depth = 4;  // micro batches made ahead; 0: none, next() makes them (no thread)
};

// Copies samples into one micro batch. Cost: one pass over b * s tokens.
MicroBatch make_micro_batch(const DataSet& dataset, const std::vector<int64_t>& sample_indices, int64_t first_position);

// Yields the micro batches of one rank in order, from any number of consumed samples on. Deterministic: depends only on
// its arguments. One thread calls it.
class BatchLoader {
 public:
  BatchLoader(std::shared_ptr<const DataSet> dataset, std::shared_ptr<const SampleOrder> order, LoaderLayout layout,
              int64_t consumed_samples);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next micro batch of this rank, or nothing when the data is used up. Rethrows errors of reading.
  std::optional<MicroBatch> next();
  // Starts again after so many samples of all ranks.
  void seek(int64_t consumed_samples);

 private:
  std::optional<MicroBatch> make(int64_t round) const;
  void start();
  void stop();
  void work();

  std::shared_ptr<const DataSet> dataset_;
  std::shared_ptr<const SampleOrder> order_;
  LoaderLayout layout_;
  int64_t consumed_samples_;
  int64_t next_round_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MicroBatch> ready_;
  std::exception_ptr error_;
  bool finished_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace primus::data
