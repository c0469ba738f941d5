#include "primus/data/indexed_dataset_writer.h"

#include <fmt/format.h>
#include <limits>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/data/indexed_layout.h"

namespace primus::data {

namespace {

constexpr size_t kBufferBytes = 1 << 20;

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
void append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

IndexedDatasetWriter::IndexedDatasetWriter(std::string prefix, TokenType type)
    : prefix_(std::move(prefix)), type_(type), bin_(std::make_unique<DurableFile>(bin_path(prefix_))) {
  PRIMUS_CHECK(type == TokenType::U16 || type == TokenType::I32, "only uint16 and int32 files are written");
}

void IndexedDatasetWriter::add_document(std::span<const int32_t> tokens) {
  if (tokens.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw RunError(fmt::format("document {} has {} tokens; the format holds at most 2^31 - 1 in one document",
                               num_sequences(), tokens.size()));
  }
  if (type_ == TokenType::I32) {
    const auto* bytes = reinterpret_cast<const std::byte*>(tokens.data());
    buffer_.insert(buffer_.end(), bytes, bytes + tokens.size_bytes());
  } else {
    for (const int32_t id : tokens) {
      if (id < 0 || id > std::numeric_limits<uint16_t>::max()) {
        throw RunError(
            fmt::format("document {} holds the id {}, which a uint16 file cannot hold", num_sequences(), id));
      }
      buffer_.push_back(static_cast<std::byte>(id & 0xff));
      buffer_.push_back(static_cast<std::byte>(id >> 8));
    }
  }
  lengths_.push_back(static_cast<int32_t>(tokens.size()));
  boundaries_.push_back(num_sequences());
  num_tokens_ += static_cast<int64_t>(tokens.size());
  if (buffer_.size() >= kBufferBytes) flush();
}

void IndexedDatasetWriter::add_dataset(const IndexedDataset& other) {
  if (other.token_type() != type_) {
    throw RunError(fmt::format("'{}' holds {} ids, the merged file {}: only files of one type can be merged",
                               other.prefix(), to_string(other.token_type()), to_string(type_)));
  }
  const int64_t shift = num_sequences();
  for (int64_t i = 0; i < other.num_sequences(); ++i) {
    const std::span<const std::byte> bytes = other.sequence_bytes(i);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    lengths_.push_back(other.length(i));
    if (buffer_.size() >= kBufferBytes) flush();
  }
  for (int64_t i = 1; i <= other.num_documents(); ++i) boundaries_.push_back(shift + other.document_begin(i));
  num_tokens_ += other.num_tokens();
}

void IndexedDatasetWriter::flush() {
  if (buffer_.empty()) return;
  bin_->write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

std::string IndexedDatasetWriter::index_bytes() const {
  std::string bytes(layout::kMagic.data(), layout::kMagic.size());
  append(bytes, layout::kVersion);
  append(bytes, static_cast<uint8_t>(type_));
  append(bytes, static_cast<uint64_t>(lengths_.size()));
  append(bytes, static_cast<uint64_t>(boundaries_.size()));
  append(bytes, lengths_);
  int64_t pointer = 0;
  for (const int32_t length : lengths_) {
    append(bytes, pointer);
    pointer += length * size_bytes(type_);
  }
  append(bytes, boundaries_);
  return bytes;
}

void IndexedDatasetWriter::close() {
  flush();
  std::error_code code;
  fs::remove(idx_path(prefix_), code);
  bin_->close();
  bin_.reset();
  write_file_atomic(idx_path(prefix_), index_bytes());
}

}  // namespace primus::data
