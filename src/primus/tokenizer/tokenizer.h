// One interface over every kind of tokenizer: text to token ids and back. Loading is in find.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primus::tokenizer {

struct EncodeOptions {
  bool add_bos = false;       // put boundary().before in front (the file's own beginning, else the bos id)
  bool add_eos = false;       // put boundary().after behind (the file's own end, else the eos id)
  bool allow_special = true;  // false: the spelling of a special token in the text is plain text
};

struct DecodeOptions {
  bool skip_special = false;  // leave special tokens out of the text
};

// Ids with a meaning. eod separates documents in training data: the end-of-text token where a tokenizer has no own one.
struct SpecialIds {
  std::optional<int32_t> bos;
  std::optional<int32_t> eos;
  std::optional<int32_t> pad;
  std::optional<int32_t> eod;
  std::optional<int32_t> unk;
};

// What stands around one text, and whether the reference library puts it there when nothing is asked for.
struct Boundary {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
  bool before_by_default = false;
  bool after_by_default = false;
  std::string decided_by;  // the file and key that said so: "tokenizer_config.json (add_bos_token)"
};

// Threads: every const function may be called from many threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Invalid UTF-8 is read as U+FFFD, one a maximal bad part, by every kind but bytes.
  // Errors: InputError when the text cannot be said in this vocabulary (characters, numbers).
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // The same, appended to ids.
  void encode_to(std::string_view text, const EncodeOptions& options, std::vector<int32_t>& ids) const;
  // encode with what the tokenizer's own files put around a text (add_special_tokens=True of the reference libraries).
  std::vector<int32_t> encode_as_file(std::string_view text) const;

  // Errors: InputError when an id is outside 0 .. vocab_size() - 1. An id inside that no token has is left out.
  std::string decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // Highest id + 1: the least number of rows of an embedding table.
  int64_t vocab_size() const { return vocab_size_; }
  const SpecialIds& special() const { return special_; }
  const Boundary& boundary() const { return boundary_; }
  // "byte-level BPE", "SentencePiece unigram", ...
  const std::string& kind() const { return kind_; }
  // The file or folder that it was read from; empty for the kinds that need none.
  const std::string& source() const { return source_; }
  // For loaders, when files beside the vocabulary say more (tokenizer_config.json).
  void set_source(std::string source) { source_ = std::move(source); }
  void set_special(SpecialIds special) { special_ = special; }
  void set_boundary(Boundary boundary) { boundary_ = std::move(boundary); }
  // Several lines for people: kind, source, sizes, special ids, and which file decided begin and end.
  std::string describe() const;

  // The token as its file spells it; nothing for an id without a token.
  virtual std::optional<std::string> token_text(int32_t id) const = 0;
  virtual std::optional<int32_t> token_id(std::string_view text) const = 0;
  virtual bool is_special(int32_t id) const = 0;
  // Spellings that encode cuts out of a text as special tokens.
  virtual std::vector<std::string> special_texts() const { return {}; }

  // The bytes that this id adds to a decoded text, for streaming. first: nothing was decoded before it.
  virtual void append_bytes(int32_t id, bool first, std::string& bytes) const = 0;

 protected:
  virtual void encode_body(std::string_view text, bool allow_special, std::vector<int32_t>& ids) const = 0;
  virtual std::string decode_body(std::span<const int32_t> ids) const = 0;
  virtual bool takes_any_bytes() const { return false; }

  int64_t vocab_size_ = 0;
  SpecialIds special_;
  Boundary boundary_;
  std::string kind_;
  std::string source_;
};

// Turns ids that arrive one by one into text that never holds half a UTF-8 sequence.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {})
      : tokenizer_(tokenizer), options_(options) {}

  // The text that became certain with this id; may be empty. Bytes that can never be UTF-8 become U+FFFD.
  std::string push(int32_t id);
  // What is left: an unfinished sequence becomes one U+FFFD.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  DecodeOptions options_;
  std::string pending_;
  bool first_ = true;
};

// Encodes many texts on num_threads threads (0: one a core). ids[i] belongs to texts[i]. The first error is rethrown.
std::vector<std::vector<int32_t>> encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts,
                                               const EncodeOptions& options, int num_threads);

}  // namespace primus::tokenizer
