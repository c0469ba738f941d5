#include "primus/tokenizer/bpe_train.h"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

#include "primus/base/json.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/tokenizer/added_tokens.h"
#include "primus/tokenizer/unicode.h"
#include "primus/tokenizer/word_rule.h"

namespace primus::tokenizer {

namespace {

using Pair = std::pair<int32_t, int32_t>;
struct PairHash {
  size_t operator()(const Pair& pair) const {
    const auto key =
        static_cast<uint64_t>(static_cast<uint32_t>(pair.first)) << 32 | static_cast<uint32_t>(pair.second);
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 17);
  }
};

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};

struct PairInfo {
  int64_t count = 0;
  std::vector<uint32_t> words;  // where it occurs, ascending, maybe where it occurred once
};

struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

// Pair counts, kept up to date word by word as pairs join.
class Merger {
 public:
  explicit Merger(std::vector<Word> words) : words_(std::move(words)) {
    for (uint32_t w = 0; w < words_.size(); ++w) {
      for (size_t i = 0; i + 1 < words_[w].symbols.size(); ++i) add(pair_at(w, i), words_[w].count, w);
    }
    for (const auto& [pair, info] : pairs_) queue_.push({info.count, pair});
  }

  // The pair that joins next, or nothing when none occurs min_count times.
  std::optional<Pair> next(int64_t min_count) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const int64_t count = pairs_.at(top.pair).count;
      if (count != top.count) {
        if (count > 0) queue_.push({count, top.pair});  // it lost some since it was queued
        continue;
      }
      if (count < min_count) return std::nullopt;
      return top.pair;
    }
    return std::nullopt;
  }

  void join(const Pair& pair, int32_t result) {
    const std::vector<uint32_t> where = std::move(pairs_.at(pair).words);
    changed_.clear();
    for (const uint32_t w : where) join_in_word(w, pair, result);
    pairs_.at(pair) = {};
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair& one : changed_) {
      if (const int64_t count = pairs_.at(one).count; count > 0) queue_.push({count, one});
    }
  }

 private:
  Pair pair_at(uint32_t w, size_t i) const { return {words_[w].symbols[i], words_[w].symbols[i + 1]}; }

  void add(const Pair& pair, int64_t count, uint32_t w) {
    PairInfo& info = pairs_[pair];
    info.count += count;
    if (info.words.empty() || info.words.back() != w) info.words.push_back(w);
  }

  void join_in_word(uint32_t w, const Pair& pair, int32_t result) {
    std::vector<int32_t>& symbols = words_[w].symbols;
    const int64_t count = words_[w].count;
    bool found = false;
    for (size_t i = 0; i + 1 < symbols.size() && !found; ++i) found = pair_at(w, i) == pair;
    if (!found) return;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) pairs_.at(pair_at(w, i)).count -= count;
    size_t kept = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool joins = i + 1 < symbols.size() && pair_at(w, i) == pair;
      symbols[kept++] = joins ? result : symbols[i];
      if (joins) ++i;
    }
    symbols.resize(kept);
    for (size_t i = 0; i + 1 < kept; ++i) {
      const Pair now = pair_at(w, i);
      if (now.first == result || now.second == result) {
        add(now, count, w);
        changed_.push_back(now);
      } else {
        pairs_.at(now).count += count;  // it was there before, so the word is on its list
      }
    }
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, PairInfo, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> changed_;
};

}  // namespace

void BpeTrainer::add(std::string_view text) {
  std::string storage;
  if (valid_utf8_prefix(text) != text.size()) {
    storage = replace_bad_utf8(text);
    text = storage;
  }
  std::vector<AddedToken> special;
  for (const std::string& content : options_.special) special.push_back({.content = content});
  std::vector<TextPart> parts;
  AddedTokenFinder(special, options_.special).split(text, true, parts);
  std::vector<size_t> ends;
  for (const TextPart& part : parts) {
    if (part.id >= 0) continue;
    ends.clear();
    split_words(*known_word_rule("gpt2"), text, part.begin, part.end, ends);
    num_words_ += static_cast<int64_t>(ends.size());
    size_t begin = part.begin;
    for (const size_t end : ends) {
      ++counts_[std::string(text.substr(begin, end - begin))];
      begin = end;
    }
  }
}

