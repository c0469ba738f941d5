// safetensors files: a JSON header, then the tensors' bytes without a gap. docs/formats/safetensors.md.
// Reading maps the file and trusts nothing in it; writing streams tensor after tensor.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/dtype.h"

namespace primus::hub {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

using SafetensorsMetadata = std::map<std::string, std::string>;

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;  // row-major, contiguous
};

struct TensorEntry : TensorInfo {
  uint64_t begin = 0;  // bytes from the start of the data part, not of the file
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // by ascending begin
  SafetensorsMetadata metadata;
  uint64_t header_bytes = 0;  // 8 + N: where the data part starts in the file
};

// Checks and reads the header of a whole file held in memory; `file` only names it in diagnostics.
// Errors (all that are found): too short, length field over the cap or the file, not a JSON object, repeated names,
// unknown dtypes, wrong value kinds, sizes that overflow or do not fit their dtype, overlaps, gaps, bytes after the
// last tensor.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const fs::path& path);

  const std::vector<TensorEntry>& entries() const { return header_.entries; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }
  const TensorEntry* find(std::string_view name) const;  // nullptr when there is none
  // The bytes in the map: valid as long as this object lives.
  std::span<const std::byte> data(const TensorEntry& entry) const;
  std::span<const std::byte> header() const { return file_.bytes().first(header_.header_bytes); }
  const fs::path& path() const { return file_.path(); }
  uint64_t size_bytes() const { return file_.size_bytes(); }

 private:
  SafetensorsFile(MappedFile file, SafetensorsHeader header);
  MappedFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, size_t> by_name_;
};

// Writes one file. The order of the data is the reference writer's (dtype descending, then name), so equal content
// gives equal bytes whatever the order of `tensors`. Nothing is at the target path before close() returns.
class SafetensorsWriter {
 public:
  // Creates the file and writes the header. Throws InternalError for names given twice, RunError on I/O failure.
  SafetensorsWriter(const fs::path& target, std::vector<TensorInfo> tensors, const SafetensorsMetadata& metadata = {});

  // The order in which append() wants the tensors: indices into the constructor's list.
  const std::vector<size_t>& order() const { return order_; }
  // The data of the next tensor, whole or in pieces of any size.
  void append(std::span<const std::byte> bytes);
  // Makes the file durable (fsync, rename, fsync of the folder). Throws InternalError when bytes are missing.
  void close();

  std::string_view header() const { return header_; }  // the first 8 + N bytes
  uint64_t size_bytes() const { return header_.size() + data_bytes_; }

 private:
  uint64_t data_bytes_ = 0;  // before header_, whose making sets it
  uint64_t appended_bytes_ = 0;
  std::vector<size_t> order_;
  std::string header_;
  DurableFile file_;
};

}  // namespace primus::hub
