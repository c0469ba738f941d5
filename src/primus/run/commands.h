// The commands of primus-train, one function a file.
#pragma once

#include "primus/cli/command.h"

namespace primus::run {

// One rank of a training run. Everything that a rank needs to know comes from the arguments (the launcher's own) and
// the environment (RANK, WORLD_SIZE, ... or a scheduler's variables).
ExitCode run_train_rank(cli::Context& context);

// model logits | grads | generate: read_model_request() says what they take.
ExitCode run_model_computation(cli::Context& context);

// One command line of primus-train (without the program's name). Throws primus::Error.
ExitCode run_app(cli::Context context, const std::vector<std::string>& arguments);

}  // namespace primus::run
