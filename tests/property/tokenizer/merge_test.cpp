// Merging and round trips over random vocabularies and texts, against slow plain versions.
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <random>

#include "primus/base/error.h"
#include "primus/tokenizer/bpe_train.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/merge_table.h"

namespace primus::tokenizer {
namespace {

using Rules = std::map<std::pair<int32_t, int32_t>, Merge>;

// Look for the lowest rank from the left, join it, start again.
std::vector<int32_t> merge_slowly(const Rules& rules, std::vector<int32_t> symbols) {
  while (true) {
    std::optional<size_t> best;
    Merge best_merge{};
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = rules.find({symbols[i], symbols[i + 1]});
      if (found == rules.end() || (best && found->second.rank >= best_merge.rank)) continue;
      best = i;
      best_merge = found->second;
    }
    if (!best) return symbols;
    symbols[*best] = best_merge.result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

TEST(MergeSymbols, JoinsAsThePlainLoopDoesInShortAndLongWords) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    Rules rules;
    MergeTable table;
    const int num_rules = 1 + static_cast<int>(random() % 12);
    for (int32_t m = 0; m < num_rules; ++m) {
      const auto left = static_cast<int32_t>(random() % (3 + static_cast<unsigned>(m)));
      const auto right = static_cast<int32_t>(random() % (3 + static_cast<unsigned>(m)));
      const Merge merge{static_cast<uint32_t>(random() % 6), 3 + m};  // equal ranks on purpose
      rules[{left, right}] = merge;
      table.insert(left, right, merge);
    }
    EXPECT_EQ(table.size(), rules.size());
    std::vector<int32_t> symbols(random() % 150);
    for (int32_t& symbol : symbols) symbol = static_cast<int32_t>(random() % 3);
    std::vector<int32_t> fast = symbols;
    merge_symbols(table, fast);
    ASSERT_EQ(fast, merge_slowly(rules, symbols)) << "length " << symbols.size();
  }
}

std::unique_ptr<Tokenizer> trained() {
  BpeTrainer trainer({.vocab_size = 330, .show_progress = false});
  trainer.add(
      "the cat and the hat and the rat \xC3\xA9t\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD \xE4\xBD\xA0 12 12 123 the the and "
      "and");
  return value_or_throw(read_tokenizer_json(value_or_throw(trainer.train()).to_json(), {"trained"}));
}

TEST(ByteLevelTokenizer, GivesBackEveryValidText) {
  const auto tokenizer = trained();
  std::mt19937 random(6);
  const std::vector<std::string> parts = {"the", " ",   "\n", "\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\x99\x82",
                                          "'s",  "\0x", "1",  "-",        "zz",           "and"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) text += parts[random() % parts.size()];
    const std::vector<int32_t> ids = tokenizer->encode(text);
    ASSERT_EQ(tokenizer->decode(ids), text);
    StreamDecoder stream(*tokenizer);
    std::string streamed;
    for (const int32_t id : ids) streamed += stream.push(id);
    ASSERT_EQ(streamed + stream.finish(), text);
  }
}

TEST(EncodeBatch, GivesTheSameIdsOnAnyNumberOfThreads) {
  const auto tokenizer = trained();
  std::mt19937 random(7);
  std::vector<std::string> texts(200);
  for (std::string& text : texts) {
    for (size_t n = random() % 50; n > 0; --n) text += "the cat \xC3\xA9 and 12 "[random() % 17];
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<std::vector<int32_t>> one_by_one;
  for (const std::string& text : texts) one_by_one.push_back(tokenizer->encode(text));
  for (const int num_threads : {0, 1, 2, 5}) EXPECT_EQ(encode_batch(*tokenizer, views, {}, num_threads), one_by_one);
}

TEST(Readers, NeverCrashOnDamagedFiles) {
  const std::string good = [] {
    BpeTrainer trainer({.vocab_size = 262, .show_progress = false});
    trainer.add("aaaa bbbb aaaa bbbb");
    return value_or_throw(trainer.train()).to_json();
  }();
  std::mt19937 random(8);
  for (int round = 0; round < 1500; ++round) {
    std::string bad = good;
    for (size_t n = 1 + random() % 4; n > 0; --n) bad[random() % bad.size()] = "{}[]\",:0x\xFF n"[random() % 12];
    if (random() % 3 == 0) bad.resize(random() % bad.size());
    const auto results = {read_tokenizer_json(bad, {"bad"}), read_sentencepiece(bad, {"bad"}),
                          read_tekken(bad, {"bad"}), read_rank_file(bad, "gpt2", {"bad"}),
                          read_characters(bad, {"bad"})};
    for (const auto& result : results) {
      EXPECT_TRUE(result.ok() || has_errors(result.diagnostics()));
    }
    std::string noise(random() % 60, ' ');
    for (char& c : noise) c = static_cast<char>(random() % 256);
    EXPECT_FALSE(read_sentencepiece(noise, {"noise"}).ok());
  }
}

}  // namespace
}  // namespace primus::tokenizer
