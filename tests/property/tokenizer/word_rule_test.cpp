// The hand-written splitters against PCRE2 on the pattern itself, over random texts of every kind of character.
#include "primus/tokenizer/word_rule.h"

#include <gtest/gtest.h>
#include <random>
#include <unicode/uchar.h>

#include "primus/tokenizer/regex.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {
namespace {

// The two libraries know different Unicode versions: only characters of version 13 and before are drawn.
bool both_know(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && age[0] <= 13 && c != 0xFFFE && !(c >= 0xD800 && c <= 0xDFFF);
}

std::string random_text(std::mt19937& random) {
  static const std::u32string likely =
      U"aaabcdefghijstuvxzABCSTMZ0123456789     "
      U"\n\n\r\t'''.,!?/\\-_*#\"\u00A0\u3000\u2028\u0085\u180E\u200B\u200D\u017F\u212A"
      U"\u00E9\u00DF\u0301\u0308\u0640\u01C5\u02B0\u4F60\u597D\u3042\uAC00\u00BD\u2460\u0661\u216B\u20AC\u1F600\uFE0F";
  std::string text;
  const size_t length = random() % 24;
  while (text.size() < length) {
    switch (random() % 8) {
      case 0: {
        const char32_t c = random() % (random() % 4 ? 0x3000 : 0x20000);
        if (both_know(c)) append_utf8(c, text);
        break;
      }
      case 1:
        text += (const char*[]){"'s", "'LL", "'re", " 'Ve", "\r\n", "  \n ", "123", "'\xC5\xBF"}[random() % 8];
        break;
      default:
        append_utf8(likely[random() % likely.size()], text);
    }
  }
  return text;
}

class WordRules : public ::testing::TestWithParam<std::string> {};

TEST_P(WordRules, CutWhereTheirPatternMatches) {
  const std::string pattern = *named_pattern(GetParam());
  const WordRule rule = *known_word_rule(GetParam());
  const Regex regex = std::move(Regex::compile(pattern, {})).value();
  std::mt19937 random(20240607);
  for (int round = 0; round < 40000; ++round) {
    const std::string text = random_text(random);
    std::vector<ByteRange> matches;
    regex.find_all(text, matches);
    std::vector<size_t> wanted;
    size_t at = 0;
    for (const auto& [begin, end] : matches) {
      ASSERT_EQ(begin, at) << "the pattern leaves a gap in " << testing::PrintToString(text);
      wanted.push_back(end);
      at = end;
    }
    ASSERT_EQ(at, text.size());
    std::vector<size_t> ends;
    split_words(rule, text, 0, text.size(), ends);
    ASSERT_EQ(ends, wanted) << testing::PrintToString(text);
  }
}

TEST_P(WordRules, SeeTheEndOfAPieceAsTheEndOfTheText) {
  const WordRule rule = *known_word_rule(GetParam());
  std::mt19937 random(77);
  for (int round = 0; round < 5000; ++round) {
    const std::string before = random_text(random);
    const std::string text = random_text(random);
    const std::string whole = before + text + random_text(random);
    std::vector<size_t> alone;
    std::vector<size_t> inside;
    split_words(rule, text, 0, text.size(), alone);
    split_words(rule, whole, before.size(), before.size() + text.size(), inside);
    for (size_t& end : inside) end -= before.size();
    ASSERT_EQ(inside, alone) << testing::PrintToString(whole);
  }
}

TEST_P(WordRules, AgreeOnEveryCharacterBetweenTwoLetters) {
  const WordRule rule = *known_word_rule(GetParam());
  const Regex regex = std::move(Regex::compile(*named_pattern(GetParam()), {})).value();
  for (char32_t c = 1; c < 0x11000; ++c) {
    if (!both_know(c)) continue;
    std::string text = "a";
    append_utf8(c, text);
    text += "B ";
    append_utf8(c, text);
    std::vector<ByteRange> matches;
    regex.find_all(text, matches);
    std::vector<size_t> ends;
    split_words(rule, text, 0, text.size(), ends);
    ASSERT_EQ(ends.size(), matches.size()) << "U+" << std::hex << static_cast<uint32_t>(c);
    for (size_t i = 0; i < ends.size(); ++i)
      ASSERT_EQ(ends[i], matches[i].second) << "U+" << std::hex << static_cast<uint32_t>(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Known, WordRules, ::testing::ValuesIn(pattern_names()),
                         [](const auto& test) { return test.param; });

TEST(WordRules, KnowEverySpellingOfAPattern) {
  EXPECT_TRUE(known_word_rule(R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"));
  EXPECT_FALSE(known_word_rule(R"(\p{L}+)"));
}

}  // namespace
}  // namespace primus::tokenizer
