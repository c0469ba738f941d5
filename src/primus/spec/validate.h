// Cross-field rules that hold for every dialect. A finding's `key` is the field ("batch.global_batch_size"); the
// dialect puts its own key and place there.
#pragma once

#include "primus/base/diagnostic.h"
#include "primus/spec/run_spec.h"

namespace primus::spec {

// All problems at once: shapes, positions, batch, schedules, recomputation, data, checkpoints.
Diagnostics validate(const RunSpec& run);

// The rules of the architecture alone.
Diagnostics validate_model(const Model& model);

// What only the number of ranks decides: it must hold whole model replicas, and every global batch (each stage of a
// ramp-up too) must be whole micro-batches per data-parallel rank. Says the nearest values that would do.
Diagnostics validate_world(const RunSpec& run, int64_t world_size);

// Ranks that hold one copy of the model, and how many copies there are; 0 when it does not divide.
int64_t model_ranks(const Parallel& parallel);
// The smallest number of ranks on which the layout exists: whole copies of the dense layers and of the experts.
int64_t smallest_world(const Parallel& parallel);
int64_t data_parallel_size(const Parallel& parallel, int64_t world_size);

}  // namespace primus::spec
