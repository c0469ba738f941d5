#include "primus/train/state.h"

namespace primus::train {

Json to_json(const TrainState& s) {
  return {{"step", s.step},
          {"consumed_samples", s.consumed_samples},
          {"consumed_tokens", s.consumed_tokens},
          {"schedule_samples", s.schedule_samples},
          {"num_skipped", s.num_skipped},
          {"num_nan", s.num_nan}};
}

TrainState train_state_from_json(const Json& json) {
  return {.step = json.at("step").get<int64_t>(),
          .consumed_samples = json.at("consumed_samples").get<int64_t>(),
          .consumed_tokens = json.at("consumed_tokens").get<int64_t>(),
          .schedule_samples = json.at("schedule_samples").get<int64_t>(),
          .num_skipped = json.at("num_skipped").get<int64_t>(),
          .num_nan = json.at("num_nan").get<int64_t>()};
}

}  // namespace primus::train
