#include "primus/ckpt/rank_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "primus/base/error.h"
#include "primus/base/xxh64.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/safetensors.h"
#include "primus/tensor/prelude.h"

namespace primus::ckpt {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;  // small enough to be in the cache when write() follows the checksum

std::span<const std::byte> bytes_of(const at::Tensor& data) {
  return {static_cast<const std::byte*>(data.const_data_ptr()), data.nbytes()};
}

fs::path report_path(const SaveFolders& folders, int rank) {
  return folders.partial / fmt::format("rank-{}.json", rank);
}

void write_file(const fs::path& folder, const std::string& file_name, const std::vector<const NamedShard*>& shards,
                hub::Manifest& part) {
  std::vector<hub::TensorInfo> infos;
  std::set<std::string> names;
  for (const NamedShard* shard : shards) {
    std::string name = shard->name;
    for (int copy = 1; !names.insert(name).second; ++copy) name = fmt::format("{}#{}", shard->name, copy);
    infos.push_back({std::move(name), dtype_of(shard->data), shard->data.sizes().vec()});
  }
  hub::SafetensorsWriter writer(folder / file_name, infos, {{"format", "pt"}});
  const size_t file_index = part.files.size();
  part.files.push_back({file_name, writer.size_bytes(), xxh64(std::as_bytes(std::span(writer.header())))});
  for (const size_t index : writer.order()) {
    Xxh64 checksum;
    for (std::span<const std::byte> left = bytes_of(shards[index]->data); !left.empty();) {
      const std::span<const std::byte> piece = left.first(std::min(left.size(), kPieceBytes));
      checksum.update(piece);
      writer.append(piece);
      left = left.subspan(piece.size());
    }
    part.tensors.push_back({.name = shards[index]->name,
                            .dtype = infos[index].dtype,
                            .shape = shards[index]->global_shape,
                            .shards = {{file_index, infos[index].name, box_of(*shards[index]), checksum.value()}}});
  }
  writer.close();
}

// Polls until `done` says so.
void wait_until(const SaveFolders& folders, std::chrono::milliseconds timeout, const std::string& what,
                const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (auto pause = std::chrono::milliseconds(1); !done(); pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
    if (const std::string reason = reason_of_failure(folders); !reason.empty()) throw RunError(reason);
    if (std::chrono::steady_clock::now() > deadline) {
      throw RunError(fmt::format("{} within {} s; do all ranks share the folder '{}'?", what, timeout.count() / 1000.0,
                                 folders.checkpoints.string()));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

SaveFolders::SaveFolders(const fs::path& checkpoints_folder, int64_t step, const std::string& save_id)
    : checkpoints(checkpoints_folder),
      partial(checkpoints / hub::partial_folder_name(step, save_id)),
      failed(checkpoints / fmt::format(".failed-{}-{}", hub::step_folder_name(step), save_id)),
      final(checkpoints / hub::step_folder_name(step)) {}

std::string reason_of_failure(const SaveFolders& folders) noexcept {
  std::error_code code;
  if (!fs::exists(folders.failed, code)) return "";
  std::string reasons;
  for (fs::directory_iterator next(folders.failed, code), end; !code && next != end; next.increment(code)) {
    if (next->path().extension() != ".txt") continue;
    Result<std::string> text = read_text_file(next->path());
    if (text.ok()) reasons += (reasons.empty() ? "" : "; ") + *text;
  }
  return reasons.empty() ? "another rank failed (its log says why)" : reasons;
}

uint64_t total_bytes(const std::vector<NamedShard>& shards) {
  uint64_t sum = 0;
  for (const NamedShard& shard : shards) sum += shard.data.nbytes();
  return sum;
}

hub::Manifest write_rank_files(const fs::path& folder, int rank, const std::vector<NamedShard>& shards) {
  std::vector<const NamedShard*> model, rest;
  for (const NamedShard& shard : shards) (shard.name.starts_with("model.") ? model : rest).push_back(&shard);
  hub::Manifest part;
  if (!model.empty()) write_file(folder, fmt::format("model-{:05}.safetensors", rank), model, part);
  if (!rest.empty()) write_file(folder, fmt::format("optimizer-{:05}.safetensors", rank), rest, part);
  return merge_parts({}, {part});
}

void write_report(const SaveFolders& folders, int rank, const hub::Manifest& part) {
  write_file_atomic(report_path(folders, rank), dump_json(to_json(part)));
}

std::vector<hub::Manifest> collect_reports(const SaveFolders& folders, int world_size,
                                           std::chrono::milliseconds timeout) {
  std::vector<hub::Manifest> parts;
  for (int rank = 1; rank < world_size; ++rank) {
    const fs::path path = report_path(folders, rank);
    wait_until(folders, timeout, fmt::format("rank {} did not write its part", rank), [&] {
      std::error_code code;
      return fs::exists(path, code);
    });
    Result<std::string> text = read_text_file(path);
    if (!text) throw RunError(render(text.diagnostics()));
    Result<Json> json = parse_json(*text, path.string());
    if (!json) throw RunError(render(json.diagnostics()));
    Result<hub::Manifest> part = hub::manifest_from_json(*json, path.string(), /*partial=*/true);
    if (!part) throw RunError(render(part.diagnostics()));
    parts.push_back(std::move(part).value());
  }
  return parts;
}

void await_commit(const SaveFolders& folders, const std::string& save_id, std::chrono::milliseconds timeout) {
  wait_until(folders, timeout, "rank 0 did not complete the checkpoint", [&] {
    Result<hub::Manifest> manifest = hub::read_manifest(folders.final);
    return manifest.ok() && manifest->save_id == save_id;
  });
}

hub::Manifest merge_parts(hub::Manifest whole, const std::vector<hub::Manifest>& parts) {
  std::map<std::string, hub::CheckpointTensor> tensors;
  for (hub::CheckpointTensor& tensor : whole.tensors) tensors.emplace(tensor.name, tensor);
  for (const hub::Manifest& part : parts) {
    const size_t first_file = whole.files.size();
    whole.files.insert(whole.files.end(), part.files.begin(), part.files.end());
    for (const hub::CheckpointTensor& tensor : part.tensors) {
      const auto [known, is_new] =
          tensors.try_emplace(tensor.name, hub::CheckpointTensor{tensor.name, tensor.dtype, tensor.shape, {}});
      if (known->second.dtype != tensor.dtype || known->second.shape != tensor.shape) {
        throw RunError(fmt::format("ranks disagree on '{}': {} {} and {} {}", tensor.name,
                                   to_string(known->second.dtype), hub::format_shape(known->second.shape),
                                   to_string(tensor.dtype), hub::format_shape(tensor.shape)));
      }
      for (hub::CheckpointShard shard : tensor.shards) {
        shard.file += first_file;
        known->second.shards.push_back(std::move(shard));
      }
    }
  }
  whole.tensors.clear();
  for (auto& [name, tensor] : tensors) whole.tensors.push_back(std::move(tensor));
  return whole;
}

void abandon(const SaveFolders& folders, int rank, int world_size, const std::string& reason) noexcept {
  std::error_code code;
  if (world_size == 1) {
    fs::remove_all(folders.partial, code);
    return;
  }
  try {
    if (fs::exists(folders.failed, code)) {
      fs::remove_all(folders.partial, code);  // this rank came late and made it again
      return;
    }
    std::ofstream(folders.partial / fmt::format("rank-{}.txt", rank)) << fmt::format("rank {}: {}", rank, reason);
    fs::rename(folders.partial, folders.failed, code);
    if (code) fs::create_directories(folders.failed, code);
    for (fs::directory_iterator next(folders.failed, code), end; !code && next != end; next.increment(code)) {
      std::error_code ignored;
      if (next->path().extension() != ".txt") fs::remove(next->path(), ignored);
    }
  } catch (const std::exception&) {
    return;  // the reason is on its way to the caller; the other ranks run into their time limit
  }
}

}  // namespace primus::ckpt
