// The shards of one checkpoint, found, mapped and checked against its manifest. Every file is opened when first asked
// for.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/checkpoint_manifest.h"
#include "primus/hub/safetensors.h"

namespace primus::hub {

// Why the files of a checkpoint are not all there with their sizes; empty when they are. Contents are not read.
std::string missing_files(const fs::path& folder, const Manifest& manifest);

class CheckpointReader {
 public:
  // `manifest` must outlive the reader.
  CheckpointReader(fs::path folder, const Manifest& manifest);

  // Maps the file and checks its size, layout and header checksum. Errors name the file.
  Result<const SafetensorsFile*> file(size_t index);
  // The bytes of a shard, after a check of its dtype and shape against the manifest; valid as long as the reader lives.
  // Threads: not safe while a file is opened; the spans may be read by any.
  Result<std::span<const std::byte>> shard(const CheckpointTensor& tensor, const CheckpointShard& shard);
  // Compares the shard's checksum. Threads: safe. Cost: one pass over the bytes.
  Status check(const CheckpointTensor& tensor, const CheckpointShard& shard, std::span<const std::byte> bytes) const;

 private:
  Diagnostic fault(size_t index, std::string message) const;

  fs::path folder_;
  const Manifest& manifest_;
  std::vector<std::optional<SafetensorsFile>> files_;
};

// Reads every byte and compares sizes, headers and checksums with the manifest. `progress` gets the bytes done so far.
// Returns all findings; empty means that the checkpoint is whole.
Diagnostics verify_checkpoint(const fs::path& checkpoint_folder, const std::function<void(uint64_t)>& progress = {});

}  // namespace primus::hub
