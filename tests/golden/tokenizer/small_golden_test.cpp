// Ids, special-token rules and decoded text of small tokenizer.json files against the tokenizers library.
// Made by make_small.py (tokenizers 0.23.3).
#include "golden_files.h"

#include "primus/tokenizer/load.h"

namespace primus::tokenizer {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> result;
  const Json& golden = read_golden("small_goldens.json");
  for (const auto& [name, rows] : golden["files"].items()) result.push_back(name);
  return result;
}

class SmallTokenizer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const fs::path path = golden_folder() / "small" / (GetParam() + ".json");
    tokenizer = value_or_throw(read_tokenizer_json(value_or_throw(read_text_file(path)), {path.string()}));
    ASSERT_EQ(golden["files"][GetParam()].size(), golden["texts"].size());
  }
  std::string text(size_t i) const { return golden["texts"][i]; }
  const Json& row(size_t i) const { return golden["files"][GetParam()][i]; }
  size_t num_texts() const { return golden["texts"].size(); }

  std::unique_ptr<Tokenizer> tokenizer;
  const Json& golden = read_golden("small_goldens.json");
};

// Cases B058 (files added and added_prepend: added tokens before and after the normaliser) and B059 (llama2 and
// metaspace_*: the blank in front of a text, and behind special tokens) are among them.
TEST_P(SmallTokenizer, GivesTheIdsOfTheReferenceLibrary) {
  for (size_t i = 0; i < num_texts(); ++i)
    EXPECT_EQ(tokenizer->encode(text(i)), ids_of(row(i)["ids"])) << Json(text(i));
}

TEST_P(SmallTokenizer, GivesTheSameIdsFromItsCache) {
  for (size_t i = 0; i < num_texts(); ++i) tokenizer->encode(text(i));
  for (size_t i = 0; i < num_texts(); ++i)
    EXPECT_EQ(tokenizer->encode(text(i)), ids_of(row(i)["ids"])) << Json(text(i));
}

TEST_P(SmallTokenizer, PutsBeginAndEndWhereItsFileSays) {
  for (size_t i = 0; i < num_texts(); ++i) {
    const char* key = row(i).contains("as_file") ? "as_file" : "ids";
    EXPECT_EQ(tokenizer->encode_as_file(text(i)), ids_of(row(i)[key])) << Json(text(i));
  }
}

TEST_P(SmallTokenizer, ReadsSpecialSpellingsAsTextWhenAsked) {
  for (size_t i = 0; i < num_texts(); ++i) {
    const char* key = row(i).contains("literal") ? "literal" : "ids";
    EXPECT_EQ(tokenizer->encode(text(i), {.allow_special = false}), ids_of(row(i)[key])) << Json(text(i));
  }
}

TEST_P(SmallTokenizer, DecodesToTheTextOfTheReferenceLibrary) {
  for (size_t i = 0; i < num_texts(); ++i) {
    EXPECT_EQ(tokenizer->decode(ids_of(row(i)["ids"])), row(i)["decoded"].get<std::string>()) << Json(text(i));
  }
}

TEST_P(SmallTokenizer, StreamsTheSameTextInWholeCharacters) {
  for (size_t i = 0; i < num_texts(); ++i) {
    const std::string whole = row(i)["decoded"];
    if (whole.find("\xEF\xBF\xBD") != std::string::npos) continue;
    StreamDecoder stream(*tokenizer);
    std::string text_so_far;
    for (const int32_t id : ids_of(row(i)["ids"])) {
      const std::string piece = stream.push(id);
      EXPECT_NO_THROW(Json(piece).dump()) << "half a character was given out";
      text_so_far += piece;
    }
    EXPECT_EQ(text_so_far + stream.finish(), whole) << Json(text(i));
  }
}

// Case B061: a whole word that no chain of merges reaches is one token with ignore_merges, and only then.
TEST(SmallTokenizerPair, IgnoresMergesForWholeWordsOnlyWhereTheFileSaysSo) {
  const auto ids = [](const char* name) {
    const fs::path path = golden_folder() / "small" / (std::string(name) + ".json");
    return value_or_throw(read_tokenizer_json(value_or_throw(read_text_file(path)), {path.string()}))
        ->encode(" ab\u00e9");
  };
  EXPECT_EQ(ids("llama3").size(), 1U);
  EXPECT_GT(ids("llama3_merging").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Golden, SmallTokenizer, ::testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace primus::tokenizer
