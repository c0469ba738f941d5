#include "primus/tokenizer/bpe_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "primus/base/strings.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

Diagnostic bad_merge(const Place& place, size_t rank, const BpeModel::Pair& pair, const std::string& reason) {
  Diagnostic error = error_at(place, fmt::format("merge {} cannot be applied: {}", rank, reason));
  error.key = "model.merges";
  error.found = fmt::format("'{}' + '{}'", printable_ascii(pair.first), printable_ascii(pair.second));
  error.expected = "two tokens of the vocabulary whose joint text is a token too";
  return error;
}

}  // namespace

void BpeModel::index(std::vector<std::optional<std::string>> texts, BpeOptions options) {
  texts_ = std::move(texts);
  options_ = options;
  id_of_byte_.fill(-1);
  id_of_character_.assign(0x10000, -1);
  ids_.reserve(texts_.size());
  for (size_t id = 0; id < texts_.size(); ++id) {
    if (!texts_[id] || texts_[id]->empty()) continue;
    const std::string& text = *texts_[id];
    const auto value = static_cast<int32_t>(id);
    if (!ids_.emplace(text, value).second) continue;
    if (options_.byte_level) {
      if (text.size() == 1) id_of_byte_[static_cast<unsigned char>(text[0])] = value;
      continue;
    }
    const CodePoint c = decode_utf8(text.data());
    if (static_cast<size_t>(c.num_bytes) != text.size()) continue;
    if (c.value < 0x10000) id_of_character_[c.value] = value;
    if (c.value >= 0x10000) id_of_rare_character_[c.value] = value;
  }
  for (int b = 0; b < 256 && options_.byte_fallback && !options_.byte_level; ++b) {
    id_of_byte_[static_cast<size_t>(b)] = id_of(fmt::format("<0x{:02X}>", b)).value_or(-1);
  }
}

Result<BpeModel> BpeModel::create(std::vector<std::optional<std::string>> texts, const std::vector<Pair>& merges,
                                  BpeOptions options, const Place& place) {
  BpeModel model;
  model.index(std::move(texts), options);
  model.merges_.reserve(merges.size());
  Diagnostics errors;
  std::string joint;
  for (size_t rank = 0; rank < merges.size() && errors.size() < 20; ++rank) {
    const auto& [left, right] = merges[rank];
    const auto left_id = model.id_of(left);
    const auto right_id = model.id_of(right);
    joint.assign(left).append(right);
    const auto result = model.id_of(joint);
    if (!left_id || !right_id) {
      errors.push_back(bad_merge(place, rank, merges[rank],
                                 fmt::format("the {} part is not in the vocabulary", left_id ? "second" : "first")));
    } else if (!result) {
      errors.push_back(bad_merge(place, rank, merges[rank], "its result is not in the vocabulary"));
    } else {
      model.merges_.insert(*left_id, *right_id, {static_cast<uint32_t>(rank), *result});
    }
  }
  if (!errors.empty()) return errors;
  return model;
}

BpeModel BpeModel::from_ranks(std::vector<std::optional<std::string>> texts, const std::vector<uint32_t>& rank_of,
                              BpeOptions options) {
  const size_t num_tokens = texts.size();
  if (!options.byte_level) {
    std::set<std::string, std::less<>> known;
    std::set<std::string, std::less<>> hidden;
    for (size_t id = 0; id < num_tokens; ++id) {
      if (!texts[id] || rank_of[id] == kNoRank) continue;
      for (const char32_t c : code_points_of(*texts[id])) {
        std::string text;
        append_utf8(c, text);
        if (text == *texts[id]) known.insert(text);
        hidden.insert(std::move(text));
      }
    }
    for (const std::string& text : hidden) {
      if (!known.contains(text)) texts.emplace_back(text);
    }
  }
  BpeModel model;
  model.index(std::move(texts), options);
  model.first_hidden_ = static_cast<int32_t>(num_tokens);
  const auto may_be_part = [&](std::string_view text) -> std::optional<int32_t> {
    const auto id = model.id_of(text);
    if (!id || (static_cast<size_t>(*id) < num_tokens && rank_of[static_cast<size_t>(*id)] == kNoRank)) {
      return std::nullopt;
    }
    return id;
  };
  model.merges_.reserve(num_tokens * 3);
  for (size_t id = 0; id < num_tokens; ++id) {
    if (!model.texts_[id] || rank_of[id] == kNoRank) continue;
    const std::string_view text = *model.texts_[id];
    if (model.id_of(text) != static_cast<int32_t>(id)) continue;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (!options.byte_level && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) continue;
      const auto left = may_be_part(text.substr(0, cut));
      const auto right = left ? may_be_part(text.substr(cut)) : std::nullopt;
      if (right) model.merges_.insert(*left, *right, {rank_of[id], static_cast<int32_t>(id)});
    }
  }
  return model;
}

