// Byte pair encoding of one word: units (bytes or characters), then merges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "primus/base/result.h"
#include "primus/tokenizer/merge_table.h"
#include "primus/tokenizer/word_cache.h"

namespace primus::tokenizer {

struct BpeOptions {
  bool byte_level = false;     // units are bytes; else characters
  bool byte_fallback = false;  // a character without a token becomes the tokens <0xNN> of its bytes
  bool fuse_unk = false;       // neighbouring unknown characters are one unknown token
  bool ignore_merges = false;  // a whole word that is a token is taken at once
  std::optional<int32_t> unk;
};

class BpeModel {
 public:
  using Pair = std::pair<std::string, std::string>;

  // texts[id]: what the token stands for (bytes when byte_level, else its own spelling), nothing for an id without a
  // token. merges: in order of rank, as texts. Errors: every merge with an unknown part or an unknown result, named.
  static Result<BpeModel> create(std::vector<std::optional<std::string>> texts, const std::vector<Pair>& merges,
                                 BpeOptions options, const Place& place);
  // Merges that follow from ranks: any two tokens whose joint text is a token join, lowest rank first. rank_of[id] is
  // the rank of a token as a result; joint texts of unranked tokens (kNoRank) never arise. Characters that occur in
  // tokens but are none themselves get ids from texts.size() on, which encode turns into unknown ones at the end.
  static constexpr uint32_t kNoRank = 0xFFFFFFFF;
  static BpeModel from_ranks(std::vector<std::optional<std::string>> texts, const std::vector<uint32_t>& rank_of,
                             BpeOptions options);

  // Appends the ids of one word (valid UTF-8 unless byte_level).
  void encode_word(std::string_view word, WordCache& cache, std::vector<int32_t>& ids) const {
    if (!cache.append(word, ids)) encode_new_word(word, cache, ids);
  }

  BpeModel(BpeModel&&) = default;
  BpeModel& operator=(BpeModel&&) = default;
  BpeModel(const BpeModel&) = delete;  // ids_ points into texts_
  BpeModel& operator=(const BpeModel&) = delete;

  std::optional<int32_t> id_of(std::string_view text) const;
  // True when no merge joins text that ends without mark to text that begins with it: then a text may be cut in front
  // of every mark (after anything else) without changing its ids.
  bool may_cut_before(std::string_view mark) const;
  size_t num_merges() const { return merges_.size(); }

 private:
  BpeModel() = default;
  void index(std::vector<std::optional<std::string>> texts, BpeOptions options);
  void encode_new_word(std::string_view word, WordCache& cache, std::vector<int32_t>& ids) const;
  void byte_units(std::string_view word, std::vector<int32_t>& symbols) const;
  void character_units(std::string_view word, std::vector<int32_t>& symbols) const;
  void resolve_hidden(std::vector<int32_t>& symbols) const;
  std::optional<int32_t> character_id(char32_t character) const;
  bool append_fallback(std::string_view bytes, std::vector<int32_t>& symbols) const;

  std::vector<std::optional<std::string>> texts_;
  std::unordered_map<std::string_view, int32_t> ids_;  // views into texts_
  MergeTable merges_;
  BpeOptions options_;
  std::array<int32_t, 256> id_of_byte_{};  // unit of a byte, or the <0xNN> token; -1: none
  std::vector<int32_t> id_of_character_;   // Basic Multilingual Plane; -1: none
  std::unordered_map<char32_t, int32_t> id_of_rare_character_;
  int32_t first_hidden_ = -1;  // ids from here on are characters without a token
};

}  // namespace primus::tokenizer
