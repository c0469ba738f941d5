// A small checkpoint made without the writer of room ckpt (and so without libtorch): one tensor in two shards of one
// file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "primus/base/xxh64.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/safetensors.h"

namespace primus::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Tensor "model.w", U8 of shape [5], holding "hello", and a scalar "optimizer.count".
inline hub::Manifest sample_manifest(int64_t step) {
  hub::Manifest manifest;
  manifest.save_id = "sample-" + std::to_string(step);
  manifest.created = "2026-01-31T12:34:56Z";
  manifest.world_size = 2;
  manifest.state.step = step;
  manifest.state.consumed_samples = step * 12;
  manifest.state.consumed_tokens = step * 12 * 64;
  manifest.state.seed = 18446744073709551615ULL;
  manifest.state.model = {{"hidden_size", 5}, {"rope", {{"base", 10000.0}}}};
  manifest.state.layout = {{"dp", 2}, {"tp", 1}};
  manifest.state.precision = "bf16";
  manifest.tensors = {
      {"model.w",
       hub::Dtype::U8,
       {5},
       {{0, "model.w", {{0}, {2}}, xxh64(bytes_of("he"))}, {0, "model.w#1", {{2}, {3}}, xxh64(bytes_of("llo"))}}},
      {"optimizer.count", hub::Dtype::U8, {}, {{0, "optimizer.count", {}, xxh64(bytes_of("n"))}}}};
  return manifest;
}

// Writes the data file and, when asked, the manifest. Returns the folder.
inline fs::path write_sample(const fs::path& folder, hub::Manifest manifest, bool with_manifest = true) {
  create_folders(folder);
  const std::vector<std::pair<hub::TensorInfo, std::string>> tensors = {{{"model.w", hub::Dtype::U8, {2}}, "he"},
                                                                        {{"model.w#1", hub::Dtype::U8, {3}}, "llo"},
                                                                        {{"optimizer.count", hub::Dtype::U8, {}}, "n"}};
  std::vector<hub::TensorInfo> infos;
  for (const auto& [info, data] : tensors) infos.push_back(info);
  hub::SafetensorsWriter writer(folder / "model-00000.safetensors", infos);
  for (const size_t index : writer.order()) writer.append(bytes_of(tensors[index].second));
  writer.close();
  manifest.files = {{"model-00000.safetensors", writer.size_bytes(), xxh64(bytes_of(std::string(writer.header())))}};
  if (with_manifest) write_file_atomic(folder / hub::kManifestName, dump_json(hub::to_json(manifest)));
  return folder;
}

inline fs::path write_sample(const fs::path& checkpoints, int64_t step) {
  return write_sample(checkpoints / hub::step_folder_name(step), sample_manifest(step));
}

}  // namespace primus::test
