// docs/models.md: every model preset with its family and size, and the published size beside it.
#pragma once

#include <string>

#include "primus/base/env.h"
#include "primus/base/fs.h"

namespace primus::cli {

// Markdown. `presets_root` holds primus/configs; the published counts are data of this file's source.
std::string models_page(const fs::path& presets_root, const Environment& environment);

}  // namespace primus::cli
