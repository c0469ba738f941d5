// Where the presets of an experiment lie: --presets DIR, the tree that the experiment itself lies in, or our own.
#pragma once

#include <string>

#include "primus/base/fs.h"

namespace primus::cli {

// The tree root that DIR of --presets means: a folder that holds primus/configs, or that primus/configs itself (also
// its parent primus). Errors (InputError): there are no presets.
fs::path presets_tree(const std::string& given);

// `given` (--presets) when there is one; else the nearest folder above the experiment that holds primus/configs, so
// that an experiment inside another tree is read with that tree's presets; else `install_root`.
fs::path presets_root_for(const std::string& given, const fs::path& experiment, const fs::path& install_root);

}  // namespace primus::cli
