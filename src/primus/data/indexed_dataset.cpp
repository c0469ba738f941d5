#include "primus/data/indexed_dataset.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/data/indexed_layout.h"

namespace primus::data {

int64_t size_bytes(TokenType type) {
  switch (type) {
    case TokenType::U8:
    case TokenType::I8:
      return 1;
    case TokenType::I16:
    case TokenType::U16:
      return 2;
    case TokenType::I32:
      return 4;
    case TokenType::I64:
      return 8;
  }
  PRIMUS_CHECK(false, "unknown token type");
}

std::string to_string(TokenType type) {
  switch (type) {
    case TokenType::U8:
      return "uint8";
    case TokenType::I8:
      return "int8";
    case TokenType::I16:
      return "int16";
    case TokenType::U16:
      return "uint16";
    case TokenType::I32:
      return "int32";
    case TokenType::I64:
      return "int64";
  }
  PRIMUS_CHECK(false, "unknown token type");
}

TokenType token_type_for_vocab(int64_t vocab_size) {
  return vocab_size > 0 && vocab_size < 65500 ? TokenType::U16 : TokenType::I32;
}

fs::path idx_path(const std::string& prefix) {
  return prefix + ".idx";
}
fs::path bin_path(const std::string& prefix) {
  return prefix + ".bin";
}

namespace {

// f(pointer to T) for the C++ type of the tokens.
template <class F>
auto with_token_type(TokenType type, F&& f) {
  switch (type) {
    case TokenType::U8:
      return f(uint8_t{});
    case TokenType::I8:
      return f(int8_t{});
    case TokenType::I16:
      return f(int16_t{});
    case TokenType::U16:
      return f(uint16_t{});
    case TokenType::I32:
      return f(int32_t{});
    case TokenType::I64:
      return f(int64_t{});
  }
  PRIMUS_CHECK(false, "unknown token type");
}

Diagnostic missing_file(const std::string& prefix, const fs::path& path) {
  Diagnostic diagnostic = error_at({path.string()}, "the data file does not exist");
  diagnostic.expected = fmt::format("a dataset is two files: '{}.bin' and '{}.idx'", prefix, prefix);
  std::error_code code;
  for (const char* suffix : {"_text_document", "_train", ".idx", ".bin"}) {
    const std::string_view ending = suffix;
    if (ending.front() == '.' && prefix.ends_with(ending)) {
      diagnostic.suggestion =
          fmt::format("give the prefix without '{}': '{}'", ending, prefix.substr(0, prefix.size() - ending.size()));
    } else if (fs::exists(idx_path(prefix + suffix), code)) {
      diagnostic.suggestion = fmt::format("did you mean '{}{}'?", prefix, suffix);
    }
  }
  if (diagnostic.suggestion.empty()) {
    diagnostic.suggestion =
        fmt::format("make it with: primus-cli data prepare --input TEXT --output-prefix {}", prefix);
  }
  return diagnostic;
}

}  // namespace

Result<IndexedDataset> IndexedDataset::open(const std::string& prefix) {
  Diagnostics missing;
  std::error_code code;
  for (const fs::path& path : {idx_path(prefix), bin_path(prefix)}) {
    if (!fs::exists(path, code)) missing.push_back(missing_file(prefix, path));
  }
  if (!missing.empty()) return missing;
  Result<MappedFile> idx = MappedFile::open(idx_path(prefix));
  if (!idx) return idx.diagnostics();
  Result<MappedFile> bin = MappedFile::open(bin_path(prefix));
  if (!bin) return bin.diagnostics();
  IndexedDataset dataset(std::move(idx).value(), std::move(bin).value());
  dataset.prefix_ = prefix;
  const Status status = dataset.check();
  if (!status) return status.diagnostics();
  return dataset;
}

Diagnostic IndexedDataset::broken(std::string message) const {
  Diagnostic diagnostic = error_at({idx_.path().string()}, std::move(message));
  diagnostic.suggestion = "the file is damaged or not a Megatron index: copy it again, or prepare the data again";
  return diagnostic;
}

Status IndexedDataset::check() {
  for (const auto part :
       {&IndexedDataset::check_header, &IndexedDataset::check_sequences, &IndexedDataset::check_documents}) {
    Status status = (this->*part)();
    if (!status) return status;
  }
  return Done{};
}

Status IndexedDataset::check_header() {
  const auto size = static_cast<int64_t>(idx_.size_bytes());
  const std::byte* bytes = idx_.bytes().data();
  if (size < layout::kHeaderBytes) {
    Diagnostic diagnostic = broken("the index is shorter than its header");
    diagnostic.found = fmt::format("{} bytes", size);
    diagnostic.expected = fmt::format("at least {} bytes", layout::kHeaderBytes);
    return diagnostic;
  }
  if (std::memcmp(bytes, layout::kMagic.data(), layout::kMagic.size()) != 0) {
    return broken("the index does not start with the magic 'MMIDIDX'");
  }
  if (const auto version = load<uint64_t>(bytes + layout::kVersionAt); version != layout::kVersion) {
    Diagnostic diagnostic = broken("the index has a version that is not known");
    diagnostic.found = fmt::format("version {}", version);
    diagnostic.expected = fmt::format("version {}", layout::kVersion);
    return diagnostic;
  }
  const auto type_code = load<uint8_t>(bytes + layout::kTypeAt);
  constexpr std::array<uint8_t, 6> kTokenTypes = {1, 2, 3, 4, 5, 8};
  if (std::find(kTokenTypes.begin(), kTokenTypes.end(), type_code) == kTokenTypes.end()) {
    Diagnostic diagnostic =
        broken(type_code == 6 || type_code == 7 ? "the dataset holds floating-point numbers, not token ids"
                                                : "the index has an unknown type code");
    diagnostic.found = fmt::format("type code {}", type_code);
    diagnostic.expected = "1 (uint8), 2 (int8), 3 (int16), 4 (int32), 5 (int64) or 8 (uint16)";
    return diagnostic;
  }
  type_ = static_cast<TokenType>(type_code);
  // The counts are untrusted: compare them with what the file could hold before multiplying.
  const auto sequences = load<uint64_t>(bytes + layout::kSequencesAt);
  const auto boundaries = load<uint64_t>(bytes + layout::kBoundariesAt);
  const auto room = static_cast<uint64_t>(size - layout::kHeaderBytes);
  const bool plausible = sequences <= room / 12 && boundaries <= room / 8;
  const uint64_t wanted = plausible ? 12 * sequences + 8 * boundaries : 0;
  if (!plausible || wanted != room) {
    const bool multimodal = plausible && wanted + sequences == room && sequences > 0;
    Diagnostic diagnostic = broken(multimodal ? "the index belongs to a multimodal dataset, which is not supported"
                                              : "the length of the index does not match its header");
    diagnostic.found = fmt::format("{} bytes", size);
    diagnostic.expected = fmt::format("34 + 12 * {} sequences + 8 * {} document boundaries", sequences, boundaries);
    if (plausible) diagnostic.expected += fmt::format(" = {} bytes", wanted + layout::kHeaderBytes);
    return diagnostic;
  }
  num_sequences_ = static_cast<int64_t>(sequences);
  num_boundaries_ = static_cast<int64_t>(boundaries);
  lengths_ = bytes + layout::kHeaderBytes;
  pointers_ = lengths_ + 4 * num_sequences_;
  boundaries_ = pointers_ + 8 * num_sequences_;
  return Done{};
}

Status IndexedDataset::check_sequences() {
  const int64_t width = size_bytes(type_);
  const auto bin_bytes = static_cast<int64_t>(bin_.size_bytes());
  for (int64_t i = 0; i < num_sequences_; ++i) {
    const int64_t length = this->length(i), begin = pointer(i);
    if (length < 0) return broken(fmt::format("sequence {} has the negative length {}", i, length));
    if (begin < 0 || begin > bin_bytes || length > (bin_bytes - begin) / width) {
      Diagnostic diagnostic = broken(fmt::format("sequence {} lies outside of '{}'", i, bin_.path().string()));
      diagnostic.found = fmt::format("{} tokens of {} bytes from byte {}", length, width, begin);
      diagnostic.expected = fmt::format("inside of {} bytes", bin_bytes);
      return diagnostic;
    }
    num_tokens_ += length;
  }
  return Done{};
}

Status IndexedDataset::check_documents() {
  if (num_boundaries_ < 1) return broken("the document index is empty; it holds at least the number 0");
  if (document_begin(0) != 0) return broken(fmt::format("the document index starts with {}, not 0", document_begin(0)));
  for (int64_t i = 1; i < num_boundaries_; ++i) {
    if (document_begin(i) < document_begin(i - 1)) {
      return broken(fmt::format("the document index decreases at entry {}: {} after {}", i, document_begin(i),
                                document_begin(i - 1)));
    }
  }
  if (document_begin(num_boundaries_ - 1) != num_sequences_) {
    return broken(fmt::format("the document index ends with {}, not with the number of sequences {}",
                              document_begin(num_boundaries_ - 1), num_sequences_));
  }
  return Done{};
}

std::vector<int32_t> IndexedDataset::lengths() const {
  std::vector<int32_t> lengths(static_cast<size_t>(num_sequences_));
  if (num_sequences_ > 0) std::memcpy(lengths.data(), lengths_, lengths.size() * sizeof(int32_t));
  return lengths;
}

std::span<const std::byte> IndexedDataset::sequence_bytes(int64_t sequence) const {
  return bin_.bytes().subspan(static_cast<size_t>(pointer(sequence)),
                              static_cast<size_t>(length(sequence) * size_bytes(type_)));
}

void IndexedDataset::read(int64_t sequence, int64_t offset, std::span<int32_t> out) const {
  PRIMUS_CHECK(sequence >= 0 && sequence < num_sequences_, "no such sequence");
  PRIMUS_CHECK(offset >= 0 && static_cast<int64_t>(out.size()) <= length(sequence) - offset, "outside of the sequence");
  const std::byte* from = bin_.bytes().data() + pointer(sequence) + offset * size_bytes(type_);
  with_token_type(type_, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(load<T>(from + i * sizeof(T)));
  });
}

