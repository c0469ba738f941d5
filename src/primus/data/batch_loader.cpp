#include "primus/data/batch_loader.h"

#include <algorithm>

#include "primus/base/check.h"

namespace primus::data {

MicroBatch make_micro_batch(const DataSet& dataset, const std::vector<int64_t>& sample_indices,
                            int64_t first_position) {
  MicroBatch batch;
  batch.num_samples = static_cast<int64_t>(sample_indices.size());
  batch.sequence_length = dataset.sequence_length();
  batch.sample_indices = sample_indices;
  const auto total = static_cast<size_t>(batch.num_samples * batch.sequence_length);
  batch.tokens.reserve(total);
  batch.labels.reserve(total);
  batch.loss_mask.reserve(total);
  batch.position_ids.reserve(total);
  batch.document_start.reserve(total);
  Sample sample;
  for (size_t i = 0; i < sample_indices.size(); ++i) {
    dataset.get(sample_indices[i], sample);
    batch.positions.push_back(first_position + static_cast<int64_t>(i));
    batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end() - 1);
    batch.labels.insert(batch.labels.end(), sample.tokens.begin() + 1, sample.tokens.end());
    batch.loss_mask.insert(batch.loss_mask.end(), sample.loss_mask.begin(), sample.loss_mask.end());
    batch.position_ids.insert(batch.position_ids.end(), sample.position_ids.begin(), sample.position_ids.end());
    batch.document_start.insert(batch.document_start.end(), sample.document_start.begin(), sample.document_start.end());
    batch.num_loss_tokens += std::count(sample.loss_mask.begin(), sample.loss_mask.end(), 1);
  }
  batch.has_document_starts =
      std::any_of(batch.document_start.begin(), batch.document_start.end(), [](int32_t start) { return start != 0; });
  return batch;
}

BatchLoader::BatchLoader(std::shared_ptr<const DataSet> dataset, std::shared_ptr<const SampleOrder> order,
                         LoaderLayout layout, int64_t consumed_samples)
    : dataset_(std::move(dataset)), order_(std::move(order)), layout_(layout), consumed_samples_(consumed_samples) {
  PRIMUS_CHECK(layout_.micro_batch_size > 0 && 0 <= layout_.rank && layout_.rank < layout_.num_ranks, "a bad layout");
  start();
}

BatchLoader::~BatchLoader() {
  stop();
}

void BatchLoader::seek(int64_t consumed_samples) {
  stop();
  consumed_samples_ = consumed_samples;
  start();
}

void BatchLoader::start() {
  ready_.clear();
  error_ = nullptr;
  finished_ = stopping_ = false;
  next_round_ = 0;
  if (layout_.queue_depth > 0) thread_ = std::thread([this] { work(); });
}

void BatchLoader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<MicroBatch> BatchLoader::make(int64_t round) const {
  const int64_t samples_a_round = layout_.micro_batch_size * layout_.num_ranks;
  const int64_t round_begin = consumed_samples_ + round * samples_a_round;
  const int64_t end = order_->num_positions();
  if (end >= 0 && round_begin + samples_a_round > end) return std::nullopt;
  const int64_t first = round_begin + layout_.rank * layout_.micro_batch_size;
  return make_micro_batch(*dataset_, order_->indices(first, layout_.micro_batch_size), first);
}

void BatchLoader::work() {
  for (int64_t round = 0;; ++round) {
    std::optional<MicroBatch> batch;
    std::exception_ptr error;
    try {
      batch = make(round);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || static_cast<int64_t>(ready_.size()) < layout_.queue_depth; });
    if (stopping_) return;
    if (batch) ready_.push_back(std::move(*batch));
    error_ = error;
    finished_ = !batch;
    changed_.notify_all();
    if (finished_) return;
  }
}

std::optional<MicroBatch> BatchLoader::next() {
  if (layout_.queue_depth <= 0) return make(next_round_++);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (error_) std::rethrow_exception(error_);
    return std::nullopt;
  }
  MicroBatch batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

}  // namespace primus::data
