#include "primus/hub/hf_folder_writer.h"

#include <algorithm>
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
                                           "tekken.json",
                                           "characters.json",
                                           "encoder.json",
                                           "vocab.bpe",
                                           "vocab.json",
                                           "vocab.txt",
                                           "merges.txt",
                                           "chat_template.jinja",
                                           "chat_template.json",
                                           "generation_config.json"};

// The name under which a folder's tokenizer is looked for, of a file with a name of its own (qwen.tiktoken); empty:
// the file is none.
std::string usual_name(std::string_view content) {
  const size_t first = content.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const char c = first == std::string_view::npos ? ' ' : content[first];
  if (c == '{') {  // with a model in it; GPT-2's map of tokens is half of a tokenizer
    const size_t key = content.find("\"model\":");
    const size_t value = key == std::string_view::npos ? key : content.find_first_not_of(" \t\r\n", key + 8);
    return value != std::string_view::npos && content[value] == '{' ? "tokenizer.json" : "";
  }
  if (c == '[') return "characters.json";
  const std::string_view head = content.substr(0, 256);
  const bool is_text =
      std::all_of(head.begin(), head.end(), [](char byte) { return (byte >= ' ' && byte <= '~') || byte == '\n'; });
  return is_text ? "tiktoken.model" : "tokenizer.model";
}

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
  const auto copy = [&](const MappedFile& file, const std::string& name) {
    DurableFile target(folder_.path() / name);
    target.write(file.bytes().data(), file.size_bytes());
    target.close();
    copied.push_back(name);
  };
  const bool is_folder = fs::is_directory(source, code);
  const auto is_source = [&](const char* name) { return source.filename() == name; };
  if (!is_folder && std::none_of(std::begin(kTokenizerFiles), std::end(kTokenizerFiles), is_source)) {
    // What lies beside it need not belong to it.
    const MappedFile file = value_or_throw(MappedFile::open(source));
    const std::string name = usual_name({reinterpret_cast<const char*>(file.bytes().data()), file.size_bytes()});
    if (!name.empty()) copy(file, name);
    return copied;
  }
  const fs::path folder = is_folder ? source : source.parent_path();
  for (const char* name : kTokenizerFiles)
    if (fs::is_regular_file(folder / name, code)) copy(value_or_throw(MappedFile::open(folder / name)), name);
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
