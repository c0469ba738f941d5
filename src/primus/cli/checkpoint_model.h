// What the model of an experiment or of a checkpoint is, without training it.
#pragma once

#include <string>
#include <vector>

#include "primus/cli/command.h"
#include "primus/cli/config_request.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/hf_folder_writer.h"
#include "primus/spec/run_spec.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::cli {

// The run of an experiment file, its paths resolved. A vocabulary that the tokenizer decides is `fallback_vocab_size`
// where there is no such tokenizer; `notes` gets the reason. Throws InputError.
spec::RunSpec run_of_experiment(const ConfigRequest& request, const Context& context, int64_t fallback_vocab_size,
                                Diagnostics& notes);

// A tokenizer's folder or file (empty: it needs none), and the ids that an export tells of it.
struct TokenizerFiles {
  fs::path source;
  hub::HfTokenIds ids;
};
TokenizerFiles files_of(const tokenizer::Tokenizer& tokenizer);

struct CheckpointModel {
  spec::Model model;
  std::string family;   // of an imported checkpoint; empty: not known
  fs::path tokenizer;   // folder of the tokenizer's files, or its file; empty: none found
  hub::HfTokenIds ids;  // as far as they are known
  Diagnostics notes;
};

// From the first that there is: request.config, the resolved configuration of the run folder that the checkpoint lies
// in, what an import wrote into the manifest. `tokenizer` (a folder, may be empty) goes before the run's own.
// Throws InputError: nothing says what the model is, or its fingerprint is not the checkpoint's (the fields are named).
CheckpointModel model_of_checkpoint(const hub::FoundCheckpoint& checkpoint, const ConfigRequest& request,
                                    const fs::path& tokenizer, const Context& context);

// What differs between the model that is described and the one that the weights belong to: "hidden_size: 64 here, 128
// in the checkpoint"; empty when they fit. Predictions of further tokens are not compared.
std::string fingerprint_differences(const spec::Model& described, Json weights);

}  // namespace primus::cli
