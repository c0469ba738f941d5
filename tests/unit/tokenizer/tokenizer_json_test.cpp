// Loading a tokenizer.json: what is refused, and rules that goldens cannot show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/base/error.h"
#include "primus/tokenizer/bpe_train.h"
#include "primus/tokenizer/load.h"

namespace primus::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

std::string file(const std::string& model, const std::string& rest = "") {
  return R"({"version": "1.0", )" + rest + R"("model": {"type": "BPE", )" + model + "}}";
}
std::unique_ptr<Tokenizer> read(const std::string& json) {
  return value_or_throw(read_tokenizer_json(json, {"t.json"}));
}
std::string json_error_of(const std::string& json) {
  const TokenizerResult result = read_tokenizer_json(json, {"t.json"});
  return result.ok() ? "no error" : render(result.diagnostics());
}

TEST(TokenizerJson, LoadsBothSpellingsOfMergesAndABlankInsideAPiece) {  // B062
  const std::string vocab = R"("vocab": {"a": 0, " ": 1, "b": 2, "c": 3, "a ": 4, "a b": 5, "a bc": 6, "bc": 7}, )";
  const auto pairs = read(file(vocab + R"("merges": [["a", " "], ["a ", "b"], ["a b", "c"]])"));
  EXPECT_EQ(pairs->encode("a bc"), (Ids{6}));
  const auto text = read(file(vocab + R"("merges": ["b c"])"));
  EXPECT_EQ(text->encode("a bc"), (Ids{0, 1, 7}));
}

TEST(TokenizerJson, NamesEveryMergeThatCannotBeApplied) {  // B062
  const std::string vocab = R"("vocab": {"a": 0, "b": 1, "ab": 2}, )";
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": ["a b", "a z"])")), HasSubstr("merge 1"));
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": ["a z"])")), HasSubstr("'a' + 'z'"));
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": ["ab"])")), HasSubstr("merge 0 is not two tokens"));
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": ["a b a"])")), HasSubstr("merge 0 is not two tokens"));
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": [["a"]])")), HasSubstr("merge 0 is not two tokens"));
  EXPECT_THAT(json_error_of(file(vocab + R"("merges": ["b a"])")), HasSubstr("its result is not in the vocabulary"));
}

TEST(TokenizerJson, RefusesUnknownPartsByName) {
  const std::string model = R"("vocab": {"a": 0}, "merges": [])";
  EXPECT_THAT(json_error_of(file(model, R"("normalizer": {"type": "Nmt"}, )")),
              HasSubstr("normalizer 'Nmt' is not supported"));
  EXPECT_THAT(json_error_of(file(model, R"("pre_tokenizer": {"type": "BertPreTokenizer"}, )")),
              HasSubstr("'BertPreTokenizer'"));
  EXPECT_THAT(
      json_error_of(
          file(model, R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}, )")),
      HasSubstr("cannot be compiled"));
  EXPECT_THAT(json_error_of(file(model, R"("post_processor": {"type": "BertProcessing"}, )")),
              HasSubstr("'BertProcessing'"));
  EXPECT_THAT(json_error_of(file(model, R"("decoder": {"type": "WordPiece"}, )")), HasSubstr("'WordPiece'"));
  EXPECT_THAT(json_error_of(R"({"model": {"type": "Unigram", "vocab": []}})"), HasSubstr("Unigram"));
  EXPECT_THAT(json_error_of(file(model + R"(, "dropout": 0.1)")), HasSubstr("dropout"));
  EXPECT_THAT(json_error_of(file(model + R"(, "end_of_word_suffix": "</w>")")), HasSubstr("end_of_word_suffix"));
  const std::string both = json_error_of(file(model, R"("normalizer": {"type": "Nmt"}, "decoder": {"type": "CTC"}, )"));
  EXPECT_THAT(both, HasSubstr("Nmt"));
  EXPECT_THAT(both, HasSubstr("CTC")) << "all findings of a file come together";
}

