// Steps until an exit rule says stop, and what happens between them: log lines, evaluations, checkpoints.
#pragma once

#include <memory>
#include <vector>

#include "primus/ckpt/writer.h"
#include "primus/track/metrics.h"
#include "primus/train/hf_export.h"
#include "primus/train/trainer.h"

namespace primus::train {

enum class StopReason { Finished, Signal, Duration, Interval };

struct LoopResult {
  StopReason reason = StopReason::Finished;
  int signal = 0;  // the one that ended the loop
  std::optional<double> last_validation_loss;
  std::optional<double> test_loss;
};

// writer: null when nothing is saved. sinks: only rank 0 has any. exporter: null on other ranks, and when nothing is
// exported. A stop request of any rank is agreed on by all at a step.
LoopResult run_loop(Trainer& trainer, ckpt::Writer* writer, const std::vector<std::unique_ptr<track::Sink>>& sinks,
                    HfExporter* exporter = nullptr);

}  // namespace primus::train
