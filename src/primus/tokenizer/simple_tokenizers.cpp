// Kinds without a vocabulary of others: bytes, characters, numbers.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

constexpr int32_t kByteEod = 256;
constexpr std::string_view kEndOfText = "<|endoftext|>";

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    kind_ = "bytes";
    vocab_size_ = 257;
    special_ = {.bos = kByteEod, .eos = kByteEod, .eod = kByteEod};
    boundary_ = {{kByteEod}, {kByteEod}, false, false, "the kind's rule (neither unless asked for)"};
  }
  std::optional<std::string> token_text(int32_t id) const override {
    if (id < 0 || id > kByteEod) return std::nullopt;
    return id == kByteEod ? std::string(kEndOfText) : ByteAlphabet().to_token(std::string(1, static_cast<char>(id)));
  }
  std::optional<int32_t> token_id(std::string_view text) const override {
    std::string bytes;
    if (text == kEndOfText) return kByteEod;
    if (!ByteAlphabet().to_bytes(text, bytes) || bytes.size() != 1) return std::nullopt;
    return static_cast<unsigned char>(bytes[0]);
  }
  bool is_special(int32_t id) const override { return id == kByteEod; }
  void append_bytes(int32_t id, bool, std::string& bytes) const override {
    if (id == kByteEod) bytes += kEndOfText;
    if (id != kByteEod) bytes.push_back(static_cast<char>(id));
  }

 protected:
  bool takes_any_bytes() const override { return true; }
  void encode_body(std::string_view text, bool, std::vector<int32_t>& ids) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string decode_body(std::span<const int32_t> ids) const override {
    std::string bytes;
    for (const int32_t id : ids) append_bytes(id, false, bytes);
    return bytes;
  }
};

class CharTokenizer final : public Tokenizer {
 public:
  explicit CharTokenizer(std::vector<char32_t> characters) : characters_(std::move(characters)) {
    kind_ = "characters";
    vocab_size_ = static_cast<int64_t>(characters_.size());
    for (size_t id = 0; id < characters_.size(); ++id) id_of_.emplace_back(characters_[id], static_cast<int32_t>(id));
    std::sort(id_of_.begin(), id_of_.end());
  }
  std::optional<std::string> token_text(int32_t id) const override {
    if (id < 0 || id >= vocab_size_) return std::nullopt;
    std::string text;
    append_utf8(characters_[static_cast<size_t>(id)], text);
    return text;
  }
  std::optional<int32_t> token_id(std::string_view text) const override {
    if (text.empty() || valid_utf8_prefix(text) != text.size()) return std::nullopt;
    const CodePoint c = decode_utf8(text.data());
    if (static_cast<size_t>(c.num_bytes) != text.size()) return std::nullopt;
    return find(c.value);
  }
  bool is_special(int32_t) const override { return false; }
  void append_bytes(int32_t id, bool, std::string& bytes) const override {
    append_utf8(characters_[static_cast<size_t>(id)], bytes);
  }

 protected:
  void encode_body(std::string_view text, bool, std::vector<int32_t>& ids) const override {
    for (size_t i = 0; i < text.size();) {
      const CodePoint c = decode_utf8(text.data() + i);
      const auto id = find(c.value);
      if (!id) {
        Diagnostic error =
            error_at({}, fmt::format("the text has a character that the character vocabulary lacks, at byte {}", i));
        error.found = fmt::format("U+{:04X}", static_cast<uint32_t>(c.value));
        error.expected = fmt::format("one of its {} characters", characters_.size());
        error.suggestion = "make the vocabulary from all of the text, or use ByteTokenizer";
        throw InputError(error);
      }
      ids.push_back(*id);
      i += static_cast<size_t>(c.num_bytes);
    }
  }
  std::string decode_body(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) append_bytes(id, false, text);
    return text;
  }

 private:
  std::optional<int32_t> find(char32_t c) const {
    const auto at = std::lower_bound(id_of_.begin(), id_of_.end(), std::pair<char32_t, int32_t>{c, 0});
    if (at == id_of_.end() || at->first != c) return std::nullopt;
    return at->second;
  }
  std::vector<char32_t> characters_;
  std::vector<std::pair<char32_t, int32_t>> id_of_;
};

// megatron's NullTokenizer: the text is the ids.
class NullTokenizer final : public Tokenizer {
 public:
  explicit NullTokenizer(int64_t vocab_size) {
    kind_ = "numbers (NullTokenizer)";
    vocab_size_ = vocab_size + 1;
    special_.eod = static_cast<int32_t>(vocab_size);
    boundary_.decided_by = "the kind's rule (it has neither)";
  }
  std::optional<std::string> token_text(int32_t id) const override {
    if (id < 0 || id >= vocab_size_) return std::nullopt;
    return std::to_string(id);
  }
  std::optional<int32_t> token_id(std::string_view text) const override {
    const auto value = parse_int(text);
    if (!value || *value < 0 || *value >= vocab_size_) return std::nullopt;
    return static_cast<int32_t>(*value);
  }
  bool is_special(int32_t id) const override { return id == special_.eod; }
  void append_bytes(int32_t id, bool first, std::string& bytes) const override {
    if (!first) bytes.push_back(' ');
    bytes += std::to_string(id);
  }

 protected:
  void encode_body(std::string_view text, bool, std::vector<int32_t>& ids) const override {
    for (const std::string& word : split_whitespace(text)) {
      const auto id = token_id(word);
      if (!id) {
        Diagnostic error = error_at({}, "NullTokenizer reads token ids, and this word is none");
        error.found = printable_ascii(word);
        error.expected = fmt::format("whole numbers from 0 to {}", vocab_size_ - 1);
        throw InputError(error);
      }
      ids.push_back(*id);
    }
  }
  std::string decode_body(std::span<const int32_t> ids) const override {
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) append_bytes(ids[i], i == 0, text);
    return text;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

std::unique_ptr<Tokenizer> make_null_tokenizer(int64_t vocab_size) {
  return std::make_unique<NullTokenizer>(vocab_size);
}

TokenizerResult read_characters(std::string_view json, const Place& place) {
  Result<Json> parsed = parse_json(json, place.file);
  if (!parsed) return parsed.diagnostics();
  std::vector<char32_t> characters;
  std::set<int64_t> seen;
  for (const Json& item : *parsed) {
    const int64_t code = item.is_number_integer() ? item.get<int64_t>() : -1;
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) || !seen.insert(code).second) {
      Diagnostic error = error_at(place, "the character vocabulary has a bad or repeated entry");
      error.found = item.dump();
      error.expected = "a list of different Unicode code points";
      return error;
    }
    characters.push_back(static_cast<char32_t>(code));
  }
  if (characters.empty()) return error_at(place, "the character vocabulary is empty");
  std::unique_ptr<Tokenizer> result = std::make_unique<CharTokenizer>(std::move(characters));
  return result;
}

std::string characters_json(std::string_view text) {
  std::set<char32_t> seen;
  const std::string good = replace_bad_utf8(text);
  for (const char32_t c : code_points_of(good)) seen.insert(c);
  Json list = Json::array();
  for (const char32_t c : seen) list.push_back(static_cast<uint32_t>(c));
  return dump_json(list) + "\n";
}

}  // namespace primus::tokenizer
