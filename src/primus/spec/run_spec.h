// One run, complete. Set by a dialect, read by the engine, the exporters and the projections.
#pragma once

#include <optional>
#include <string>

#include "primus/spec/model.h"
#include "primus/spec/train.h"

namespace primus::spec {

struct Identity {
  std::string work_group, user_name, experiment_name, workspace;
  std::string run_folder;   // workspace/work_group/user_name/experiment_name
  std::string framework;    // "megatron"
  std::string model_file;   // "tinyllama_1.1B.yaml"
  std::string module_name;  // "pre_trainer"
};

struct RunSpec {
  Identity identity;
  Model model;
  int64_t seed = 1234;
  Batch batch;
  LrSchedule lr;
  WeightDecaySchedule weight_decay;
  Optimizer optimizer;
  LossNormalisation loss = LossNormalisation::MicroBatchMean;
  double logit_z_loss = 0;  // times the squared log of the softmax denominator, added to each token's loss
  Precision precision;
  Recompute recompute;
  Data data;
  Tokenizer tokenizer;
  Evaluation evaluation;
  Checkpoint checkpoint;
  Logging logging;
  Exit exit;
  Parallel parallel;
  std::optional<Finetune> finetune;
};

}  // namespace primus::spec
