// A checkpoint of ours out of a Hugging Face folder: weights only, a few rows at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "primus/base/json.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/checkpoint_manifest.h"
#include "primus/hub/hf_folder_writer.h"
#include "primus/hub/hf_weights_source.h"

namespace primus::hub {

struct ImportOptions {
  Dtype dtype = Dtype::F32;                 // of the weights: F32 or BF16. Buffers stay F32
  bool replace = false;                     // an existing checkpoint gives way at the end
  uint64_t max_file_bytes = 5'000'000'000;  // of tensor data
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct ImportReport {
  size_t num_tensors = 0;
  uint64_t size_bytes = 0;  // of all tensors
};

// Writes `target`: every piece of the source as "master.<piece>", buffers as "buffer.<piece>", and last the manifest.
// `state` comes from import_state. Memory: a few MiB.
// Errors: the target exists. Throws RunError on I/O failure; then nothing is there.
Result<ImportReport> import_weights(const WeightSource& source, const CheckpointState& state, const fs::path& target,
                                    const ImportOptions& options = {});

// Where an imported checkpoint came from. Kept in the manifest under extra.hugging_face: such a checkpoint has no run
// folder that could tell what its model is.
struct ImportOrigin {
  std::string family;
  Json config = Json::object();  // config.json as it was read
  fs::path folder;               // tokenizer files lie there
};

// Step 0 of `model`, without optimizer, schedule or random state. `precision`: "fp32", "bf16" or "fp16".
CheckpointState import_state(const spec::Model& model, const ImportOrigin& origin, const std::string& precision);
// What most of the source's numbers are stored in, as a precision; quantised forms count as bf16.
std::string stored_precision(const WeightSource& source);

// The origin in a manifest; nothing when the checkpoint was trained here. Errors: a damaged one.
Result<std::optional<ImportOrigin>> origin_of(const FoundCheckpoint& checkpoint);

// bos_token_id, eos_token_id, pad_token_id of a config.json or generation_config.json.
HfTokenIds token_ids_of(const Json& config);

}  // namespace primus::hub
