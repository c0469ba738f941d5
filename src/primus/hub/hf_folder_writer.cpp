#include "primus/hub/hf_folder_writer.h"

#include <atomic>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "primus/base/check.h"

namespace primus::hub {

namespace {

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

[[noreturn]] void fail(const char* action, const fs::path& path, const std::error_code& code) {
  throw RunError(fmt::format("cannot {} '{}': {}", action, path.string(), code.message()));
}

void move_folder(const fs::path& from, const fs::path& to) {
  fault_point("rename", to);
  std::error_code code;
  fs::rename(from, to, code);
  if (code) fail("rename to", to, code);
}

fs::path sibling(const fs::path& target, const char* what) {
  static std::atomic<int> counter{0};
  return target.parent_path() / fmt::format(".{}.{}.{}.{}", target.filename().string(), ::getpid(), counter++, what);
}

}  // namespace

Result<HfFolderWriter> HfFolderWriter::create(const fs::path& target, std::vector<TensorInfo> tensors,
                                              const HfFolderOptions& options) {
  HfFolderWriter writer;
  std::error_code code;
  writer.target_ = fs::absolute(target).lexically_normal();
  if (!writer.target_.has_filename()) writer.target_ = writer.target_.parent_path();
  writer.replace_ = options.replace;
  if (fs::exists(writer.target_, code)) {
    const bool is_folder = fs::is_directory(writer.target_, code);
    if (!is_folder || (!options.replace && !fs::is_empty(writer.target_, code))) {
      Diagnostic finding = error_at({target.string()}, is_folder ? "the folder exists and is not empty"
                                                                 : "this is a file, a folder is to be written");
      finding.suggestion = is_folder ? "give another folder, or --overwrite" : "give another folder";
      return finding;
    }
  }
  writer.plan(std::move(tensors), options.max_shard_bytes);
  const fs::path making = sibling(writer.target_, "making");
  create_folders(making);
  writer.making_ = making;
  writer.open_shard();
  return writer;
}

HfFolderWriter::HfFolderWriter(HfFolderWriter&& other) noexcept
    : target_(std::move(other.target_)),
      making_(std::move(other.making_)),
      replace_(other.replace_),
      shards_(std::move(other.shards_)),
      shard_(other.shard_),
      position_(other.position_),
      appended_bytes_(other.appended_bytes_),
      total_bytes_(other.total_bytes_),
      file_(std::move(other.file_)) {
  other.making_.clear();
}

HfFolderWriter::~HfFolderWriter() {
  if (making_.empty()) return;
  file_.reset();
  std::error_code ignored;
  fs::remove_all(making_, ignored);
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
  file_ =
      std::make_unique<SafetensorsWriter>(making_ / shard.name, shard.tensors, SafetensorsMetadata{{"format", "pt"}});
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
  write_file_atomic(making_ / name, dump_json(content, 2) + "\n");
}

void HfFolderWriter::write_generation_config(const HfTokenIds& ids) {
  Json out = {{"_from_model_config", true}};
  if (ids.bos) out["bos_token_id"] = *ids.bos;
  if (ids.eos.size() == 1) out["eos_token_id"] = ids.eos.front();
  if (ids.eos.size() > 1) out["eos_token_id"] = ids.eos;
  if (ids.pad) out["pad_token_id"] = *ids.pad;
  if (out.size() > 1) write_json("generation_config.json", out);
}

std::vector<std::string> HfFolderWriter::copy_tokenizer(const fs::path& source) {
  std::vector<std::string> copied;
  std::error_code code;
  for (const char* name : kTokenizerFiles) {
    if (!fs::is_regular_file(source / name, code)) continue;
    const MappedFile file = value_or_throw(MappedFile::open(source / name));
    DurableFile copy(making_ / name);
    copy.write(file.bytes().data(), file.size_bytes());
    copy.close();
    copied.emplace_back(name);
  }
  return copied;
}

void HfFolderWriter::finish() {
  PRIMUS_CHECK(shard_ == shards_.size() && !making_.empty(), "not every tensor is written");
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
    write_file_atomic(making_ / "model.safetensors.index.json", text + "\n  }\n}\n");
  }
  sync_folder(making_);
  std::error_code code;
  fs::path old;
  if (replace_ && fs::exists(target_, code)) {
    old = sibling(target_, "old");
    move_folder(target_, old);
  }
  try {
    move_folder(making_, target_);
  } catch (...) {
    if (!old.empty()) fs::rename(old, target_, code);
    throw;
  }
  making_.clear();
  sync_folder(target_.parent_path());
  if (!old.empty()) fs::remove_all(old, code);
}

}  // namespace primus::hub
