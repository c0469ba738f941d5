// Everything that one rank of a run consists of, built from a RunSpec in one place.
#pragma once

#include <memory>
#include <string>

#include "primus/base/log.h"
#include "primus/data/loader.h"
#include "primus/dist/group.h"
#include "primus/models/decoder.h"
#include "primus/optim/loss_scaler.h"
#include "primus/optim/optimizer.h"
#include "primus/parallel/data_parallel.h"
#include "primus/spec/run_spec.h"
#include "primus/tokenizer/tokenizer.h"
#include "primus/train/state.h"

namespace primus::train {

// What the machine gave: measured or chosen at start, written into the run record.
struct Machine {
  nn::Routes routes;
  int num_threads = 1;
  std::optional<double> peak_flops;  // per second, in the compute dtype, all threads of this rank
};

struct Trainer {
  // spec must be complete (vocabulary size known). Draws the weights of this seed.
  Trainer(spec::RunSpec run, dist::Group& ranks, Logger& logger, Machine chosen);

  // Context of one micro-batch of the step under way.
  nn::Context context(bool training) const;

  spec::RunSpec spec;
  dist::Group& group;  // the data-parallel ranks
  Logger& log;
  Machine machine;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;                         // null with mock data
  std::shared_ptr<const data::DataSet> train_data, valid_data, test_data;  // null: not used
  data::OrderRule order_rule;
  models::Decoder model;
  nn::RouterReport router_report;  // of the step under way
  std::unique_ptr<parallel::DataParallel> data_parallel;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::LossScaler loss_scaler;
  TrainState state;
};

}  // namespace primus::train
