// What a RunSpec can say and the engine cannot train yet. Describing, counting and exporting such a run always works.
#pragma once

#include "primus/base/diagnostic.h"
#include "primus/spec/run_spec.h"

namespace primus::spec {

// One error for each feature that is not built yet; `key` is the field that asks for it ("model.layers.moe"). Empty:
// the engine trains this run.
Diagnostics engine_limits(const RunSpec& run);

}  // namespace primus::spec
