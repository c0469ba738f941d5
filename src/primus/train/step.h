// One optimizer step.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "primus/train/trainer.h"

namespace primus::train {

struct StepResult {
  double loss = 0;       // sum of token losses / trained tokens, over all micro-batches and ranks
  double grad_norm = 0;  // before clipping, without the loss scale
  double lr = 0, weight_decay = 0, loss_scale = 1;
  int64_t global_batch_size = 0;
  int64_t num_tokens = 0;  // input tokens of the step, all ranks
  bool updated = false;    // false: skipped (non-finite gradients, or a step the user asked to skip)
  bool finite = true;
  std::vector<std::pair<std::string, double>> extra;  // of routers and prediction depths, by the name in the metrics
};

// Takes the next global batch from the loader and advances the trainer's state. Throws RunError naming step and samples
// for a non-finite loss or gradient when the run asks for that, and when the data ends.
StepResult train_step(Trainer& trainer, data::BatchLoader& loader);

}  // namespace primus::train
