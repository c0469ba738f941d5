#include "primus/data/loader.h"

#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <thread>

#include "golden/data/support.h"

#include "primus/data/gpt_index.h"
#include "primus/data/indexed_dataset_writer.h"

namespace primus::data::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kEod = 9;

std::string write_documents(const std::string& prefix, const std::vector<std::vector<int32_t>>& documents) {
  IndexedDatasetWriter writer(prefix, TokenType::U16);
  for (const auto& document : documents) writer.add_document(document);
  writer.close();
  return prefix;
}

std::vector<std::vector<int32_t>> many_documents(int count, int length) {
  std::vector<std::vector<int32_t>> documents;
  for (int d = 0; d < count; ++d) {
    documents.emplace_back();
    for (int i = 0; i < length; ++i) documents.back().push_back((d * 31 + i * 3) % 200);
  }
  return documents;
}

spec::RunSpec run_on(const std::string& prefix, int64_t sequence_length, const std::string& split = "1") {
  spec::RunSpec run;
  run.data.blend.files = {{1, prefix}};
  run.data.split = split;
  run.data.sequence_length = sequence_length;
  return run;
}

std::string refusal(const spec::RunSpec& run, const SplitSizes& sizes, int64_t eod = -1, int64_t vocab = 211) {
  const Result<Datasets> datasets = open_datasets(run, eod, vocab, sizes);
  EXPECT_FALSE(datasets.ok());
  return datasets.ok() ? "" : render(datasets.diagnostics());
}

TEST(OpenDatasets, NamesAMissingFile) {
  const Scratch scratch;
  EXPECT_THAT(refusal(run_on(scratch / "nothing", 4), {8, 0, 0}), HasSubstr("nothing.idx"));
  spec::RunSpec run;
  run.data.sequence_length = 4;
  EXPECT_THAT(refusal(run, {8, 0, 0}), HasSubstr("no train data is given"));
}

TEST(OpenDatasets, RefusesAnEmptyDataset) {
  const Scratch scratch;
  EXPECT_THAT(refusal(run_on(write_documents(scratch / "e", {{}, {}}), 4), {8, 0, 0}),
              HasSubstr("the dataset is empty"));
  EXPECT_THAT(refusal(run_on(write_documents(scratch / "none", {}), 4), {8, 0, 0}), HasSubstr("the dataset is empty"));
}

TEST(OpenDatasets, RefusesADatasetShorterThanOneSample) {
  const Scratch scratch;
  const std::string prefix = write_documents(scratch / "s", {{1, 2}, {3, 4}});
  const std::string message = refusal(run_on(prefix, 4), {8, 0, 0});
  EXPECT_THAT(message, HasSubstr("shorter than one sample"));
  EXPECT_THAT(message, HasSubstr("4 tokens in 2 documents"));
  EXPECT_THAT(message, HasSubstr("at least 5 tokens"));
  EXPECT_TRUE(open_datasets(run_on(prefix, 3), -1, 211, {8, 0, 0}).ok());
}

TEST(OpenDatasets, NamesTheIdThatTheVocabularyLacks) {
  const Scratch scratch;
  const std::string prefix = write_documents(scratch / "v", {{1, 2, 3}, {4, 300, 5}});
  for (int round = 0; round < 2; ++round) {  // scanned, then from the cache
    const std::string message = refusal(run_on(prefix, 3), {8, 0, 0}, -1, 300);
    EXPECT_THAT(message, HasSubstr("v.bin"));
    EXPECT_THAT(message, HasSubstr("id 300 at token 1 of document 1"));
    EXPECT_THAT(message, HasSubstr("at least 301"));
  }
  EXPECT_TRUE(open_datasets(run_on(prefix, 3), -1, 301, {8, 0, 0}).ok());
}

TEST(OpenDatasets, LeavesOutAnEmptyTestSplitWithASentence) {
  const Scratch scratch;
  const spec::RunSpec run = run_on(write_documents(scratch / "d", many_documents(300, 20)), 8, "969, 30, 1");
  const Result<Datasets> datasets = open_datasets(run, -1, 211, {16, 8, 8});
  ASSERT_TRUE(datasets.ok()) << render(datasets.diagnostics());
  EXPECT_EQ(datasets->test, nullptr);
  EXPECT_NE(datasets->valid, nullptr);
  EXPECT_THAT(render(datasets.diagnostics()), HasSubstr("the test split is empty"));
  EXPECT_FALSE(open_datasets(run, -1, 211, {16, 8, 8}, {.require_test = true}).ok());
}