std::optional<int32_t> BpeModel::id_of(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

bool BpeModel::may_cut_before(std::string_view mark) const {
  if (options_.byte_level || options_.ignore_merges || !id_of(mark)) return false;
  bool safe = true;
  merges_.for_each([&](int32_t left, int32_t right, const Merge&) {
    const std::string& left_text = *texts_[static_cast<size_t>(left)];
    const std::string& right_text = *texts_[static_cast<size_t>(right)];
    if (right_text.starts_with(mark) && !left_text.ends_with(mark)) safe = false;
  });
  return safe;
}

std::optional<int32_t> BpeModel::character_id(char32_t c) const {
  if (c < 0x10000) {
    if (id_of_character_[c] < 0) return std::nullopt;
    return id_of_character_[c];
  }
  const auto found = id_of_rare_character_.find(c);
  if (found == id_of_rare_character_.end()) return std::nullopt;
  return found->second;
}

bool BpeModel::append_fallback(std::string_view bytes, std::vector<int32_t>& symbols) const {
  for (const char b : bytes) {
    if (id_of_byte_[static_cast<unsigned char>(b)] < 0) return false;
  }
  for (const char b : bytes) symbols.push_back(id_of_byte_[static_cast<unsigned char>(b)]);
  return true;
}

// A byte without a unit is dropped, as in the reference library.
void BpeModel::byte_units(std::string_view word, std::vector<int32_t>& symbols) const {
  for (const char b : word) {
    const int32_t id = id_of_byte_[static_cast<unsigned char>(b)];
    if (id >= 0) symbols.push_back(id);
  }
}

// The order of an unknown token and byte tokens behind it is the reference library's: the unknown one comes when the
// next known character does.
void BpeModel::character_units(std::string_view word, std::vector<int32_t>& symbols) const {
  bool unknown_waits = false;
  for (size_t i = 0; i < word.size();) {
    const CodePoint c = decode_utf8(word.data() + i);
    const std::string_view bytes = word.substr(i, static_cast<size_t>(c.num_bytes));
    i += bytes.size();
    if (const auto id = character_id(c.value)) {
      if (unknown_waits) symbols.push_back(*options_.unk);
      unknown_waits = false;
      symbols.push_back(*id);
      continue;
    }
    if (options_.byte_fallback && append_fallback(bytes, symbols)) continue;
    if (!options_.unk) continue;
    if (unknown_waits && !options_.fuse_unk) symbols.push_back(*options_.unk);
    unknown_waits = true;
  }
  if (unknown_waits) symbols.push_back(*options_.unk);
}

void BpeModel::resolve_hidden(std::vector<int32_t>& symbols) const {
  std::vector<int32_t> result;
  for (const int32_t symbol : symbols) {
    if (symbol < first_hidden_) {
      result.push_back(symbol);
      continue;
    }
    if (options_.byte_fallback && append_fallback(*texts_[static_cast<size_t>(symbol)], result)) continue;
    const bool again = options_.fuse_unk && !result.empty() && result.back() == options_.unk;
    if (options_.unk && !again) result.push_back(*options_.unk);
  }
  symbols = std::move(result);
}

void BpeModel::encode_new_word(std::string_view word, WordCache& cache, std::vector<int32_t>& ids) const {
  std::vector<int32_t>& symbols = cache.symbols;
  symbols.clear();
  const auto whole = options_.ignore_merges ? id_of(word) : std::nullopt;
  if (whole) {
    symbols.push_back(*whole);
  } else {
    if (options_.byte_level) byte_units(word, symbols);
    if (!options_.byte_level) character_units(word, symbols);
    merge_symbols(merges_, symbols);
    const auto is_hidden = [&](int32_t symbol) { return first_hidden_ >= 0 && symbol >= first_hidden_; };
    if (std::any_of(symbols.begin(), symbols.end(), is_hidden)) resolve_hidden(symbols);
  }
  cache.remember(word, symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

}  // namespace primus::tokenizer