TEST(TokenizerJson, RefusesBrokenVocabularies) {
  EXPECT_THAT(json_error_of("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error_of("[]"), HasSubstr("no \"model\""));
  EXPECT_THAT(json_error_of(file(R"("merges": [])")), HasSubstr("no vocabulary"));
  EXPECT_THAT(json_error_of(file(R"("vocab": {"a": "x"}, "merges": [])")), HasSubstr("not a whole number"));
  EXPECT_THAT(json_error_of(file(R"("vocab": {"a": -1}, "merges": [])")), HasSubstr("-1"));
  EXPECT_THAT(json_error_of(file(R"("vocab": {"a": 99999999999}, "merges": [])")), HasSubstr("99999999999"));
  EXPECT_THAT(json_error_of(file(R"("vocab": {"a": 0, "b": 0}, "merges": [])")), HasSubstr("two tokens"));
  EXPECT_THAT(
      json_error_of(file(R"("vocab": {"a": 3}, "merges": [])", R"("added_tokens": [{"id": 3, "content": "x"}], )")),
      HasSubstr("two tokens"));
  EXPECT_THAT(json_error_of(std::string(R"({"model": {"vocab": {"a": 0}, "x": ")") + "\xFF\"}}"),
              HasSubstr("not UTF-8"));
}

TEST(TokenizerJson, CountsHolesInTheIdsAsRows) {
  const auto tokenizer = read(file(R"("vocab": {"a": 0, "b": 7}, "merges": [])",
                                   R"("added_tokens": [{"id": 12, "content": "<e>", "special": true}], )"));
  EXPECT_EQ(tokenizer->vocab_size(), 13);
  EXPECT_EQ(tokenizer->encode("ab<e>"), (Ids{0, 7, 12}));
  EXPECT_EQ(tokenizer->token_text(5), std::nullopt);
  EXPECT_EQ(tokenizer->token_text(12), "<e>");
  EXPECT_TRUE(tokenizer->is_special(12));
}

TEST(TokenizerJson, ReadsSpecialSpellingsAsTextWhenTheDataSaysSo) {  // B068
  const auto tokenizer = read(file(R"("vocab": {"<": 0, "e": 1, ">": 2}, "merges": [])",
                                   R"("added_tokens": [{"id": 3, "content": "<e>", "special": true}], )"));
  EXPECT_EQ(tokenizer->encode("e<e>"), (Ids{1, 3}));
  EXPECT_EQ(tokenizer->encode("e<e>", {.allow_special = false}), (Ids{1, 0, 1, 2}));
  EXPECT_EQ(tokenizer->special_texts(), std::vector<std::string>{"<e>"});
  EXPECT_EQ(tokenizer->decode(Ids{1, 3}, {.skip_special = true}), "e");
}

std::string fallback_file(bool fallback) {
  std::string vocab = R"("unk_token": "<unk>", "vocab": {"<unk>": 0, "x": 1)";
  const char* digits = "0123456789ABCDEF";
  for (int b = 0; b < 256; ++b)
    vocab += std::string(", \"<0x") + digits[b / 16] + digits[b % 16] + ">\": " + std::to_string(b + 2);
  return file(vocab + R"(}, "merges": [])" + (fallback ? R"(, "byte_fallback": true)" : ""),
              R"("decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}, )");
}

TEST(TokenizerJson, SpellsUnknownCharactersInBytesOnlyWhenTheFileSaysSo) {  // B067
  const auto with = read(fallback_file(true));
  const Ids ids = with->encode("x\xC3\xA9");
  EXPECT_EQ(ids, (Ids{1, 0xC3 + 2, 0xA9 + 2}));
  EXPECT_EQ(with->decode(ids), "x\xC3\xA9");
  EXPECT_EQ(with->decode(Ids{0xC3 + 2}), "\xEF\xBF\xBD") << "half a character";
  EXPECT_EQ(read(fallback_file(false))->encode("x\xC3\xA9"), (Ids{1, 0})) << "an absent key means false";
}

