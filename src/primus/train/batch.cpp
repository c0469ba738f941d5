#include "primus/train/batch.h"

namespace primus::train {

namespace {

at::Tensor view_of(const void* data, const data::MicroBatch& batch, at::ScalarType dtype) {
  return at::from_blob(const_cast<void*>(data), {batch.num_samples, batch.sequence_length}, at::TensorOptions(dtype));
}

}  // namespace

models::MicroBatch tensors_of(const data::MicroBatch& batch) {
  return {.tokens = view_of(batch.tokens.data(), batch, at::kLong),
          .labels = view_of(batch.labels.data(), batch, at::kLong),
          .weights = view_of(batch.loss_mask.data(), batch, at::kFloat)};
}

void describe_samples(const data::MicroBatch& batch, const spec::Data& rules, nn::Context& context) {
  context.sample_index = at::from_blob(const_cast<int64_t*>(batch.positions.data()), {batch.num_samples}, at::kLong);
  if (rules.reset_position_ids) context.positions = view_of(batch.position_ids.data(), batch, at::kLong);
  if (batch.has_document_starts) context.document_start = view_of(batch.document_start.data(), batch, at::kInt);
}

std::vector<double> loss_weights(const std::vector<data::MicroBatch>& batches, spec::LossNormalisation rule,
                                 int64_t num_ranks, double global_loss_tokens) {
  std::vector<double> weights;
  const double num_micro_batches = static_cast<double>(batches.size()) * static_cast<double>(num_ranks);
  for (const data::MicroBatch& batch : batches) {
    const double own_tokens = std::max(1.0, static_cast<double>(batch.num_loss_tokens));
    const bool per_token = rule == spec::LossNormalisation::GlobalTokenMean;
    weights.push_back(per_token ? 1 / std::max(1.0, global_loss_tokens) : 1 / (own_tokens * num_micro_batches));
  }
  return weights;
}

}  // namespace primus::train
