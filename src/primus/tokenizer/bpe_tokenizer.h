// The tokenizer of tokenizer.json, GPT-2 files, rank files and tekken.json: added tokens, normalizer, words, merges.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/tokenizer/added_tokens.h"
#include "primus/tokenizer/bpe_model.h"
#include "primus/tokenizer/decoder.h"
#include "primus/tokenizer/normalizer.h"
#include "primus/tokenizer/pre_tokenizer.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::tokenizer {

struct BpeParts {
  std::string kind;
  std::vector<std::optional<std::string>> texts;  // of every id, added tokens included, as the file spells them
  std::vector<AddedToken> added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BpeModel model;
  DecoderRule decoder;
  SpecialIds special;
  Boundary boundary;
};

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeParts parts);

  std::optional<std::string> token_text(int32_t id) const override;
  std::optional<int32_t> token_id(std::string_view text) const override;
  bool is_special(int32_t id) const override;
  std::vector<std::string> special_texts() const override;
  void append_bytes(int32_t id, bool first, std::string& bytes) const override;

  // Words of a text as the pre-tokenizer cuts them, in the spelling of the text (for tests and `tokenizer encode`).
  std::vector<std::string> words(std::string_view text) const;
  size_t num_merges() const { return parts_.model.num_merges(); }

 protected:
  void encode_body(std::string_view text, bool allow_special, std::vector<int32_t>& ids) const override;
  std::string decode_body(std::span<const int32_t> ids) const override;

 private:
  void encode_raw(std::string_view text, bool at_start, bool allow_special, WordCache& cache,
                  std::vector<int32_t>& ids) const;
  void encode_normalized(std::string_view text, bool at_start, WordCache& cache, std::vector<int32_t>& ids) const;

  BpeParts parts_;
  Decoder decoder_;
  AddedTokenFinder raw_added_;         // searched in the raw text
  AddedTokenFinder normalized_added_;  // searched in the normalised text
  std::unordered_map<std::string, int32_t> id_of_text_;
  std::vector<bool> is_special_;
  bool cut_at_metaspace_ = false;
  mutable WordCachePool caches_;
};

}  // namespace primus::tokenizer
