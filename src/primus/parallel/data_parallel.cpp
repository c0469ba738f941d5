#include "primus/parallel/data_parallel.h"

#include <bit>

#include "primus/base/check.h"

namespace primus::parallel {

RowRange owned_rows(int64_t num_rows, int rank, int size) {
  return {num_rows * rank / size, num_rows * (rank + 1) / size};
}

struct DataParallel::Bucket {
  at::Tensor gradients;     // f32, flat: the main_grads of its parameters are views of it
  at::Tensor reduced_copy;  // flat in reduce_dtype when that is not f32
  int num_pending_parameters = 0;
  int num_parameters = 0;
  std::unique_ptr<dist::Work> work;
  // Deterministic sums: partial[k] holds the sum of a complete subtree of 2^k rounds, or is empty.
  std::vector<std::optional<at::Tensor>> partial;
};

DataParallel::~DataParallel() = default;

DataParallel::DataParallel(std::vector<nn::Parameter*> parameters, std::vector<int> expected_contributions,
                           dist::Group& group, DataParallelOptions options)
    : parameters_(std::move(parameters)),
      expected_contributions_(std::move(expected_contributions)),
      group_(group),
      options_(options),
      bucket_of_(parameters_.size()),
      contributions_(parameters_.size(), 0) {
  const bool shard = options_.shard_optimizer && group_.size() > 1;
  for (const nn::Parameter* parameter : parameters_) {
    const int64_t num_rows = parameter->shape().front();
    owned_.push_back(shard ? owned_rows(num_rows, group_.rank(), group_.size()) : RowRange{0, num_rows});
  }
  // Backward reaches the last parameters first, so buckets are cut from the end.
  size_t end = parameters_.size();
  while (end > 0) {
    size_t begin = end;
    int64_t num_elements = 0;
    while (begin > 0 &&
           (num_elements == 0 || num_elements + parameters_[begin - 1]->num_elements() <= options_.bucket_elements)) {
      num_elements += parameters_[--begin]->num_elements();
    }
    auto bucket = std::make_unique<Bucket>();
    bucket->gradients = at::zeros({num_elements}, at::kFloat);
    int64_t offset = 0;
    for (size_t i = begin; i < end; ++i) {
      nn::Parameter& parameter = *parameters_[i];
      parameter.main_grad = bucket->gradients.narrow(0, offset, parameter.num_elements()).view(parameter.shape());
      offset += parameter.num_elements();
      bucket_of_[i] = buckets_.size();
      parameter.on_gradient = [this, i](nn::Parameter&) { on_gradient(i); };
    }
    bucket->num_parameters = static_cast<int>(end - begin);
    buckets_.push_back(std::move(bucket));
    end = begin;
  }
}

void DataParallel::begin_step(int64_t num_micro_batches) {
  num_micro_batches_ = num_micro_batches;
  for (auto& bucket : buckets_) {
    bucket->gradients.zero_();
    bucket->partial.clear();
  }
}

void DataParallel::begin_micro_batch(int64_t index) {
  last_micro_batch_ = index + 1 == num_micro_batches_;
  std::fill(contributions_.begin(), contributions_.end(), 0);
  for (auto& bucket : buckets_) bucket->num_pending_parameters = bucket->num_parameters;
}

void DataParallel::on_gradient(size_t parameter_index) {
  const int count = ++contributions_[parameter_index];
  PRIMUS_CHECK(count <= expected_contributions_[parameter_index],
               "too many gradient contributions to " + parameters_[parameter_index]->name());
  if (count < expected_contributions_[parameter_index]) return;
  Bucket& bucket = *buckets_[bucket_of_[parameter_index]];
  --bucket.num_pending_parameters;
  if (bucket.num_pending_parameters == 0 && last_micro_batch_ && options_.overlap && !options_.deterministic)
    launch(bucket);
}

void DataParallel::end_micro_batch(int64_t index) {
  for (const auto& bucket : buckets_) {
    PRIMUS_CHECK(bucket->num_pending_parameters == 0, "a parameter got no gradient in this backward pass");
  }
  if (!options_.deterministic) return;
  for (auto& bucket : buckets_) launch(*bucket);
  // A binary counter of subtrees: micro-batch `index` completes as many levels as it has trailing one bits.
  const auto num_completed = static_cast<size_t>(std::countr_one(static_cast<uint64_t>(index)));
  for (auto& bucket : buckets_) {
    finish(*bucket);
    at::Tensor sum = bucket->gradients.clone();
    for (size_t level = 0; level < num_completed; ++level) {
      sum = bucket->partial[level]->add_(sum);
      bucket->partial[level].reset();
    }
    if (bucket->partial.size() <= num_completed) bucket->partial.resize(num_completed + 1);
    bucket->partial[num_completed] = sum;
    bucket->gradients.zero_();
  }
}

void DataParallel::merge_micro_batches() {
  for (auto& bucket : buckets_) {
    // What is left of the counter: larger subtrees hold earlier micro-batches and stand on the left of each sum.
    std::optional<at::Tensor> sum;
    for (auto& subtree : bucket->partial) {
      if (!subtree) continue;
      sum = sum ? subtree->add_(*sum) : *subtree;
    }
    bucket->gradients.copy_(*sum);
    bucket->partial.clear();
  }
}

void DataParallel::launch(Bucket& bucket) {
  if (group_.size() == 1) return;
  if (options_.reduce_dtype == at::kFloat) {
    bucket.work = group_.all_reduce_sum(bucket.gradients);
    return;
  }
  bucket.reduced_copy = bucket.gradients.to(options_.reduce_dtype);
  bucket.work = group_.all_reduce_sum(bucket.reduced_copy);
}

void DataParallel::finish(Bucket& bucket) {
  if (!bucket.work) return;
  bucket.work->wait();
  bucket.work.reset();
  if (options_.reduce_dtype != at::kFloat) bucket.gradients.copy_(bucket.reduced_copy);
}

void DataParallel::finish_reduction() {
  if (options_.deterministic) {
    merge_micro_batches();
    return;
  }
  for (auto& bucket : buckets_) {
    if (!bucket->work) launch(*bucket);
  }
  for (auto& bucket : buckets_) finish(*bucket);
}

void DataParallel::gather_updated_rows() {
  if (!options_.shard_optimizer || group_.size() == 1) return;
  std::vector<std::unique_ptr<dist::Work>> pending;
  for (nn::Parameter* parameter : parameters_) {
    std::vector<at::Tensor> parts;
    for (int rank = 0; rank < group_.size(); ++rank) {
      const RowRange rows = owned_rows(parameter->shape().front(), rank, group_.size());
      parts.push_back(parameter->compute.narrow(0, rows.begin, rows.end - rows.begin));
    }
    pending.push_back(group_.all_gather(parts));
  }
  for (auto& work : pending) work->wait();
}

}  // namespace primus::parallel
