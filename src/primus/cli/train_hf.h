// The Hugging Face side of a run: the weights that it starts from (init_from), and whether it can be exported
// (export_every).
#pragma once

#include <string>

#include "primus/base/json.h"
#include "primus/cli/resolve_run.h"
#include "primus/hub/hf_weights_source.h"

namespace primus::cli {

struct InitialWeights {
  hub::WeightSource weights;
  std::string family;  // model_type of the folder
};

// Opens the folder of run.checkpoint.init_from. Its config.json must describe the run's model, and every weight of that
// must be there; only the number of positions may differ. A vocabulary larger than the run's becomes the run's: the
// further rows are in the softmax, and no text has them. A run's vocabulary of 0 (not known yet) takes the folder's.
// notes: warnings. Reads no weights. Throws InputError naming every difference with both values.
InitialWeights open_initial_weights(spec::RunSpec& run, Diagnostics& notes);

// A resumed run that started from such a folder has the vocabulary of its checkpoint.
void take_vocabulary(spec::RunSpec& run, int64_t vocab_size);
// That of the checkpoint when the run has init_from, otherwise nothing changes.
void take_vocabulary(spec::RunSpec& run, const Json& checkpoint_model);

// What the launcher checks before anything is started: the folder of init_from, unless the run will go on from a
// checkpoint of its own, and that a Hugging Face family can hold the model of export_every. Throws InputError.
void check_hugging_face(const TrainRequest& request, const ResolvedRun& resolved, Context& context);

}  // namespace primus::cli
