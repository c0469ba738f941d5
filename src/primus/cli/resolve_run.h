// From the arguments of `train` to the complete RunSpec: the same in the launcher and in every rank.
#pragma once

#include <memory>
#include <vector>

#include "primus/cli/train_request.h"
#include "primus/config/load.h"
#include "primus/dialect/proxy.h"
#include "primus/spec/run_spec.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::cli {

struct ResolvedRun {
  config::Experiment experiment;
  spec::RunSpec spec;                               // vocabulary sizes are set by finish_with_tokenizer
  Diagnostics findings;                             // warnings and notes
  std::vector<dialect::ProxyChange> proxy_changes;  // --proxy: what was shrunk
};

// What the arguments of `train` mean to the loader.
config::LoadOptions load_options(const TrainRequest& request, const Context& context);

// Throws InputError with everything that is wrong. world_size 0: not known yet (batch arithmetic is checked later).
ResolvedRun resolve_run(const TrainRequest& request, const Context& context, int64_t world_size);

// Loads the tokenizer of the run and sets the vocabulary; null with mock data. Throws InputError.
std::unique_ptr<tokenizer::Tokenizer> finish_with_tokenizer(spec::RunSpec& spec, const Context& context);

}  // namespace primus::cli
