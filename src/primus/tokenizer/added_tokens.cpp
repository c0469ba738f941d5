#include "primus/tokenizer/added_tokens.h"

#include <algorithm>

#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

size_t pair_index(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<unsigned char>(text[at])) << 8 | static_cast<unsigned char>(text[at + 1]);
}

size_t start_of_last(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

uint8_t first_class(std::string_view text) {
  return text.empty() ? 0 : CharClasses::get().of(decode_utf8(text.data()).value);
}
uint8_t last_class(std::string_view text) {
  return text.empty() ? 0 : CharClasses::get().of(decode_utf8(text.data() + start_of_last(text)).value);
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& spellings)
    : tokens_(std::move(tokens)), lengths_of_first_byte_(256), first_two_bytes_(65536) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& text = spellings[i];
    if (text.empty()) continue;
    index_.insert_or_assign(text, i);
    lengths_of_first_byte_[static_cast<unsigned char>(text[0])].push_back(text.size());
    if (text.size() == 1) has_one_byte_token_ = true;
    if (text.size() > 1) first_two_bytes_[pair_index(text, 0)] = true;
  }
  for (std::vector<size_t>& lengths : lengths_of_first_byte_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, size_t at, size_t& length) const {
  if (!has_one_byte_token_ && (at + 1 >= text.size() || !first_two_bytes_[pair_index(text, at)])) return nullptr;
  for (const size_t candidate : lengths_of_first_byte_[static_cast<unsigned char>(text[at])]) {
    if (at + candidate > text.size()) continue;
    const auto found = index_.find(std::string(text.substr(at, candidate)));
    if (found == index_.end()) continue;
    length = candidate;
    return &tokens_[found->second];
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text, bool allow_special, std::vector<TextPart>& parts) const {
  size_t open = 0;  // start of the text that no part covers yet
  for (size_t at = 0; at < text.size() && !index_.empty();) {
    size_t length = 0;
    const AddedToken* token = longest_at(text, at, length);
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + length;
    at = end;
    if (!allow_special && token->special) continue;
    if (token->single_word && ((last_class(text.substr(0, begin)) | first_class(text.substr(end))) & kWord)) continue;
    while (token->lstrip && begin > open && (last_class(text.substr(0, begin)) & kSpace)) {
      begin = start_of_last(text.substr(0, begin));
    }
    while (token->rstrip && (first_class(text.substr(end)) & kSpace)) {
      end += static_cast<size_t>(decode_utf8(text.data() + end).num_bytes);
    }
    if (open < begin) parts.push_back({open, begin, -1});
    parts.push_back({begin, end, token->id});
    open = end;
  }
  if (open < text.size()) parts.push_back({open, text.size(), -1});
}

}  // namespace primus::tokenizer
