// Finding a tokenizer: names, places, and which file decides begin and end.
#include "primus/tokenizer/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "primus/base/error.h"

namespace primus::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

class FindTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::temp_directory_path() / ("primus_find_" + std::to_string(getpid()) + "_" + info->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
    options.environment = environment_of({{"HF_HOME", (folder / "hf").string()}});
    options.base_folder = folder;
    options.tokenizer_type = "HuggingFaceTokenizer";
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const fs::path& path, const std::string& text) const {
    create_folders((folder / path).parent_path());
    write_file_atomic(folder / path, text);
  }
  // "a", "b", "<s>" and "</s>", with or without a template that puts <s> in front.
  void write_tokenizer(const fs::path& where, bool with_template) const {
    write(
        where / "tokenizer.json",
        std::string(
            R"({"added_tokens": [{"id": 2, "content": "<s>", "special": true}, {"id": 3, "content": "</s>", "special": true}],
      "post_processor": )") +
            (with_template
                 ? R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [2], "tokens": ["<s>"]}}})"
                 : "null") +
            R"(, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  }
  std::string error() const {
    const TokenizerResult result = find_tokenizer(options);
    return result.ok() ? "no error" : render(result.diagnostics());
  }

  fs::path folder;
  FindOptions options;
};

TEST_F(FindTokenizer, ListsEveryPlaceItLookedAt) {
  options.tokenizer_model = "TinyLlama/TinyLlama-1.1B-Chat-v1.0";
  const std::string text = error();
  EXPECT_THAT(text, HasSubstr((folder / "TinyLlama/TinyLlama-1.1B-Chat-v1.0").string()));
  EXPECT_THAT(text, HasSubstr((folder / "hf/hub/models--TinyLlama--TinyLlama-1.1B-Chat-v1.0/snapshots").string()));
  EXPECT_THAT(text, HasSubstr("nothing is downloaded in a run"));
}

TEST_F(FindTokenizer, TakesTheSnapshotThatMainNames) {
  options.tokenizer_model = "org/name";
  const fs::path model = "hf/hub/models--org--name";
  write_tokenizer(model / "snapshots/aaa", false);
  write_tokenizer(model / "snapshots/bbb", true);
  write(model / "refs/main", "bbb\n");
  const auto tokenizer = value_or_throw(find_tokenizer(options));
  EXPECT_THAT(tokenizer->source(), HasSubstr("snapshots/bbb"));
  EXPECT_EQ(tokenizer->encode_as_file("ab"), (Ids{2, 0, 1}));
}

TEST_F(FindTokenizer, PrefersALocalFolderToTheCache) {
  options.tokenizer_model = "org/name";
  write_tokenizer("hf/hub/models--org--name/snapshots/aaa", false);
  write_tokenizer("org/name", false);
  EXPECT_EQ(value_or_throw(find_tokenizer(options))->source(), (folder / "org/name/tokenizer.json").string());
}

TEST_F(FindTokenizer, SaysWhichFileDecidedBeginAndEnd) {  // B069
  options.tokenizer_model = "t";
  write_tokenizer("t", true);
  const auto by_template = value_or_throw(find_tokenizer(options));
  EXPECT_THAT(by_template->boundary().decided_by, HasSubstr("post_processor"));
  EXPECT_EQ(by_template->encode_as_file("a"), (Ids{2, 0}));

  write("t/tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "add_bos_token": false, "add_eos_token": true})");
  const auto by_config = value_or_throw(find_tokenizer(options));
  EXPECT_THAT(by_config->boundary().decided_by, HasSubstr("add_bos_token, add_eos_token"));
  EXPECT_EQ(by_config->encode_as_file("a"), (Ids{0, 3}));
  EXPECT_EQ(by_config->encode("a", {.add_bos = true, .add_eos = true}), (Ids{2, 0, 3})) << "asked for by hand";
  EXPECT_EQ(by_config->special().eod, 3);

  write_tokenizer("t", false);
  write("t/tokenizer_config.json", R"({"bos_token": "<s>", "add_bos_token": true})");
  const auto no_template = value_or_throw(find_tokenizer(options));
  EXPECT_EQ(no_template->encode_as_file("a"), (Ids{2, 0})) << "the config says so and no template does";
  EXPECT_THAT(no_template->describe(), HasSubstr("tokenizer_config.json (add_bos_token)"));
}

TEST_F(FindTokenizer, RefusesAConfigThatNamesAnUnknownToken) {
  options.tokenizer_model = "t";
  write_tokenizer("t", true);
  write("t/tokenizer_config.json", R"({"eos_token": "<end>"})");
  EXPECT_THAT(error(), HasSubstr("eos_token is not a token of the vocabulary"));
}

TEST_F(FindTokenizer, AnswersUnknownTypesWithTheNearest) {
  options.tokenizer_type = "HuggingFaceTokeniser";
  EXPECT_THAT(error(), HasSubstr("did you mean 'HuggingFaceTokenizer'"));
  options.tokenizer_type = "BertWordPieceLowerCase";
  EXPECT_THAT(error(), HasSubstr("'BertWordPieceLowerCase' is not supported"));
}

TEST_F(FindTokenizer, NamesTheArgumentThatATypeNeeds) {
  options.tokenizer_type = "NullTokenizer";
  EXPECT_THAT(error(), HasSubstr("needs 'vocab_size'"));
  options.vocab_size = 128;
  EXPECT_EQ(value_or_throw(find_tokenizer(options))->vocab_size(), 129);
  options.tokenizer_type = "GPT2BPETokenizer";
  EXPECT_THAT(error(), HasSubstr("needs 'vocab_file'"));
  options.vocab_file = "vocab.json";
  EXPECT_THAT(error(), HasSubstr("needs 'merge_file'"));
  options.merge_file = "merges.txt";
  EXPECT_THAT(error(), HasSubstr("merges.txt"));
  write("vocab.json", R"({"a": 0, "<|endoftext|>": 1})");
  write("merges.txt", "#version: 0.2\n");
  EXPECT_EQ(value_or_throw(find_tokenizer(options))->special().eod, 1);
  options.tokenizer_type = "HuggingFaceTokenizer";
  EXPECT_THAT(error(), HasSubstr("needs 'tokenizer_model'"));
}

TEST_F(FindTokenizer, TellsFilesApartByTheirContent) {
  options.tokenizer_model = "x.bin";
  write("x.bin", "[104, 105]");
  EXPECT_EQ(value_or_throw(find_tokenizer(options))->kind(), "characters");
  write("x.bin", "  ");
  EXPECT_THAT(error(), HasSubstr("empty"));
  write("x.bin", "YQ== 0\n");
  EXPECT_THAT(error(), HasSubstr("rank file"));
  write("x.bin", std::string("\x0A\x02\x08\x01", 4));
  EXPECT_THAT(error(), HasSubstr("SentencePiece"));
  write("d/readme.txt", "no tokenizer here");
  options.tokenizer_model = "d";
  EXPECT_THAT(error(), HasSubstr("a folder without a tokenizer file"));
}

}  // namespace
}  // namespace primus::tokenizer
