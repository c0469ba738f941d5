// manifest.json: what a checkpoint holds. Written last, so its presence says that everything else is there.
// docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/hub/box.h"
#include "primus/hub/dtype.h"

namespace primus::hub {

inline constexpr int kCheckpointFormat = 1;
inline constexpr const char* kManifestName = "manifest.json";

// Everything but the tensors. Objects that only the trainer understands are opaque here.
struct CheckpointState {
  int64_t step = 0;              // steps done
  int64_t consumed_samples = 0;  // the data position
  int64_t consumed_tokens = 0;
  uint64_t seed = 0;             // with `step`, the whole state of every random stream
  Json model = Json::object();   // the fingerprint: what must be equal for the weights to fit
  Json layout = Json::object();  // sizes of the parallel axes, for people; loading ignores it
  Json extra = Json::object();   // scheduler, loss scaler, anything else that the trainer wants back
  std::string precision;         // "bf16"
  std::string gemm_route;
  std::string torch_version;
};

struct CheckpointFile {
  std::string name;  // inside the checkpoint's folder
  uint64_t size_bytes = 0;
  uint64_t header_xxh64 = 0;  // of the first 8 + N bytes; with the tensors' checksums, every byte is covered
};

struct CheckpointShard {
  size_t file = 0;  // index into Manifest::files
  std::string name_in_file;
  Box box;
  uint64_t xxh64 = 0;  // of the shard's bytes
};

struct CheckpointTensor {
  std::string name;  // global: "model.layers.0.attention.qkv.weight"
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;  // whole, unpadded, unfused
  std::vector<CheckpointShard> shards;
};

struct Manifest {
  std::string save_id;  // differs between any two saves
  std::string created;  // "2026-01-31T12:34:56Z"
  int world_size = 1;
  CheckpointState state;
  std::vector<CheckpointFile> files;
  std::vector<CheckpointTensor> tensors;  // by name

  uint64_t size_bytes() const;  // of all files
};

// Identity of a model: SHA-256 of the fingerprint's text.
std::string fingerprint_hash(const Json& model);
// One finding that names the keys in which two fingerprints differ ("hidden_size: 64 here, 128 in the checkpoint"), or
// nothing when they are equal. `place` is the checkpoint's folder.
Diagnostics compare_fingerprints(const Json& wanted, const Json& found, const fs::path& place);

Json to_json(const Manifest& manifest);
// Errors: unknown format version, missing or wrong fields, file names that leave the folder, shards that do not fill
// their tensor exactly once (a partial manifest, what one rank wrote, may leave elements out).
Result<Manifest> manifest_from_json(const Json& json, const std::string& file, bool partial = false);
Result<Manifest> read_manifest(const fs::path& checkpoint_folder);

}  // namespace primus::hub
