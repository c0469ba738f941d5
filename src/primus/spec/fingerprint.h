// What must be equal for the weights of a checkpoint to fit a model: readable in the checkpoint's manifest.
#pragma once

#include "primus/base/json.h"
#include "primus/spec/model.h"

namespace primus::spec {

// Sizes, biases, norms and positions of every layer; nothing that may change between two starts of one run.
Json model_fingerprint(const Model& model);

}  // namespace primus::spec
