// Writes a complete Hugging Face folder, tensor by tensor. Everything is made in a sibling folder that is renamed at
// the end: the target is the old folder, the new one, or nothing; never half of one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/hub/new_folder.h"
#include "primus/hub/safetensors.h"

namespace primus::hub {

inline constexpr uint64_t kHfShardBytes = 5'000'000'000;

struct HfFolderOptions {
  uint64_t max_shard_bytes = kHfShardBytes;  // of tensor data; a larger tensor has a shard of its own
  bool replace = false;                      // an existing folder with a config.json gives way at the end
};

// Ids that generation_config.json tells, where they are known.
struct HfTokenIds {
  std::optional<int64_t> bos, pad;
  std::vector<int64_t> eos;
};

class HfFolderWriter {
 public:
  // Plans the shards, in the order given. Errors: those of NewFolder::create (marker: config.json).
  // Throws RunError on I/O failure, as everything below.
  static Result<HfFolderWriter> create(const fs::path& target, std::vector<TensorInfo> tensors,
                                       const HfFolderOptions& options = {});
  HfFolderWriter(HfFolderWriter&&) noexcept = default;
  HfFolderWriter& operator=(HfFolderWriter&&) = delete;

  // The tensor whose bytes append() wants next, whole or in pieces; nullptr when all are written.
  const TensorInfo* next() const;
  void append(std::span<const std::byte> bytes);

  void write_json(const std::string& name, const Json& content);  // config.json
  // generation_config.json, with the ids that are known.
  void write_generation_config(const HfTokenIds& ids);
  // Byte for byte, those that exist: tokenizer.json, tokenizer_config.json, special_tokens_map.json, tokenizer.model,
  // vocab.json, merges.txt, ..., chat templates, generation_config.json. Returns their names.
  // A source that is a file of another name is copied alone, under the name by which a folder's tokenizer is found.
  std::vector<std::string> copy_tokenizer(const fs::path& source);

  // Index, sync, rename. Throws InternalError when a tensor is missing.
  void finish();
  const fs::path& target() const { return target_; }
  uint64_t size_bytes() const { return total_bytes_; }  // of all tensors
  size_t num_shards() const { return shards_.size(); }

 private:
  struct Shard {
    std::string name;
    std::vector<TensorInfo> tensors;
  };
  explicit HfFolderWriter(NewFolder folder) : folder_(std::move(folder)) {}
  void plan(std::vector<TensorInfo> tensors, uint64_t max_shard_bytes);
  void open_shard();
  void skip_written();

  fs::path target_;
  NewFolder folder_;  // not finished: nothing stays
  bool is_finished_ = false;
  std::vector<Shard> shards_;
  size_t shard_ = 0, position_ = 0;  // position_ counts in the writer's order
  uint64_t appended_bytes_ = 0;      // of the tensor at position_
  uint64_t total_bytes_ = 0;
  std::unique_ptr<SafetensorsWriter> file_;
};

}  // namespace primus::hub
