// Ids of published vocabularies against their reference libraries. Made by make_published.py (tiktoken 0.14.0,
// sentencepiece 0.2.3, tokenizers 0.23.3); the vocabularies come from tests/assets/fetch.sh and are never committed.
#include <set>

#include "golden_files.h"

#include "primus/tokenizer/find.h"

namespace primus::tokenizer {
namespace {

struct Published {
  const char* path;  // in the assets folder
  int64_t vocab_size;
  bool is_small;  // of the set that CI fetches
};
constexpr Published kPublished[] = {
    {"llama3/tokenizer.model", 128256, true},
    {"llama4/tokenizer.model", 202048, true},
    {"qwen/qwen.tiktoken", 151646, true},
    {"tiktoken/cl100k_base.tiktoken", 100277, true},
    {"tiktoken/o200k_base.tiktoken", 200019, true},
    {"whisper/gpt2.tiktoken", 50257, true},
    {"gpt2", 50257, true},
    {"deepseek/tokenizer.json", 129280, true},
    {"mistral/tokenizer.model.v1", 32000, true},
    {"mistral/tokenizer.model.v2", 32768, true},
    {"mistral/tokenizer.model.v3", 32768, true},
    {"mistral/tokenizer.model.v7", 32768, true},
    {"mistral/tekken_240718.json", 131072, true},
    {"mistral/tekken_240911.json", 131072, true},
    {"sentencepiece/botchan_en_bpe_1000.model", 1000, true},
    {"sentencepiece/botchan_en_unigram_1000.model", 1000, true},
    {"sentencepiece/kyoto_ja_unigram_8000.model", 8000, true},
    {"litellm/anthropic_tokenizer.json", 65000, false},
    {"tiktoken/p50k_base.tiktoken", 50281, false},
};

class PublishedTokenizer : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedTokenizer, GivesTheIdsAndTextOfItsReferenceLibrary) {
  const fs::path path = assets_folder() / GetParam().path;
  PRIMUS_NEED_ASSET(path, GetParam().is_small);
  const std::unique_ptr<Tokenizer> tokenizer = value_or_throw(load_tokenizer(path));
  EXPECT_EQ(tokenizer->vocab_size(), GetParam().vocab_size);
  const Json& golden = read_golden("published_goldens.json");
  const Json& rows = golden["files"][GetParam().path];
  ASSERT_EQ(rows.size(), golden["texts"].size());
  for (int pass = 0; pass < 2; ++pass) {  // the second one from the cache
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string text = golden["texts"][i];
      const std::vector<int32_t> ids = ids_of(rows[i]["ids"]);
      EXPECT_EQ(tokenizer->encode(text), ids) << Json(text);
      EXPECT_EQ(tokenizer->decode(ids), rows[i].contains("decoded") ? rows[i]["decoded"].get<std::string>() : text)
          << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, PublishedTokenizer, ::testing::ValuesIn(kPublished), [](const auto& test) {
  std::string name = test.param.path;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(PublishedGoldens, CoverEveryFileThatTheMakerSaw) {
  std::set<std::string> here;
  for (const Published& one : kPublished) here.insert(one.path);
  for (const auto& [name, rows] : read_golden("published_goldens.json")["files"].items())
    EXPECT_TRUE(here.contains(name)) << name;
}

}  // namespace
}  // namespace primus::tokenizer
