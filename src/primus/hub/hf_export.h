// A complete Hugging Face folder out of a checkpoint of ours, whatever layout wrote it. Needs no original model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/dtype.h"
#include "primus/hub/hf_folder_writer.h"
#include "primus/hub/hf_weights.h"
#include "primus/spec/model.h"

namespace primus::hub {

struct ExportOptions {
  std::string family;         // one of hf_families(); empty: the first that can hold the model
  Dtype dtype = Dtype::BF16;  // F32, BF16 or F16. Buffers stay F32
  fs::path tokenizer;         // folder whose tokenizer files are copied, or one file; empty: none
  HfTokenIds ids;             // for generation_config.json and config.json
  HfFolderOptions folder;     // size of shards, replacing. Replaces only a folder with a config.json
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct ExportReport {
  std::string family;
  size_t num_tensors = 0, num_shards = 0;
  uint64_t size_bytes = 0;                   // of all tensors
  std::vector<std::string> tokenizer_files;  // copied
};

// What an export of this model and dtype will hold: the config.json and the tensors, in order of the layers.
struct ExportPlan {
  std::string family;
  Json config;
  std::vector<HfTensor> tensors;
};
// Errors: no family can hold the model (the fields that would be lost are named), or this one cannot.
Result<ExportPlan> plan_export(const spec::Model& model, const ExportOptions& options);

// Writes `target` from the tensors "master.<piece>" and "buffer.<piece>". Memory: one stored tensor and its largest
// piece in f32. Checksums are compared on the way. A warning names what the family has no place for (predictions of
// further tokens).
// Errors, all together: those of plan_export, weights that the checkpoint lacks or has in another shape, weights that
// the family has no tensor for, the target exists. Throws RunError: a damaged checkpoint, I/O failure, a full disk, a
// value that F16 cannot hold; then nothing is written.
Result<ExportReport> export_checkpoint(const FoundCheckpoint& checkpoint, const spec::Model& model,
                                       const fs::path& target, const ExportOptions& options);

}  // namespace primus::hub
