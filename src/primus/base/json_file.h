// JSON files that people or other programs have written, with a limit: a list of numbers takes many times its size.
#pragma once

#include "primus/base/fs.h"
#include "primus/base/json.h"

namespace primus {

inline constexpr size_t kMostConfigJsonBytes = 2 << 20;  // a config.json of a language model has some kilobytes

// The file as parse_json reads it. Errors: unreadable, more than `most_bytes`, no strict JSON.
Result<Json> read_json_file(const fs::path& path, size_t most_bytes = kMostConfigJsonBytes);

}  // namespace primus
