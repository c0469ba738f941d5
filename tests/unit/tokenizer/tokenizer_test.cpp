// The kinds without files, streaming, and words as pre-tokenizers cut them.
#include "primus/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/base/error.h"
#include "primus/tokenizer/bpe_tokenizer.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

std::string error_of(const TokenizerResult& result) {
  return result.ok() ? "no error" : render(result.diagnostics());
}

TEST(ByteTokenizer, ReadsEveryByteEvenInvalidUtf8) {
  const auto tokenizer = make_byte_tokenizer();
  const std::string text("a\xFF\0\xC3", 4);
  EXPECT_EQ(tokenizer->encode(text), (Ids{97, 255, 0, 195}));
  EXPECT_EQ(tokenizer->decode(Ids{97, 255, 0, 195}), text);
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_EQ(tokenizer->special().eod, 256);
  EXPECT_EQ(tokenizer->encode("x", {.add_bos = true, .add_eos = true}), (Ids{256, 120, 256}));
}

TEST(NullTokenizer, TakesNumbersAsIdsAndHasOneMoreThanAsked) {
  const auto tokenizer = make_null_tokenizer(41);
  EXPECT_EQ(tokenizer->vocab_size(), 42);
  EXPECT_EQ(tokenizer->special().eod, 41);
  EXPECT_EQ(tokenizer->encode("1  2\n41"), (Ids{1, 2, 41}));
  EXPECT_EQ(tokenizer->decode(Ids{1, 2, 41}), "1 2 41");
  for (const char* bad : {"42", "-1", "1.5", "x", "99999999999999999999"})
    EXPECT_THROW(tokenizer->encode(bad), InputError) << bad;
}

TEST(CharTokenizer, NumbersCharactersInFileOrderAndNamesTheOneItLacks) {
  const std::string json = characters_json("hello \xC3\xA9\n");
  EXPECT_EQ(json, "[10,32,101,104,108,111,233]\n");
  const auto tokenizer = value_or_throw(read_characters(json, {"c.json"}));
  EXPECT_EQ(tokenizer->encode("ho\xC3\xA9"), (Ids{3, 5, 6}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 5, 6}), "ho\xC3\xA9");
  try {
    tokenizer->encode("hex");
    FAIL() << "x is not in the list";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("U+0078"));
  }
  EXPECT_THAT(error_of(read_characters("[65, 66, 65]", {"c.json"})), HasSubstr("65"));
  EXPECT_THAT(error_of(read_characters("[55296]", {"c.json"})), HasSubstr("55296"));
  EXPECT_THAT(error_of(read_characters("[]", {"c.json"})), HasSubstr("empty"));
}

TEST(Tokenizer, RefusesIdsOutsideItsVocabulary) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_THROW(tokenizer->decode(Ids{0, 257}), InputError);
  EXPECT_THROW(tokenizer->decode(Ids{-1}), InputError);
  EXPECT_THROW(StreamDecoder(*tokenizer).push(1000), InputError);
}

TEST(StreamDecoder, HoldsBackHalfACharacter) {
  const auto tokenizer = make_byte_tokenizer();
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(stream.push(0xE4), "");
  EXPECT_EQ(stream.push(0xBD), "");
  EXPECT_EQ(stream.push(0xA0), "\xE4\xBD\xA0");
  EXPECT_EQ(stream.push(0xC3), "");
  EXPECT_EQ(stream.push('x'), "\xEF\xBF\xBDx") << "a lead byte without its second byte";
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8, ReplacesEveryMaximalBadPartOnce) {
  EXPECT_EQ(replace_bad_utf8("a\xF0\x9F\x99z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(replace_bad_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
  EXPECT_EQ(replace_bad_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong slash";
  EXPECT_EQ(valid_utf8_prefix("abcdefghij\xE2\x82"), 10U);
}

TEST(ByteAlphabet, IsTheOneOfGpt2) {
  const ByteAlphabet alphabet;
  EXPECT_EQ(alphabet.to_token(" \n!"), "\xC4\xA0\xC4\x8A!");
  std::string bytes;
  for (int b = 0; b < 256; ++b) {
    const std::string one(1, static_cast<char>(b));
    ASSERT_TRUE(alphabet.to_bytes(alphabet.to_token(one), bytes));
    ASSERT_EQ(bytes, one);
  }
  EXPECT_FALSE(alphabet.to_bytes(" ", bytes)) << "a blank stands for no byte";
}

// A tokenizer of single letters whose words are looked at.
std::vector<std::string> words_of(const std::string& pre_tokenizer, const std::string& text) {
  const std::string json =
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": )" + pre_tokenizer + "}";
  const auto tokenizer = value_or_throw(read_tokenizer_json(json, {"words.json"}));
  return dynamic_cast<const BpeTokenizer&>(*tokenizer).words(text);
}

TEST(PreTokenizer, UsesTheFilesOwnPatternBeforeByteLevel) {  // B063
  EXPECT_THAT(words_of(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\d{1,3}"}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})",
                       "12345 67"),
              ElementsAre("123", "45", " ", "67"));
  EXPECT_THAT(words_of(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})", "12345 67"),
              ElementsAre("12345", " 67"));
}

TEST(PreTokenizer, TakesAStringPatternLiterally) {  // B065
  const std::string head = R"({"type": "Split", "behavior": "Removed", "invert": false, "pattern": )";
  EXPECT_THAT(words_of(head + R"({"String": "."}})", "a.b"), ElementsAre("a", "b"));
  EXPECT_THAT(words_of(head + R"({"Regex": "."}})", "a.b"), ElementsAre());
}

TEST(PreTokenizer, ReadsSpacesAsUnicodeDoes) {
  const std::string split =
      R"({"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": "\\s+"}})";
  EXPECT_THAT(words_of(split,
                       "a\xC2\xA0\xE3\x80\x80"
                       "b"),
              ElementsAre("a", "\xC2\xA0\xE3\x80\x80", "b"));
  EXPECT_THAT(words_of(split,
                       "a\xE1\xA0\x8E"
                       "b"),
              ElementsAre("a\xE1\xA0\x8E"
                          "b"))
      << "U+180E is no white space";
}

}  // namespace
}  // namespace primus::tokenizer
