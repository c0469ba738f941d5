// One module of an experiment: its presets, its own keys and its overrides as one map of parameters.
#pragma once

#include <optional>
#include <string>

#include "primus/base/fs.h"
#include "primus/config/load.h"
#include "primus/config/preset.h"
#include "primus/config/value.h"

namespace primus::config {

// `block` is the value of modules.<name>. Lowest first: model preset, module preset (whose top-level keys replace the
// model's whole), keys of the module itself (only those that the module preset lacks), `overrides`. With `params` the
// block is taken as resolved: no preset is read. Findings are appended; nothing when the module cannot be built.
std::optional<Module> build_module(const std::string& name, Value block, const fs::path& presets_root,
                                   FileLoader& loader, Diagnostics& diagnostics);

}  // namespace primus::config