Result<TrainedBpe> BpeTrainer::train() const {
  TrainedBpe result{options_.special, {}, num_words_, static_cast<int64_t>(counts_.size())};
  const int64_t num_merges = options_.vocab_size - result.vocab_size();
  if (num_merges < 0) {
    Diagnostic error = error_at({}, "the vocabulary is too small for a byte-level tokenizer");
    error.found = std::to_string(options_.vocab_size);
    error.expected =
        fmt::format("at least {} (256 bytes and {} special tokens)", result.vocab_size(), result.special.size());
    return error;
  }
  // Ids of bytes follow GPT-2's alphabet in code point order, as the tokenizers library numbers them.
  const ByteAlphabet alphabet;
  std::vector<std::pair<char32_t, int>> order;
  for (int b = 0; b < 256; ++b) order.emplace_back(alphabet.character(static_cast<uint8_t>(b)), b);
  std::sort(order.begin(), order.end());
  std::vector<int32_t> id_of_byte(256);
  const auto first = static_cast<int32_t>(result.special.size());
  for (int i = 0; i < 256; ++i) id_of_byte[static_cast<size_t>(order[static_cast<size_t>(i)].second)] = first + i;

  std::vector<std::pair<std::string_view, int64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Word> words;
  words.reserve(sorted.size());
  for (const auto& [text, count] : sorted) {
    Word word{{}, count};
    for (const char c : text) word.symbols.push_back(id_of_byte[static_cast<unsigned char>(c)]);
    if (word.symbols.size() > 1) words.push_back(std::move(word));
  }
  Merger merger(std::move(words));
  Progress progress("joining pairs", options_.show_progress ? num_merges : 0);
  for (int64_t m = 0; m < num_merges; ++m) {
    const auto pair = merger.next(options_.min_count);
    if (!pair) break;
    merger.join(*pair, first + 256 + static_cast<int32_t>(m));
    result.merges.push_back(*pair);
    if (options_.show_progress) progress.update(m + 1);
  }
  return result;
}

std::string TrainedBpe::to_json() const {
  const ByteAlphabet alphabet;
  std::vector<std::string> texts = special;
  std::vector<std::pair<char32_t, int>> order;
  for (int b = 0; b < 256; ++b) order.emplace_back(alphabet.character(static_cast<uint8_t>(b)), b);
  std::sort(order.begin(), order.end());
  for (const auto& [character, byte] : order)
    texts.push_back(alphabet.to_token(std::string(1, static_cast<char>(byte))));
  for (const auto& [left, right] : merges) {
    texts.push_back(texts[static_cast<size_t>(left)] + texts[static_cast<size_t>(right)]);
  }
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };
  std::string json = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
  for (size_t id = 0; id < special.size(); ++id) {
    json += fmt::format(
        "{}\n    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
        "\"normalized\": false, \"special\": true}}",
        id == 0 ? "" : ",", id, quoted(special[id]));
  }
  json +=
      "\n  ],\n  \"normalizer\": null,\n  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
      "\"trim_offsets\": true, \"use_regex\": true},\n  \"post_processor\": null,\n  \"decoder\": {\"type\": "
      "\"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true},\n  \"model\": {\n    "
      "\"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n    \"continuing_subword_prefix\": null,"
      "\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    "
      "\"ignore_merges\": false,\n    \"vocab\": {";
  for (size_t id = 0; id < texts.size(); ++id) {
    json += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", quoted(texts[id]), id);
  }
  json += "\n    },\n    \"merges\": [";
  for (size_t m = 0; m < merges.size(); ++m) {
    const auto& [left, right] = merges[m];
    json += fmt::format("{}\n      [{}, {}]", m == 0 ? "" : ",", quoted(texts[static_cast<size_t>(left)]),
                        quoted(texts[static_cast<size_t>(right)]));
  }
  return json + "\n    ]\n  }\n}\n";
}

}  // namespace primus::tokenizer
