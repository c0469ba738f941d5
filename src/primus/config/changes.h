// What an experiment and the command line change against the presets.
#pragma once

#include <string>

#include "primus/base/json.h"
#include "primus/config/load.h"

namespace primus::config {

// An experiment file that names the same presets and holds under `overrides` only what differs from them, each value
// with what it hides as a comment. It resolves to the same parameters. Errors: an experiment without presets
// (`params`).
Result<std::string> dump_changes(const Experiment& experiment);

// {"meta", "modules": {NAME: {"framework", "config", "model", "changed": {KEY: {"value", "preset", "place"}},
// "unchanged": [KEY, ...]}}} with dotted keys; "preset" is absent where no preset sets the key; "unchanged": set to
// what the presets say already.
Result<Json> changes_json(const Experiment& experiment);

}  // namespace primus::config
