// model params: how many parameters a model has, and where they are.
#pragma once

#include "primus/base/json.h"
#include "primus/cli/command.h"
#include "primus/spec/model.h"

namespace primus::cli {

// context.arguments: what follows "model params". --config F [overrides] or --hf DIR (a folder or its config.json).
ExitCode run_model_params(Context& context);

// {"parameters", "active", "parts": {...}, "embedding", "head", "vocabulary"}; numbers, or null for what is not known.
Json model_params_json(const spec::Model& model);

}  // namespace primus::cli