TEST(OpenDatasets, RefusesAnEmptyValidationSplitThatIsUsed) {
  const Scratch scratch;
  const spec::RunSpec run = run_on(write_documents(scratch / "d", many_documents(1, 500)), 8, "969, 30, 1");
  EXPECT_THAT(refusal(run, {16, 8, 8}), HasSubstr("the valid split is empty"));
  EXPECT_TRUE(open_datasets(run, -1, 211, {16, 0, 0}).ok());
}

TEST(OpenDatasets, TakesABlendWithoutEvaluation) {
  const Scratch scratch;
  spec::RunSpec run = run_on(write_documents(scratch / "a", many_documents(50, 20)), 8, "969, 30, 1");
  run.data.blend.files.push_back({2, write_documents(scratch / "b", many_documents(40, 30))});
  run.data.blend.weighted = true;
  const Result<Datasets> datasets = open_datasets(run, -1, 211, {30, 0, 0});
  ASSERT_TRUE(datasets.ok()) << render(datasets.diagnostics());
  EXPECT_EQ(datasets->train->size(), 30);
  EXPECT_THAT(datasets->train->files(), ElementsAre(scratch / "a", scratch / "b"));
}

TEST(OpenDatasets, SaysWhenFilesWithoutWeightsEndTooEarly) {
  const Scratch scratch;
  spec::RunSpec run = run_on(write_documents(scratch / "a", many_documents(5, 20)), 8);
  run.data.blend.files.push_back({1, write_documents(scratch / "b", many_documents(4, 30))});
  EXPECT_THAT(refusal(run, {640, 0, 0}), HasSubstr("ends before the run does"));
  run.data.order = spec::LoaderOrder::Cyclic;
  EXPECT_TRUE(open_datasets(run, -1, 211, {640, 0, 0}).ok());
}

TEST(OpenDatasets, ChecksSettings) {
  const Scratch scratch;
  spec::RunSpec run = run_on(write_documents(scratch / "a", many_documents(5, 20)), 8);
  run.data.reset_position_ids = true;
  run.data.seed = -1;
  const std::string message = refusal(run, {8, 0, 0});
  EXPECT_THAT(message, HasSubstr("no end-of-document token"));
  EXPECT_THAT(message, HasSubstr("seed: -1"));
  run = run_on(scratch / "a", 8, "0, 0, 0");
  EXPECT_THAT(refusal(run, {8, 0, 0}), HasSubstr("all parts of the data split are 0"));
  run = run_on(scratch / "a", 8, "9,-1,1");
  EXPECT_THAT(refusal(run, {8, 0, 0}), HasSubstr("negative"));
}

// ---------------------------------------------------------------------------------------------------- masks
Sample masked(std::vector<int32_t> tokens, int64_t num_real, const MaskRules& rules) {
  Sample sample;
  sample.tokens = std::move(tokens);
  fill_masks(rules, num_real, sample);
  return sample;
}

TEST(Masks, RestartPositionsAndAttentionBehindTheEndToken) {  // B081
  const Sample sample = masked({1, 2, kEod, 3, 4, 5}, 6, {kEod, true, true, false});
  EXPECT_THAT(sample.position_ids, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(sample.document_start, ElementsAre(0, 0, 0, 3, 3));
  EXPECT_THAT(sample.loss_mask, ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(masked({1, 2, kEod, 3, 4, 5}, 6, {kEod, false, false, true}).loss_mask, ElementsAre(1, 1, 0, 1, 1));
}

TEST(Masks, KnowPaddingByItsPlaceWhenItsIdIsTheEndToken) {  // B080
  const Sample sample = masked({5, 6, kEod, kEod, kEod}, 3, {kEod, false, false, false});
  EXPECT_THAT(sample.loss_mask, ElementsAre(1, 1, 0, 0));
}

TEST(Masks, AreTheSameOnEachFetch) {  // B079
  const Scratch scratch;
  spec::RunSpec run = run_on(write_documents(scratch / "a", {{1, 2, kEod, 3, 4, 5, 6, 7, kEod, 1, 1, 2, 3}}), 4, "0,1");
  run.data.mask_loss_at_eod = true;
  run.data.drop_last_partial_validation_sample = false;
  const Datasets datasets = open_datasets(run, kEod, 211, {0, 3, 0}).value();
  std::vector<Sample> first(3), second(3);
  for (int64_t i = 0; i < 3; ++i) datasets.valid->get(i, first[static_cast<size_t>(i)]);
  for (int64_t i = 2; i >= 0; --i) datasets.valid->get(i, second[static_cast<size_t>(i)]);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first[i].loss_mask, second[i].loss_mask);
    EXPECT_EQ(first[i].tokens, second[i].tokens);
  }
}

