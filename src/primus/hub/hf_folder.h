// A folder of Hugging Face weights: model.safetensors, or model.safetensors.index.json and its shards. Maps the files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/safetensors.h"

namespace primus::hub {

struct HfEntry {
  const TensorEntry* info = nullptr;
  std::span<const std::byte> bytes;  // in the map
  const fs::path* file = nullptr;
};

class HfFolder {
 public:
  // Errors, all together: no weights here (other formats are named), an index that is no map of names to files of this
  // folder, shards that are missing or damaged, tensors that their shard does not hold. A `total_size` that is not the
  // sum of the tensors only warns: published ones are wrong at times.
  static Result<HfFolder> open(const fs::path& folder);

  // Nullptr when there is none. Valid as long as this object lives, wherever it is moved.
  const HfEntry* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const std::vector<std::string>& names() const { return names_; }  // file by file, in the order of their bytes
  const fs::path& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }  // of all tensors
  size_t num_files() const { return files_.size(); }

 private:
  void take(const SafetensorsFile& file, const std::map<std::string, std::string>* owners);
  Status open_shards(const fs::path& index);

  fs::path path_;
  std::vector<SafetensorsFile> files_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, HfEntry> entries_;
  uint64_t size_bytes_ = 0;
};

}  // namespace primus::hub
