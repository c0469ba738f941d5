// Reading a configuration file, with a limit: nothing that people write is larger.
#pragma once

#include <string>

#include "primus/base/fs.h"
#include "primus/base/result.h"

namespace primus::config {

inline constexpr size_t kMostFileBytes = 16 << 20;

// The whole file; pipes and devices too, up to the limit. Errors: no such file, a folder, unreadable, too large.
Result<std::string> read_config_file(const fs::path& path);

}  // namespace primus::config
