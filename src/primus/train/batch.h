// From the loader's vectors to the model's tensors, and what each token's loss counts.
#pragma once

#include <vector>

#include "primus/data/batch_loader.h"
#include "primus/models/decoder.h"
#include "primus/spec/train.h"

namespace primus::train {

// Tensors that view the micro-batch's own buffers: valid while it lives. weights are left to weigh().
models::MicroBatch tensors_of(const data::MicroBatch& batch);
// Positions, documents and sample numbers of the micro-batch, into the context of its forward pass.
void describe_samples(const data::MicroBatch& batch, const spec::Data& rules, nn::Context& context);

// The number that every unmasked token loss is multiplied by, per micro-batch, so that the sum over micro-batches and
// ranks is the step's loss. MicroBatchMean: 1 / (tokens of this micro-batch * micro-batches of the global batch).
// GlobalTokenMean: 1 / tokens of the global batch.
std::vector<double> loss_weights(const std::vector<data::MicroBatch>& batches, spec::LossNormalisation rule,
                                 int64_t num_ranks, double global_loss_tokens);

}  // namespace primus::train