IdRange IndexedDataset::id_range() const {
  return with_token_type(type_, [&](auto zero) {
    using T = decltype(zero);
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    for (int64_t i = 0; i < num_sequences_; ++i) {
      const std::byte* from = bin_.bytes().data() + pointer(i);
      const int64_t n = length(i);
      for (int64_t k = 0; k < n; ++k) {
        const T id = load<T>(from + static_cast<size_t>(k) * sizeof(T));
        low = std::min(low, id);
        high = std::max(high, id);
      }
    }
    return num_tokens_ == 0 ? IdRange{} : IdRange{static_cast<int64_t>(low), static_cast<int64_t>(high)};
  });
}

std::optional<ForeignId> IndexedDataset::first_foreign_id(int64_t limit) const {
  return with_token_type(type_, [&](auto zero) -> std::optional<ForeignId> {
    using T = decltype(zero);
    for (int64_t i = 0; i < num_sequences_; ++i) {
      const std::span<const std::byte> bytes = sequence_bytes(i);
      for (size_t k = 0; k < bytes.size(); k += sizeof(T)) {
        const auto id = static_cast<int64_t>(load<T>(bytes.data() + k));
        if (id < 0 || id >= limit) return ForeignId{i, static_cast<int64_t>(k / sizeof(T)), id};
      }
    }
    return std::nullopt;
  });
}

}  // namespace primus::data
