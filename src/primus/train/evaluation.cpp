#include "primus/train/evaluation.h"

#include <algorithm>
#include <limits>

#include "primus/train/batch.h"

namespace primus::train {

double evaluate(Trainer& trainer, const std::shared_ptr<const data::DataSet>& dataset, int64_t num_batches) {
  const spec::Batch& batch_rule = trainer.spec.batch;
  const int64_t num_samples = std::min(num_batches * batch_rule.global_batch_size, dataset ? dataset->size() : 0);
  const int num_ranks = trainer.group.size();
  // [sum of losses, tokens]; sample i lies on rank (i / micro batch) % ranks, and the last micro-batch may be smaller.
  const at::Tensor sums = at::zeros({2}, at::kDouble);
  const int64_t stride = batch_rule.micro_batch_size * num_ranks;
  for (int64_t first = trainer.group.rank() * batch_rule.micro_batch_size; first < num_samples; first += stride) {
    std::vector<int64_t> indices;
    for (int64_t i = first; i < std::min(first + batch_rule.micro_batch_size, num_samples); ++i) indices.push_back(i);
    const data::MicroBatch samples = data::make_micro_batch(*dataset, indices, first);
    const models::MicroBatch batch = tensors_of(samples);
    nn::Context context = trainer.context(/*training=*/false);
    describe_samples(samples, trainer.spec.data, context);
    const at::Tensor losses = trainer.model.token_losses(batch, context);
    sums[0] += (losses.to(at::kDouble) * batch.weights).sum();
    sums[1] += static_cast<double>(samples.num_loss_tokens);
  }
  trainer.group.all_reduce_sum(sums)->wait();
  const double num_tokens = sums[1].item<double>();
  return num_tokens > 0 ? sums[0].item<double>() / num_tokens : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace primus::train