TEST(Gpt2Files, SaysWhichLineIsNoMerge) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})";
  const auto good = value_or_throw(read_gpt2_files(vocab, {"v"}, "#version: 0.2\na b\n", {"m"}));
  EXPECT_EQ(good->encode("ab<|endoftext|>"), (Ids{2, 3}));
  EXPECT_EQ(good->special().eod, 3);
  const TokenizerResult bad = read_gpt2_files(vocab, {"v"}, "#version: 0.2\na b\nab\n", {"m"});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.diagnostics()[0].place, (Place{"m", 3}));
  EXPECT_FALSE(read_gpt2_files("[1]", {"v"}, "", {"m"}).ok());
}

TEST(RankFile, SaysWhichLineIsNoRankAndWhichKindsThereAre) {
  EXPECT_THAT(render(read_rank_file("YQ== 0\nYg= 1\n", "gpt2", {"r"}).diagnostics()), HasSubstr("r:2"));
  EXPECT_THAT(render(read_rank_file("YQ== 0\nYg== 0\n", "gpt2", {"r"}).diagnostics()), HasSubstr("given twice"));
  EXPECT_THAT(render(read_rank_file("YQ== 0\n", "", {"r"}).diagnostics()), HasSubstr("--rank-kind"));
  EXPECT_THAT(render(read_rank_file("YQ== 0\n", "gpt9", {"r"}).diagnostics()), HasSubstr("gpt9"));
  const auto tokenizer = value_or_throw(read_rank_file("YQ== 0\nYg== 1\nYWI= 2\n", "gpt2", {"r"}));
  EXPECT_EQ(tokenizer->encode("abba"), (Ids{2, 1, 0}));
}

TEST(MegatronTik, PutsItsSpecialTokensFirst) {
  const std::string items =
      R"([{"rank": 0, "token_bytes": "YQ==", "token_str": "a"}, {"rank": 1, "token_bytes": "Yg==", "token_str": "b"},
                               {"rank": 2, "token_bytes": "YWI=", "token_str": "ab"}])";
  const auto tokenizer = value_or_throw(read_megatron_tik(items, {}, {"tik"}));
  EXPECT_EQ(tokenizer->vocab_size(), 1003);
  EXPECT_EQ(tokenizer->encode("ab a"), (Ids{1002, 1000})) << "the blank has no rank";
  EXPECT_EQ(tokenizer->special().bos, 1);
  EXPECT_EQ(tokenizer->special().eod, 2);
  const auto smaller = value_or_throw(read_megatron_tik(items, {.num_special_tokens = 10, .vocab_size = 12}, {"tik"}));
  EXPECT_EQ(smaller->encode("ab"), (Ids{10, 11})) << "rank 2 is cut off";
  EXPECT_FALSE(read_megatron_tik(items, {.pattern = "v3"}, {"tik"}).ok());
}

TEST(BpeTrainer, BreaksTiesByTheLowerIdsAndIgnoresTheOrderOfTexts) {
  const auto merges_of = [](const std::vector<std::string>& texts) {
    BpeTrainer trainer({.vocab_size = 260, .special = {"<e>"}, .show_progress = false});
    for (const std::string& text : texts) trainer.add(text);
    return value_or_throw(trainer.train()).to_json();
  };
  const std::string json = merges_of({"cd", "cd", "ab", "ab", "ab<e>"});
  EXPECT_EQ(json, merges_of({"ab<e>ab", "cd", "ab", "cd"}));
  const auto tokenizer = read(json);
  EXPECT_EQ(tokenizer->token_text(257), "ab");
  EXPECT_EQ(tokenizer->token_text(258), "cd");
  EXPECT_EQ(tokenizer->vocab_size(), 259) << "no third pair occurs twice";
  EXPECT_EQ(tokenizer->encode("<e>ab"), (Ids{0, 257}));
}

TEST(BpeTrainer, RefusesAVocabularySmallerThanTheBytes) {
  EXPECT_FALSE(BpeTrainer({.vocab_size = 256, .show_progress = false}).train().ok());
}

}  // namespace
}  // namespace primus::tokenizer
