// Tokens that are cut out of a text before any merge: special tokens and user-added words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace primus::tokenizer {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // swallows the white space on its left
  bool rstrip = false;       // ... and on its right
  bool normalized = false;   // searched in the normalised text, itself normalised
  bool special = false;
};

// A part of a text: an added token, or text between them (id -1).
struct TextPart {
  size_t begin;
  size_t end;
  int32_t id;
};

// Finds the leftmost, among those the longest, added token, again and again.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  // spellings[i] is what is searched for tokens[i]; empty ones are never found.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& spellings);

  bool empty() const { return tokens_.empty(); }
  // Length of the longest token that text has at this place; 0: none.
  size_t match_at(std::string_view text, size_t at) const {
    size_t length = 0;
    longest_at(text, at, length);
    return length;
  }
  // The parts of text in order; empty text gives none. allow_special false: special tokens are not cut out.
  void split(std::string_view text, bool allow_special, std::vector<TextPart>& parts) const;

 private:
  const AddedToken* longest_at(std::string_view text, size_t at, size_t& length) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::vector<size_t>> lengths_of_first_byte_;  // longest first
  std::vector<bool> first_two_bytes_;                       // which pairs of bytes begin a token
  bool has_one_byte_token_ = false;
};

}  // namespace primus::tokenizer
