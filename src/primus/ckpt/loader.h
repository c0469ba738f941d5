// Loading: fills boxes of named tensors from whatever boxes the checkpoint holds, so any layout reads any other's
// files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primus/base/result.h"
#include "primus/ckpt/shard.h"
#include "primus/hub/checkpoint_folder.h"

namespace primus::ckpt {

struct LoadOptions {
  Json model;                    // the fingerprint that the checkpoint must have; null: not compared
  bool verify_checksums = true;  // of every shard that is read
};

struct LoadReport {
  int64_t num_tensors = 0;          // filled, whole or in part
  uint64_t num_bytes = 0;           // copied
  std::vector<std::string> unused;  // tensors of the checkpoint that no destination asked for, by name
};

// Copies from the mapped files into the destinations' tensors; threads: at::parallel_for over shards.
// Errors: checkpoint of another model (one finding that names the differences); tensors missing, of another shape or
// number format (wanted and found, all together); a file that is missing, truncated or damaged (named). After an error
// the destinations' contents are undefined.
Result<LoadReport> load(const hub::FoundCheckpoint& checkpoint, const std::vector<NamedShard>& destinations,
                        const LoadOptions& options = {});

}  // namespace primus::ckpt
