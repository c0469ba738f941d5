// Learning rate, weight decay and batch size of every step, as pure functions of consumed samples.
// Source: dialects' megatron rules (OptimizerParamScheduler); step 1 uses n = 0.
#pragma once

#include <cstdint>
#include <vector>

#include "primus/spec/run_spec.h"

namespace primus::spec {

// n: samples consumed by successful updates before this step. global_batch_samples: size of this step (read by the
// warm-up variant that counts it). Learning rate of ordinary parameters.
double learning_rate(const LrSchedule& schedule, double consumed_samples, double global_batch_samples);
double weight_decay(const WeightDecaySchedule& schedule, double consumed_samples);

// Global batch of the step that starts after `consumed_samples` (every step consumes, also a skipped one).
int64_t global_batch_size(const Batch& batch, int64_t consumed_samples);

// Global batch size -> number of steps needed for `train_samples` with the ramp; without one train_samples / global
// batch.
int64_t steps_for_samples(const Batch& batch, int64_t train_samples);

struct StepValues {
  int64_t step = 0;                 // from 1
  double lr = 0, weight_decay = 0;  // used by this step
  int64_t global_batch_size = 0;
  int64_t samples = 0;  // consumed after this step
};
// All steps of a run in which no update is skipped.
std::vector<StepValues> step_values(const RunSpec& run);

}  // namespace primus::spec
