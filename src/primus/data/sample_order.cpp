#include "primus/data/sample_order.h"

#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <utility>

#include "primus/base/check.h"
#include "primus/data/numpy_random.h"

namespace primus::data {

using spec::LoaderOrder;

SampleOrder::SampleOrder(int64_t num_samples, const OrderRule& rule) : num_samples_(num_samples), rule_(rule) {
  const int64_t round = rule.micro_batch_size * rule.num_ranks;
  pass_length_ = num_samples - num_samples % round;
}

SampleOrder::SampleOrder(SampleOrder&& other) noexcept : SampleOrder(other.num_samples_, other.rule_) {}

SampleOrder& SampleOrder::operator=(SampleOrder&& other) noexcept {
  num_samples_ = other.num_samples_;
  pass_length_ = other.pass_length_;
  rule_ = other.rule_;
  cached_pass_ = -1;
  return *this;
}

Result<SampleOrder> SampleOrder::make(int64_t num_samples, const OrderRule& rule) {
  PRIMUS_CHECK(rule.micro_batch_size > 0 && rule.num_ranks > 0, "micro batch and ranks are at least 1");
  if (num_samples <= 0) return error_at({}, "the data set has no samples");
  SampleOrder order(num_samples, rule);
  if (order.pass_length_ == 0) {
    Diagnostic diagnostic = error_at({}, "the data set is smaller than one micro batch on every data-parallel rank");
    diagnostic.found = fmt::format("{} samples", num_samples);
    diagnostic.expected = fmt::format("at least {} (micro batch {} x {} ranks)", rule.micro_batch_size * rule.num_ranks,
                                      rule.micro_batch_size, rule.num_ranks);
    diagnostic.suggestion = "use more data, a shorter sequence, a smaller micro_batch_size or fewer ranks";
    return diagnostic;
  }
  if (rule.order == LoaderOrder::Cyclic && order.permutation_size() > std::numeric_limits<uint32_t>::max()) {
    Diagnostic diagnostic = error_at({}, "the cyclic loader permutes at most 2^32 - 1 samples");
    diagnostic.found = fmt::format("{} samples", num_samples);
    diagnostic.suggestion = "use dataloader_type: single, whose samples are shuffled by the data set itself";
    return diagnostic;
  }
  return order;
}

int64_t SampleOrder::num_positions() const {
  return rule_.order == LoaderOrder::Single ? pass_length_ : -1;
}

int64_t SampleOrder::permutation_size() const {
  if (rule_.shard_per_rank) return pass_length_ / rule_.num_ranks;
  return num_samples_ / rule_.micro_batch_size * rule_.micro_batch_size;
}

// The place within a pass belongs to round place / (micro batch * ranks), there to one rank and one slot of its micro
// batch.
int64_t SampleOrder::index_in_pass(const std::vector<uint32_t>& permutation, int64_t place) const {
  const int64_t micro_batch = rule_.micro_batch_size;
  const int64_t round = place / (micro_batch * rule_.num_ranks), within = place % (micro_batch * rule_.num_ranks);
  const int64_t rank = within / micro_batch;
  const int64_t nth_of_rank = round * micro_batch + within % micro_batch;
  if (rule_.shard_per_rank) {
    return rank * (pass_length_ / rule_.num_ranks) + permutation[static_cast<size_t>(nth_of_rank)];
  }
  return permutation[static_cast<size_t>(rank + nth_of_rank * rule_.num_ranks)];
}

std::vector<int64_t> SampleOrder::indices(int64_t consumed, int64_t count) const {
  PRIMUS_CHECK(consumed >= 0 && count >= 0, "positions count from 0");
  std::vector<int64_t> indices(static_cast<size_t>(count));
  if (rule_.order == LoaderOrder::Single) {
    PRIMUS_CHECK(consumed + count <= pass_length_, "past the end of the data set");
    std::iota(indices.begin(), indices.end(), consumed);
    return indices;
  }
  const std::lock_guard lock(mutex_);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t pass = (consumed + i) / pass_length_;
    if (pass != cached_pass_) {
      // Megatron seeds with the number of the pass alone: `seed` does not change this order.
      permutation_ = torch_randperm(permutation_size(), static_cast<uint64_t>(pass));
      cached_pass_ = pass;
    }
    indices[static_cast<size_t>(i)] = index_in_pass(permutation_, (consumed + i) % pass_length_);
  }
  return indices;
}

std::vector<int64_t> SampleOrder::micro_batch(int64_t consumed, int64_t round, int64_t micro_batch_size, int64_t rank,
                                              int64_t num_ranks) const {
  PRIMUS_CHECK(0 <= rank && rank < num_ranks, "no such rank");
  return indices(consumed + (round * num_ranks + rank) * micro_batch_size, micro_batch_size);
}

}  // namespace primus::data
