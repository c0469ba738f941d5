// What the trainer reports, and the sinks that keep it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "primus/base/fs.h"

namespace primus::track {

// One optimizer step. NaN and infinities are legal values of loss and grad_norm.
struct StepRow {
  int64_t step = 0;      // from 1
  double loss = 0;       // sum of token losses / trained tokens, over all ranks and micro-batches
  double grad_norm = 0;  // before clipping
  double lr = 0;         // used by this step
  int64_t tokens = 0;    // trained so far, this step included
  double step_ms = 0;
  double tokens_per_s = 0;                            // of this step, all ranks
  double model_flops = 0;                             // per second, all ranks
  std::optional<double> mfu;                          // share of the measured peak, 0..1; nothing when no peak is known
  int64_t skipped = 0, nan = 0;                       // updates left out so far; steps with a NaN loss so far
  int64_t global_batch_size = 0, samples = 0;         // of this step; consumed so far
  std::vector<std::pair<std::string, double>> extra;  // "loss_scale", "params_norm", "memory_used_bytes", ...
};

// One evaluation of one validation set.
struct EvalRow {
  int64_t step = 0;
  std::string name;  // empty: the only one ("val_loss"); otherwise "val_loss.<name>"
  double loss = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_step(const StepRow& row) = 0;  // flushed when it returns
  virtual void on_eval(const EvalRow& row) = 0;
};

// metrics.jsonl: one object a line, appended and flushed. resume_step: rows of later steps and a torn last line are
// removed first (0: the file starts empty).
std::unique_ptr<Sink> open_metrics_file(const fs::path& path, int64_t resume_step);

// One more TensorBoard event file in `folder`, with megatron's tag names.
std::unique_ptr<Sink> open_tensorboard(const fs::path& folder);

}  // namespace primus::track
