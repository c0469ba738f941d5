// The counters of a run. With the weights and the optimizer's moments they are everything a resume needs: random
// streams are functions of (seed, step), the data position is the number of consumed samples.
#pragma once

#include <cstdint>

#include "primus/base/json.h"

namespace primus::train {

struct TrainState {
  int64_t step = 0;              // steps done, also skipped ones
  int64_t consumed_samples = 0;  // data position
  int64_t consumed_tokens = 0;   // input tokens so far
  int64_t schedule_samples = 0;  // samples of successful updates: what the schedules count
  int64_t num_skipped = 0;       // steps without an update
  int64_t num_nan = 0;           // steps with a non-finite loss
};

Json to_json(const TrainState& state);
TrainState train_state_from_json(const Json& json);

}  // namespace primus::train
