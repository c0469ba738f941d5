#include "primus/tokenizer/bpe_tokenizer.h"

#include <algorithm>

namespace primus::tokenizer {

namespace {

constexpr std::string_view kMetaspace = "\xE2\x96\x81";

// The next place behind at where a metaspace follows something else.
size_t next_cut(std::string_view text, size_t at) {
  size_t hit = text.find(kMetaspace, at + 1);
  while (hit != text.npos && hit >= 3 && text.substr(hit - 3, 3) == kMetaspace) hit = text.find(kMetaspace, hit + 1);
  return hit == text.npos ? text.size() : hit;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeParts parts) : parts_(std::move(parts)) {
  kind_ = parts_.kind;
  special_ = parts_.special;
  boundary_ = parts_.boundary;
  vocab_size_ = static_cast<int64_t>(parts_.texts.size());
  is_special_.resize(parts_.texts.size());
  for (size_t id = 0; id < parts_.texts.size(); ++id) {
    if (parts_.texts[id]) id_of_text_.emplace(*parts_.texts[id], static_cast<int32_t>(id));
  }
  // Ids whose token was searched in normalised text decode to that text, as in the reference library.
  std::vector<std::optional<std::string>> decoded = parts_.texts;
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  std::vector<std::string> raw_texts;
  std::vector<std::string> normalized_texts;
  for (const AddedToken& token : parts_.added) {
    if (token.special) is_special_[static_cast<size_t>(token.id)] = true;
    (token.normalized ? normalized : raw).push_back(token);
    (token.normalized ? normalized_texts : raw_texts)
        .push_back(token.normalized ? parts_.normalizer.apply(token.content) : token.content);
    if (token.normalized) decoded[static_cast<size_t>(token.id)] = normalized_texts.back();
  }
  decoder_ = Decoder(parts_.decoder, decoded);
  raw_added_ = AddedTokenFinder(std::move(raw), raw_texts);
  normalized_added_ = AddedTokenFinder(std::move(normalized), normalized_texts);
  const bool whole_text_is_one_word = parts_.pre_tokenizer.stages.empty() && !parts_.pre_tokenizer.byte_level;
  cut_at_metaspace_ = whole_text_is_one_word && parts_.model.may_cut_before(kMetaspace);
}

std::optional<std::string> BpeTokenizer::token_text(int32_t id) const {
  if (id < 0 || id >= vocab_size_) return std::nullopt;
  return parts_.texts[static_cast<size_t>(id)];
}

std::optional<int32_t> BpeTokenizer::token_id(std::string_view text) const {
  const auto found = id_of_text_.find(std::string(text));
  if (found == id_of_text_.end()) return std::nullopt;
  return found->second;
}

bool BpeTokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocab_size_ && is_special_[static_cast<size_t>(id)];
}

std::vector<std::string> BpeTokenizer::special_texts() const {
  std::vector<std::string> texts;
  for (const AddedToken& token : parts_.added) {
    if (token.special) texts.push_back(token.content);
  }
  return texts;
}

void BpeTokenizer::append_bytes(int32_t id, bool first, std::string& bytes) const {
  decoder_.append_bytes(id, first, bytes);
}

std::string BpeTokenizer::decode_body(std::span<const int32_t> ids) const {
  return decoder_.decode(ids);
}

std::vector<std::string> BpeTokenizer::words(std::string_view text) const {
  const std::string normalized = parts_.normalizer.apply(text);
  Words words(normalized, true);
  parts_.pre_tokenizer.apply(words);
  std::vector<std::string> result;
  size_t begin = 0;
  for (const size_t end : words.ends()) {
    result.emplace_back(words.text().substr(begin, end - begin));
    begin = end;
  }
  return result;
}

void BpeTokenizer::encode_body(std::string_view text, bool allow_special, std::vector<int32_t>& ids) const {
  const WordCachePool::Lease lease(caches_);
  if (raw_added_.empty()) return encode_raw(text, true, allow_special, *lease, ids);
  std::vector<TextPart> parts;
  raw_added_.split(text, allow_special, parts);
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      encode_raw(text.substr(part.begin, part.end - part.begin), part.begin == 0, allow_special, *lease, ids);
    }
  }
}

void BpeTokenizer::encode_raw(std::string_view text, bool at_start, bool allow_special, WordCache& cache,
                              std::vector<int32_t>& ids) const {
  std::string storage;
  if (!parts_.normalizer.steps.empty()) {
    storage = parts_.normalizer.apply(text);
    text = storage;
  }
  if (normalized_added_.empty()) return encode_normalized(text, at_start, cache, ids);
  std::vector<TextPart> parts;
  normalized_added_.split(text, allow_special, parts);
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      const std::string_view between = text.substr(part.begin, part.end - part.begin);
      encode_normalized(between, at_start && part.begin == 0, cache, ids);
    }
  }
}

void BpeTokenizer::encode_normalized(std::string_view text, bool at_start, WordCache& cache,
                                     std::vector<int32_t>& ids) const {
  if (cut_at_metaspace_) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = next_cut(text, at);
      parts_.model.encode_word(text.substr(at, end - at), cache, ids);
      at = end;
    }
    return;
  }
  Words words(text, at_start);
  parts_.pre_tokenizer.apply(words);
  ids.reserve(ids.size() + words.ends().size() + words.ends().size() / 4);
  size_t begin = 0;
  for (const size_t end : words.ends()) {
    parts_.model.encode_word(words.text().substr(begin, end - begin), cache, ids);
    begin = end;
  }
}

}  // namespace primus::tokenizer
