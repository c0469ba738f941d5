#include "primus/tokenizer/sentencepiece_model.h"

#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace primus::tokenizer {

namespace {

// One field of a protobuf message: a number (varint), 4 or 8 bytes, or a span of bytes.
struct Field {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // The next field; nothing at the end or when the message is broken.
  std::optional<Field> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    const uint64_t tag = varint();
    Field field{static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    switch (field.wire_type) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        broken_ = true;
    }
    if (broken_ || field.number == 0) {
      broken_ = true;
      return std::nullopt;
    }
    return field;
  }
  bool broken() const { return broken_; }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    broken_ = true;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (broken_ || size > rest_.size()) {
      broken_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool broken_ = false;
};

bool read_piece(std::string_view bytes, SentencePieceFile& file) {
  Message message(bytes);
  Piece piece;
  while (const auto field = message.next()) {
    if (field->number == 1 && field->wire_type == 2) piece.text = field->bytes;
    if (field->number == 2 && field->wire_type == 5) std::memcpy(&piece.score, field->bytes.data(), 4);
    if (field->number == 3 && field->wire_type == 0) piece.type = static_cast<PieceType>(field->value);
  }
  file.pieces.push_back(std::move(piece));
  return !message.broken();
}

bool read_trainer(std::string_view bytes, SentencePieceFile& file) {
  Message message(bytes);
  while (const auto field = message.next()) {
    const auto number = static_cast<int32_t>(field->value);
    switch (field->number) {
      case 3:
        file.kind = static_cast<PieceModelKind>(number);
        break;
      case 24:
        file.treat_whitespace_as_suffix = field->value != 0;
        break;
      case 35:
        file.byte_fallback = field->value != 0;
        break;
      case 40:
        file.unk_id = number;
        break;
      case 41:
        file.bos_id = number;
        break;
      case 42:
        file.eos_id = number;
        break;
      case 43:
        file.pad_id = number;
        break;
      case 44:
        file.unk_surface = field->bytes;
        break;
      default:
        break;
    }
  }
  return !message.broken();
}

bool read_normalizer_spec(std::string_view bytes, SentencePieceFile& file) {
  Message message(bytes);
  while (const auto field = message.next()) {
    switch (field->number) {
      case 2:
        file.charsmap = field->bytes;
        break;
      case 3:
        file.add_dummy_prefix = field->value != 0;
        break;
      case 4:
        file.remove_extra_whitespaces = field->value != 0;
        break;
      case 5:
        file.escape_whitespaces = field->value != 0;
        break;
      default:
        break;
    }
  }
  return !message.broken();
}

}  // namespace

Result<SentencePieceFile> parse_sentencepiece(std::string_view bytes, const Place& place) {
  SentencePieceFile file;
  Message message(bytes);
  bool good = true;
  while (const auto field = message.next()) {
    if (field->wire_type != 2) continue;
    if (field->number == 1) good = good && read_piece(field->bytes, file);
    if (field->number == 2) good = good && read_trainer(field->bytes, file);
    if (field->number == 3) good = good && read_normalizer_spec(field->bytes, file);
  }
  if (!good || message.broken() || file.pieces.empty()) {
    Diagnostic error = error_at(place, "this is not a SentencePiece model, or it is cut short");
    error.found = fmt::format("{} bytes, {} pieces read", bytes.size(), file.pieces.size());
    return error;
  }
  return file;
}

Result<CharsMap> CharsMap::parse(std::string blob, const Place& place) {
  CharsMap map;
  if (blob.empty()) return map;
  uint32_t trie_bytes = 0;
  if (blob.size() > 4) std::memcpy(&trie_bytes, blob.data(), 4);
  if (trie_bytes < 1024 || trie_bytes % 1024 != 0 || trie_bytes >= blob.size() - 4) {
    return error_at(place, "the precompiled character map of the SentencePiece model is broken");
  }
  map.units_.resize(trie_bytes / 4);
  std::memcpy(map.units_.data(), blob.data() + 4, trie_bytes);
  map.replacements_ = blob.substr(4 + trie_bytes);
  map.replacements_.push_back('\0');
  return map;
}

// Unit of a double-array trie (Darts-clone): bits 0-7 label, 8 has a leaf, 9 wide offset, 10-30 offset, 31 is a leaf.
std::pair<std::string_view, size_t> CharsMap::longest(std::string_view text) const {
  if (units_.empty()) return {{}, 0};
  const auto offset = [](uint32_t unit) { return unit >> 10 << ((unit & (1U << 9)) >> 6); };
  size_t length = 0;
  uint32_t value = 0;
  size_t node = offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if ((unit & (1U << 31 | 0xFFU)) != byte) break;
    node ^= offset(unit);
    if (node >= units_.size()) break;
    if (unit >> 8 & 1U) {
      length = i + 1;
      value = units_[node] & 0x7FFFFFFFU;
    }
  }
  if (length == 0 || value >= replacements_.size()) return {{}, 0};
  return {std::string_view(replacements_.data() + value), length};
}

}  // namespace primus::tokenizer
