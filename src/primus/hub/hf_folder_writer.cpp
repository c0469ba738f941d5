#include "primus/hub/hf_folder_writer.h"

#include <fmt/format.h>
#include <map>

#include "primus/base/check.h"

namespace primus::hub {

namespace {

constexpr const char* kMarker = "config.json";  // by which such a folder is known

constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "tokenizer.model",
                                           "spiece.model",
                                           "tiktoken.model",
                                           "vocab.json",
                                           "vocab.txt",
                                           "merges.txt",
                                           "chat_template.jinja",
                                           "chat_template.json",
                                           "generation_config.json"};

uint64_t bytes_of(const TensorInfo& tensor) {
  const auto size = num_bytes(tensor.dtype, tensor.shape);
  PRIMUS_CHECK(size.has_value(), fmt::format("tensor '{}' has an impossible shape", tensor.name));
  return static_cast<uint64_t>(*size);
}

}  // namespace

Result<HfFolderWriter> HfFolderWriter::create(const fs::path& target, std::vector<TensorInfo> tensors,
                                              const HfFolderOptions& options) {
  Result<NewFolder> folder = NewFolder::create(target, options.replace, kMarker);
  if (!folder) return folder.diagnostics();
  HfFolderWriter writer(std::move(folder).value());
  writer.target_ = target;
  writer.plan(std::move(tensors), options.max_shard_bytes);
  writer.open_shard();
  return writer;
}

void HfFolderWriter::plan(std::vector<TensorInfo> tensors, uint64_t max_shard_bytes) {
  uint64_t shard_bytes = 0;
  for (TensorInfo& tensor : tensors) {
    const uint64_t size = bytes_of(tensor);
    const bool fits = !shards_.empty() && size <= max_shard_bytes && shard_bytes <= max_shard_bytes - size;
    if (!fits) {
      shards_.emplace_back();
      shard_bytes = 0;
    }
    shards_.back().tensors.push_back(std::move(tensor));
    shard_bytes += size;
    total_bytes_ += size;
  }
  if (shards_.empty()) shards_.emplace_back();
  for (size_t i = 0; i < shards_.size(); ++i)
    shards_[i].name = shards_.size() == 1 ? "model.safetensors"
                                          : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards_.size());
}

void HfFolderWriter::open_shard() {
  const Shard& shard = shards_[shard_];
  file_ = std::make_unique<SafetensorsWriter>(folder_.path() / shard.name, shard.tensors,
                                              SafetensorsMetadata{{"format", "pt"}});
  position_ = 0;
  appended_bytes_ = 0;
  skip_written();
}

const TensorInfo* HfFolderWriter::next() const {
  if (shard_ == shards_.size()) return nullptr;
  const Shard& shard = shards_[shard_];
  return position_ == shard.tensors.size() ? nullptr : &shard.tensors[file_->order()[position_]];
}

// Tensors that are complete (or empty), then full shards.
void HfFolderWriter::skip_written() {
  while (const TensorInfo* tensor = next()) {
    if (appended_bytes_ < bytes_of(*tensor)) return;
    ++position_;
    appended_bytes_ = 0;
  }
  file_->close();
  file_.reset();
  if (++shard_ < shards_.size()) open_shard();
}

void HfFolderWriter::append(std::span<const std::byte> bytes) {
  const TensorInfo* tensor = next();
  PRIMUS_CHECK(tensor != nullptr, "every tensor is written already");
  PRIMUS_CHECK(bytes.size() <= bytes_of(*tensor) - appended_bytes_, "more bytes than '" + tensor->name + "' has");
  file_->append(bytes);
  appended_bytes_ += bytes.size();
  skip_written();
}

void HfFolderWriter::write_json(const std::string& name, const Json& content) {
  write_file_atomic(folder_.path() / name, dump_json(content, 2) + "\n");
}

void HfFolderWriter::write_generation_config(const HfTokenIds& ids) {
  Json out = {{"_from_model_config", true}};
  if (ids.bos) out["bos_token_id"] = *ids.bos;
  if (ids.eos.size() == 1) out["eos_token_id"] = ids.eos.front();
  if (ids.eos.size() > 1) out["eos_token_id"] = ids.eos;
  if (ids.pad) out["pad_token_id"] = *ids.pad;
  write_json("generation_config.json", out);
}

std::vector<std::string> HfFolderWriter::copy_tokenizer(const fs::path& source) {
  std::vector<std::string> copied;
  std::error_code code;
  for (const char* name : kTokenizerFiles) {
    if (!fs::is_regular_file(source / name, code)) continue;
    const MappedFile file = value_or_throw(MappedFile::open(source / name));
    DurableFile copy(folder_.path() / name);
    copy.write(file.bytes().data(), file.size_bytes());
    copy.close();
    copied.emplace_back(name);
  }
  return copied;
}

void HfFolderWriter::finish() {
  PRIMUS_CHECK(shard_ == shards_.size() && !is_finished_, "not every tensor is written");
  if (shards_.size() > 1) {
    std::map<std::string, std::string> sorted;
    for (const Shard& shard : shards_)
      for (const TensorInfo& tensor : shard.tensors) sorted.emplace(tensor.name, shard.name);
    // Put together by hand: the library's ordered object is quadratic in the number of names.
    std::string text =
        fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", total_bytes_);
    const char* separator = "\n";
    for (const auto& [name, file] : sorted) {
      text += fmt::format("{}    {}: {}", separator, dump_json(Json(name)), dump_json(Json(file)));
      separator = ",\n";
    }
    write_file_atomic(folder_.path() / "model.safetensors.index.json", text + "\n  }\n}\n");
  }
  folder_.commit();
  is_finished_ = true;
}

}  // namespace primus::hub
