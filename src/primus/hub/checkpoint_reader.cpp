#include "primus/hub/checkpoint_reader.h"

#include <fmt/format.h>
#include <map>
#include <set>

#include "primus/base/strings.h"
#include "primus/base/xxh64.h"

namespace primus::hub {

namespace {

constexpr const char* kWayOut = "resume from an older checkpoint: move this one's folder away";

}  // namespace

std::string missing_files(const fs::path& folder, const Manifest& manifest) {
  std::vector<std::string> faults;
  for (const CheckpointFile& file : manifest.files) {
    std::error_code code;
    const uintmax_t size_bytes = fs::file_size(folder / file.name, code);
    if (code) {
      faults.push_back(fmt::format("{} is missing", file.name));
    } else if (size_bytes != file.size_bytes) {
      faults.push_back(fmt::format("{} has {} of {} bytes", file.name, size_bytes, file.size_bytes));
    }
  }
  return join(faults, ", ");
}

CheckpointReader::CheckpointReader(fs::path folder, const Manifest& manifest)
    : folder_(std::move(folder)), manifest_(manifest), files_(manifest.files.size()) {}

Diagnostic CheckpointReader::fault(size_t index, std::string message) const {
  Diagnostic finding = error_at({(folder_ / manifest_.files[index].name).string()}, std::move(message));
  finding.suggestion = kWayOut;
  return finding;
}

Result<const SafetensorsFile*> CheckpointReader::file(size_t index) {
  if (files_[index]) return &*files_[index];
  const CheckpointFile& listed = manifest_.files[index];
  const fs::path path = folder_ / listed.name;
  std::error_code code;
  const uintmax_t size_bytes = fs::file_size(path, code);
  if (code) return fault(index, "the file of the checkpoint is missing");
  if (size_bytes != listed.size_bytes) {
    Diagnostic finding = fault(index, "the file of the checkpoint is cut short or was changed");
    finding.found = fmt::format("{} bytes", size_bytes);
    finding.expected = fmt::format("{} bytes", listed.size_bytes);
    return finding;
  }
  Result<SafetensorsFile> opened = SafetensorsFile::open(path);
  if (!opened) return opened.diagnostics();
  if (xxh64(opened->header()) != listed.header_xxh64) {
    return fault(index, "the file is damaged: the checksum of its header does not fit the manifest");
  }
  files_[index] = std::move(opened).value();
  return &*files_[index];
}

Result<std::span<const std::byte>> CheckpointReader::shard(const CheckpointTensor& tensor,
                                                           const CheckpointShard& shard) {
  Result<const SafetensorsFile*> opened = file(shard.file);
  if (!opened) return opened.diagnostics();
  const TensorEntry* entry = (*opened)->find(shard.name_in_file);
  if (entry == nullptr)
    return fault(shard.file, fmt::format("the file lacks '{}'", printable_ascii(shard.name_in_file)));
  if (entry->dtype != tensor.dtype || entry->shape != shard.box.size) {
    Diagnostic finding =
        fault(shard.file, fmt::format("'{}' is not what the manifest says", printable_ascii(shard.name_in_file)));
    finding.found = fmt::format("{} {}", to_string(entry->dtype), format_shape(entry->shape));
    finding.expected = fmt::format("{} {}", to_string(tensor.dtype), format_shape(shard.box.size));
    return finding;
  }
  return (*opened)->data(*entry);
}

Status CheckpointReader::check(const CheckpointTensor& tensor, const CheckpointShard& shard,
                               std::span<const std::byte> bytes) const {
  if (xxh64(bytes) == shard.xxh64) return Done{};
  return fault(shard.file, fmt::format("the file is damaged: the checksum of '{}' {} does not fit the manifest",
                                       printable_ascii(tensor.name), to_string(shard.box)));
}

Diagnostics verify_checkpoint(const fs::path& checkpoint_folder, const std::function<void(uint64_t)>& progress) {
  Result<Manifest> manifest = read_manifest(checkpoint_folder);
  if (!manifest) return manifest.diagnostics();
  CheckpointReader reader(checkpoint_folder, *manifest);
  Diagnostics findings;
  const auto add = [&](const auto& result) {
    findings.insert(findings.end(), result.diagnostics().begin(), result.diagnostics().end());
  };
  std::vector<bool> readable(manifest->files.size());
  for (size_t i = 0; i < manifest->files.size(); ++i) {
    Result<const SafetensorsFile*> file = reader.file(i);
    readable[i] = file.ok();
    if (!file) add(file);
  }
  std::set<std::pair<size_t, std::string>> listed;
  uint64_t done_bytes = 0;
  for (const CheckpointTensor& tensor : manifest->tensors) {
    for (const CheckpointShard& shard : tensor.shards) {
      listed.emplace(shard.file, shard.name_in_file);
      if (!readable[shard.file]) continue;
      Result<std::span<const std::byte>> bytes = reader.shard(tensor, shard);
      add(bytes);
      if (!bytes) continue;
      add(reader.check(tensor, shard, *bytes));
      done_bytes += bytes->size();
      if (progress) progress(done_bytes);
    }
  }
  for (size_t i = 0; i < manifest->files.size(); ++i) {
    if (!readable[i]) continue;
    for (const TensorEntry& entry : (*reader.file(i))->entries()) {
      if (listed.contains({i, entry.name})) continue;
      findings.push_back(error_at({(checkpoint_folder / manifest->files[i].name).string()},
                                  fmt::format("'{}' is not in the manifest", printable_ascii(entry.name))));
    }
  }
  return findings;
}

}  // namespace primus::hub
