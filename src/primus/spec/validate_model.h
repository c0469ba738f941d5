// Cross-field rules of the architecture and of how it is cut over ranks. Private to the room.
#pragma once

#include "primus/base/diagnostic.h"
#include "primus/spec/run_spec.h"

namespace primus::spec {

// Every distinct kind of layer once; a finding's `key` is the field ("model.layers.moe.top_k").
void check_architecture(const RunSpec& run, Diagnostics& out);

// The divisors of n next to k, below and above: "8 or 16".
std::string nearest_divisors(int64_t n, int64_t k);

}  // namespace primus::spec
