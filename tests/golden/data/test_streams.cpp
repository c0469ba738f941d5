// Golden values: make_streams.py (numpy, jax).
#include <fstream>
#include <gmock/gmock.h>

#include "golden/data/support.h"

#include "primus/data/loader.h"
#include "primus/data/text_stream.h"
#include "primus/tokenizer/load.h"

namespace primus::data::test {
namespace {

using testing::HasSubstr;

spec::RunSpec run_on_texts(int64_t sequence_length) {
  spec::RunSpec run;
  run.data.sequence_length = sequence_length;
  run.data.texts = spec::TextStream{.random_integers = true};
  run.data.seed = 1LL << 45;  // nothing is shuffled: torch's own first seed is no harm
  return run;
}

Sample sample_of(const DataSet& dataset, int64_t index) {
  Sample sample;
  dataset.get(index, sample);
  return sample;
}

std::string write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

TEST(RandomTexts, AreTheNumbersOfNumpysGenerator) {
  const Json row = golden("streams.json")["random_texts"];
  const auto tokenizer = tokenizer::make_null_tokenizer(99);
  spec::TextStream texts{.random_integers = true};
  const auto tokens = stream_tokens(texts, "", tokenizer.get(), 100, 1LL << 40).value();
  EXPECT_EQ(static_cast<int64_t>(tokens.size()), row["tokens"].get<int64_t>());
  EXPECT_EQ(digest(tokens), row["sha256"].get<std::string>());
}

TEST(RandomTexts, AreCutIntoSamplesThatDoNotOverlapAndBeginAgainBehindTheLastText) {
  const Json row = golden("streams.json")["random_texts"];
  const auto tokenizer = tokenizer::make_null_tokenizer(99);
  const Datasets sets = open_datasets(run_on_texts(37), 99, 100, {60000, 3, 3}, {.tokenizer = tokenizer.get()}).value();
  for (const auto& [index, values] : row["samples"].items()) {
    const Sample sample = sample_of(*sets.train, std::stoll(index));
    EXPECT_EQ(sample.tokens, numbers<int32_t>(values)) << "sample " << index;
    EXPECT_EQ(std::count(sample.loss_mask.begin(), sample.loss_mask.end(), 1), 37);
  }
  // Validation begins with the first text again; nobody tests.
  EXPECT_EQ(sample_of(*sets.valid, 1).tokens, numbers<int32_t>(row["samples"]["1"]));
  EXPECT_EQ(sets.valid->size(), 3);
  EXPECT_EQ(sets.test, nullptr);
}

TEST(RandomTexts, AreTextForEveryOtherTokenizer) {
  const std::string first = golden("streams.json")["random_texts"]["first_text"];
  const auto bytes = tokenizer::make_byte_tokenizer();
  const Datasets sets =
      open_datasets(run_on_texts(static_cast<int64_t>(first.size())), -1, 300, {1, 0, 0}, {.tokenizer = bytes.get()})
          .value();
  const Sample sample = sample_of(*sets.train, 0);
  EXPECT_EQ(sample.tokens.front(), 256);  // BOS
  EXPECT_EQ(bytes->decode(sample.tokens, {.skip_special = true}), first);
}

TEST(TextFiles, AreReadInTheOrderOfTheirNamesAndOverAndOver) {
  const Scratch scratch;
  write_text(scratch / "b.txt", "cd");
  write_text(scratch / "a.jsonl", "{\"text\": \"ab\"}\n");
  write_text(scratch / "ignored.md", "xyz");
  spec::RunSpec run = run_on_texts(2);
  run.data.texts = spec::TextStream{.train_path = scratch.path().string(), .valid_path = scratch / "b.txt"};
  const auto bytes = tokenizer::make_byte_tokenizer();
  const Datasets sets = open_datasets(run, -1, 300, {6, 1, 0}, {.tokenizer = bytes.get()}).value();
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < 6; ++i) {
    const Sample sample = sample_of(*sets.train, i);
    tokens.insert(tokens.end(), sample.tokens.begin(), sample.tokens.end());
  }
  // BOS and EOS around each text: eight tokens a pass.
  EXPECT_THAT(tokens, testing::ElementsAre(256, 'a', 'b', 256, 256, 'c', 'd', 256, 256, 'a', 'b', 256, 256, 'c', 'd',
                                           256, 256, 'a'));
  EXPECT_THAT(sample_of(*sets.valid, 0).tokens, testing::ElementsAre(256, 'c', 'd'));
}

TEST(TextFiles, ThatAreNotThereAreRefused) {
  const Scratch scratch;
  const auto bytes = tokenizer::make_byte_tokenizer();
  const auto refusal = [&](const std::string& path, const tokenizer::Tokenizer* tokenizer, int64_t vocab) {
    spec::RunSpec run = run_on_texts(2);
    run.data.texts = spec::TextStream{.train_path = path};
    const Result<Datasets> datasets = open_datasets(run, -1, vocab, {4, 0, 0}, {.tokenizer = tokenizer});
    return datasets.ok() ? "" : render(datasets.diagnostics());
  };
  EXPECT_THAT(refusal(scratch.path().string(), bytes.get(), 300), HasSubstr("the folder holds no text"));
  EXPECT_THAT(refusal(scratch / "no.txt", bytes.get(), 300), HasSubstr("does not exist"));
  EXPECT_THAT(refusal("", bytes.get(), 300), HasSubstr("no texts are given for train"));
  const std::string text = write_text(scratch / "a.txt", "abz");
  EXPECT_THAT(refusal(text, nullptr, 300), HasSubstr("only be read with a tokenizer"));
  EXPECT_THAT(refusal(text, bytes.get(), 256), HasSubstr("id 256 in the texts"));
  EXPECT_EQ(refusal(text, bytes.get(), 257), "");
  EXPECT_THAT(refusal(write_text(scratch / "e.txt", ""), bytes.get(), 300), HasSubstr("empty"));
}

TEST(TextStream, KeepsAttentionInsideTextsWhereTheRuleSaysSo) {
  spec::RunSpec run = run_on_texts(9000);
  run.data.reset_attention_mask = true;
  const auto tokenizer = tokenizer::make_null_tokenizer(99);
  const Datasets sets = open_datasets(run, 99, 100, {1, 0, 0}, {.tokenizer = tokenizer.get()}).value();
  const Sample sample = sample_of(*sets.train, 0);
  EXPECT_EQ(sample.document_start[8192], 0);
  EXPECT_EQ(sample.document_start[8193], 8193);
}

TEST(OneBatch, HoldsTheIntegersOfJax) {
  for (const Json& row : golden("streams.json")["jax"]) {
    const int64_t rows = row["rows"], length = row["length"];
    const OneBatchDataset batch(rows, 100, length - 1, row["high"]);
    std::vector<int32_t> values;
    for (int64_t i = 0; i < rows; ++i) {
      const Sample sample = sample_of(batch, i);
      values.insert(values.end(), sample.tokens.begin(), sample.tokens.end());
    }
    EXPECT_EQ(values, numbers<int32_t>(row["values"])) << row["high"];
  }
}

TEST(OneBatch, ComesAgainEveryStep) {
  spec::RunSpec run;
  run.data.mock = run.data.one_batch = true;
  run.data.sequence_length = 6;
  run.batch.global_batch_size = 3;
  const Datasets sets = open_datasets(run, -1, 50, {12, 6, 6}).value();
  EXPECT_EQ(sets.train->size(), 12);
  EXPECT_EQ(sets.test, nullptr);
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(sample_of(*sets.train, i).tokens, sample_of(*sets.train, i + 3).tokens);
  EXPECT_NE(sample_of(*sets.train, 0).tokens, sample_of(*sets.train, 1).tokens);
  EXPECT_EQ(sample_of(*sets.valid, 4).tokens, sample_of(*sets.train, 1).tokens);
}

}  // namespace
}  // namespace primus::data::test
