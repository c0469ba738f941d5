// Validation loss: sum of token losses / tokens over the same samples in every round, dropout off.
#pragma once

#include "primus/train/trainer.h"

namespace primus::train {

// num_batches global batches from the start of `dataset`, spread over the ranks. The last ones may be missing when the
// data set is smaller: every sample counts once. Returns NaN when there is nothing to evaluate.
double evaluate(Trainer& trainer, const std::shared_ptr<const data::DataSet>& dataset, int64_t num_batches);

}  // namespace primus::train
