// Builds a Trainer: machine, data, weights, and what is restored.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/hf_weights_source.h"
#include "primus/train/trainer.h"

namespace primus::train {

// Rank 0 measures which routines are fastest and every rank takes its choice. `route`: pinned instead of measured.
Machine prepare_machine(dist::Group& world, Logger& log, const spec::RunSpec& spec, const fs::path& cache_folder,
                        const std::string& pinned_route);

// FLOP/s that this rank's threads reach at best in this type; nothing where no peak is known. Takes milliseconds.
std::optional<double> measured_peak(spec::Dtype dtype);

// Opens train, validation and test data; rank 0 first, so that an index is built once. Throws InputError.
void open_data(Trainer& trainer);

// Where weights and counters come from, in this order: this run's own newest checkpoint when resuming, the checkpoint
// that `load` names, the Hugging Face folder that `init_from` names, fresh values.
struct Start {
  std::optional<hub::FoundCheckpoint> resume;
  std::optional<hub::FoundCheckpoint> load;
  std::optional<hub::WeightSource> init;  // opened by the caller, who knows how it fits the experiment
};
// resume: the run folder is to be continued. Throws InputError for a `load` without a usable checkpoint.
Start find_start(const spec::RunSpec& spec, bool resume, Logger& log);
void apply_start(Trainer& trainer, const Start& start);

}  // namespace primus::train
