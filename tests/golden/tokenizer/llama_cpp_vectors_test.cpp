// The test strings and ids that llama.cpp keeps for its own tokenizers (llama_cpp_vectors.json, made by
// make_published.py from the llama-cpp-python 0.3.36 sdist, MIT): independent of every library used elsewhere.
#include "gguf_vocabulary.h"
#include "golden_files.h"

#include "primus/tokenizer/find.h"
#include "primus/tokenizer/word_rule.h"

namespace primus::tokenizer {
namespace {

void expect_vectors(const Tokenizer& tokenizer, const std::string& name) {
  const Json& golden = read_golden("llama_cpp_vectors.json");
  ASSERT_EQ(golden[name].size(), 46U);
  for (size_t i = 0; i < golden[name].size(); ++i) {
    const std::string text = golden["texts"][i];
    EXPECT_EQ(tokenizer.encode(text), ids_of(golden[name][i])) << Json(text);
  }
}

void expect_file(const std::string& asset, const std::string& name) {
  const fs::path path = assets_folder() / asset;
  PRIMUS_NEED_ASSET(path, true);
  expect_vectors(*value_or_throw(load_tokenizer(path)), name);
}

TEST(LlamaCppVectors, HoldForTheLlama3RankFile) {
  expect_file("llama3/tokenizer.model", "llama-bpe");
}
TEST(LlamaCppVectors, HoldForTheQwenRankFile) {
  expect_file("qwen/qwen.tiktoken", "qwen2");
}
TEST(LlamaCppVectors, HoldForTheGpt2Files) {
  expect_file("gpt2", "gpt-2");
}
TEST(LlamaCppVectors, HoldForTheGpt2RankFile) {
  expect_file("whisper/gpt2.tiktoken", "gpt-2");
}

Json split(const std::string& pattern_name) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", *named_pattern(pattern_name)}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
}

GgufFamily family_of(const std::string& name) {
  GgufFamily family;
  if (name == "llama-bpe") family = {.pre_tokenizer = split("llama3"), .ignore_merges = true};
  if (name == "qwen2") family = {.pre_tokenizer = split("qwen2"), .normalizer = {{"type", "NFC"}}};
  if (name == "gpt-2") family = {.pre_tokenizer = split("gpt2")};
  if (name == "starcoder") {
    family.pre_tokenizer = {{"type", "Sequence"},
                            {"pretokenizers",
                             {{{"type", "Digits"}, {"individual_digits", true}},
                              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}}}};
  }
  if (name == "llama-spm") {
    const std::string mark = "\xE2\x96\x81";
    family.normalizer = {{"type", "Sequence"},
                         {"normalizers",
                          {{{"type", "Prepend"}, {"prepend", mark}},
                           {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", mark}}}}};
    family.decoder = {{"type", "ByteFallback"}};
    family.byte_fallback = true;
  }
  return family;
}

class GgufVectors : public ::testing::TestWithParam<std::string> {};

TEST_P(GgufVectors, HoldForTheTokenizerJsonOfTheFamily) {
  const fs::path path = assets_folder() / "llama_cpp" / ("ggml-vocab-" + GetParam() + ".gguf");
  PRIMUS_NEED_ASSET(path, false);
  const GgufVocabulary vocabulary = GgufReader(value_or_throw(read_text_file(path))).read();
  const std::string json = tokenizer_json_of(vocabulary, family_of(GetParam()));
  expect_vectors(*value_or_throw(read_tokenizer_json(json, {path.string()})), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Golden, GgufVectors,
                         ::testing::Values("llama-bpe", "qwen2", "gpt-2", "starcoder", "llama-spm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace primus::tokenizer
