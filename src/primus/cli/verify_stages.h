// The staged test of a new model. Each stage needs the one before it, so that a failure names its own cause.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "primus/cli/command.h"
#include "primus/config/load.h"

namespace primus::cli {

enum class StageState { Passed, NotNeeded, Failed, NotReached };
const char* to_string(StageState state);  // "passed", "not needed", "FAILED", "not reached"

struct StageResult {
  std::string name;  // "resolution", "tokenizer", "mock steps", "one device", "parallel layout"
  StageState state = StageState::NotReached;
  double seconds = 0;
  std::string detail;      // what was seen, or why it failed
  std::string suggestion;  // what to try; empty when there is nothing to fix
};

struct TrainOutcome {
  int exit_code = 0;
  std::string output;  // what the run printed, for its error lines
};
// Trains the experiment of a file with so many ranks and waits for the end.
using StartTraining = std::function<TrainOutcome(const fs::path& experiment, int64_t ranks, const std::string& stage)>;

struct VerifyRequest {
  config::LoadOptions load;
  fs::path folder;  // for experiments and runs; the caller removes it
  bool allow_precision_fallback = false;
};

// All five stages in order; those behind a failed one are not reached. `told` is called after each. An exit code above
// 128 (a signal ended the run) ends the test: the stage has failed.
std::vector<StageResult> run_stages(const VerifyRequest& request, const Context& context, const StartTraining& start,
                                    const std::function<void(const StageResult&)>& told);

}  // namespace primus::cli
