// The door of this room for the trainer: from a RunSpec to data sets, their order and their batches.
#pragma once

#include <cstdint>
#include <memory>

#include "primus/base/result.h"
#include "primus/data/batch_loader.h"
#include "primus/data/blend.h"
#include "primus/data/dataset.h"
#include "primus/data/sample_order.h"
#include "primus/spec/run_spec.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::data {

// Samples wanted of each split; 0: the split is not used.
struct SplitSizes {
  int64_t train = 0, valid = 0, test = 0;
  int64_t operator[](Split split) const;
};

// Samples that all steps of the run consume, batch ramp-up included.
int64_t train_samples(const spec::RunSpec& run);

// Megatron's sizes: train = steps * global batch (or the samples of a ramp-up), valid = (steps / interval + 1) *
// batches of a round * global batch, test = batches of a round * global batch.
SplitSizes split_sizes(const spec::RunSpec& run, int64_t train_samples);

struct Datasets {
  std::unique_ptr<DataSet> train, valid, test;  // null: not used
  std::unique_ptr<DataSet>& operator[](Split split);
};

struct OpenOptions {
  const tokenizer::Tokenizer* tokenizer = nullptr;  // read by streams of texts, during the call only
  bool require_test = false;                        // an empty test split is an error, not a warning
  bool check_enough = true;                         // refuse a `single` order that ends before the samples wanted
};

// Opens every file, checks it, and builds (or takes from the cache) the sample indices.
// eod_id: -1 when the tokenizer has no end-of-document token. vocab_size: ids that the model accepts.
// Warnings in the result: an empty test split, an index cache that cannot be written.
// Streams of texts and the one synthetic batch have as many samples as are wanted, and no test split.
// Errors (all files together): missing or damaged files, an empty file or split, fewer tokens than one sample, an id of
// the data that the model's vocabulary does not have, mask rules without an end token, a bad split, seed or weight.
Result<Datasets> open_datasets(const spec::RunSpec& run, int64_t eod_id, int64_t vocab_size, const SplitSizes& sizes,
                               const OpenOptions& options = {});

// The order rule of a run that starts now on so many data-parallel ranks.
OrderRule order_rule(const spec::RunSpec& run, int64_t num_ranks);

}  // namespace primus::data
