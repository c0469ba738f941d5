// The two sides of a comparison as whole programs: a training run of ours, a Python peer (bench/peers).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/json.h"

namespace primus::bench {

// One training run as a user starts it (`primus train pretrain`), in a scratch folder with its own cache.
struct TrainingRun {
  std::vector<double> step_s;             // of every step
  std::vector<double> model_gflops;       // of every step, as metrics.jsonl has it
  std::optional<double> validation_loss;  // the last one
  int64_t tokens_per_step = 0;
  double wall_s = 0;  // the whole command: start, data, training, evaluation, checkpoints, report
  int64_t peak_bytes = 0;

  double median_step_s() const;  // without the first two
};
Result<TrainingRun> train(const std::string& experiment, const std::vector<std::string>& overrides, int threads);

// The JSON line that a peer prints. PRIMUS_PEERS names the Python; default bench/peers/.venv/bin/python.
Result<Json> run_peer(const std::string& script, const std::vector<std::string>& arguments);

// A contender's turns: the best counts, and more than 10 % between turns says that the machine was busy.
struct Turns {
  std::vector<double> values;  // smaller is better
  std::string why_not;         // empty, or why there are none
  bool ok() const { return why_not.empty() && !values.empty(); }
  double best() const;
  bool are_stable() const;
};

// First message of a failed Result, in one line.
std::string reason(const Diagnostics& diagnostics);

}  // namespace primus::bench