// ---------------------------------------------------------------------------------------------------- sizes
TEST(GptIndex, PlansThousandsOfMillionsOfSamples) {  // B073
  const GptIndexPlan plan = plan_gpt_index({0, 10, 3'000'000'000, 4096, 1, false}, 9'000'000'000);
  EXPECT_EQ(plan.num_epochs, 1366);
  EXPECT_EQ(plan.num_samples, (1366 * 9'000'000'000 - 1) / 4096);
  EXPECT_GE(plan.num_samples, 3'000'000'000);
}

TEST(GptIndex, KeepsEveryTokenOfAnEpochOnce) {
  const std::vector<int32_t> lengths = {3, 0, 7, 1, 12, 5};
  const GptIndex index = GptIndex::build(lengths, {0, 6, std::nullopt, 4, 77, false});
  EXPECT_EQ(index.num_samples(), 6);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < index.num_samples(); ++i) seen.insert(index.shuffle[i]);
  EXPECT_EQ(seen.size(), 6u);
}

// ---------------------------------------------------------------------------------------------------- cache
class Cache : public testing::Test {
 protected:
  Cache() : run_(run_on(write_documents(scratch_ / "c", many_documents(40, 25)), 8)) {
    run_.data.index_cache_folder = scratch_ / "cache";
  }
  std::vector<int32_t> first_tokens(Diagnostics* notes = nullptr) {
    const Result<Datasets> datasets = open_datasets(run_, -1, 211, {100, 0, 0});
    if (notes != nullptr) *notes = datasets.diagnostics();
    Sample sample;
    datasets->train->get(0, sample);
    return sample.tokens;
  }
  fs::path index_file() {
    for (const auto& entry : fs::directory_iterator(scratch_ / "cache")) {
      if (entry.path().extension() == ".index") return entry.path();
    }
    return {};
  }
  Scratch scratch_;
  spec::RunSpec run_;
};

TEST_F(Cache, IsNotTrustedWhenItIsDamaged) {  // B078
  const std::vector<int32_t> expected = first_tokens();
  const fs::path file = index_file();
  ASSERT_FALSE(file.empty());
  const std::string whole = bytes_of(file);
  std::string flipped = whole;
  flipped[whole.size() - 3] = static_cast<char>(flipped[whole.size() - 3] ^ 0x40);
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), std::string(), flipped, std::string(500, 'x')}) {
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(first_tokens(), expected);
    EXPECT_EQ(bytes_of(file), whole) << "the entry is written again";
  }
}

TEST_F(Cache, FallsBackToMemoryWithOneLine) {  // B078
  const std::vector<int32_t> expected = first_tokens();
  std::ofstream(scratch_ / "file") << "not a folder";
  run_.data.index_cache_folder = scratch_ / "file/below";
  Diagnostics notes;
  EXPECT_EQ(first_tokens(&notes), expected);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].severity, Severity::Warning);
  EXPECT_THAT(notes[0].message, HasSubstr("cannot be written"));
}

TEST_F(Cache, CanBeBuiltByManyAtOnce) {  // B078
  std::vector<std::thread> jobs;
  std::vector<std::vector<int32_t>> tokens(6);
  for (auto& mine : tokens) jobs.emplace_back([this, &mine] { mine = first_tokens(); });
  for (std::thread& job : jobs) job.join();
  for (const auto& mine : tokens) EXPECT_EQ(mine, tokens[0]);
  for (const auto& entry : fs::directory_iterator(scratch_ / "cache")) EXPECT_NE(entry.path().extension(), ".tmp");
}

TEST_F(Cache, KnowsWhenTheDataChanged) {
  const std::vector<int32_t> before = first_tokens();
  write_documents(scratch_ / "c", many_documents(40, 26));
  EXPECT_NE(first_tokens(), before);
}

}  // namespace
}  // namespace primus::data::test
