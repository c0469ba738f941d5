// Golden files: make_indexed.py (megatron-core 0.19.2, IndexedDatasetBuilder).
#include <gtest/gtest.h>

#include "golden/data/support.h"

#include "primus/data/indexed_dataset_writer.h"

namespace primus::data::test {
namespace {

std::string golden_prefix(const std::string& name) {
  return (kGoldenFolder / "indexed" / name).string();
}

void expect_same_files(const std::string& prefix, const std::string& name) {
  EXPECT_EQ(bytes_of(prefix + ".bin"), bytes_of(golden_prefix(name) + ".bin"));
  EXPECT_EQ(bytes_of(prefix + ".idx"), bytes_of(golden_prefix(name) + ".idx"));
}

TEST(IndexedDatasetWriter, WritesTheBytesThatMegatronWrites) {
  const Scratch scratch;
  IndexedDatasetWriter u16(scratch / "u16", TokenType::U16);
  u16.add_document(std::vector<int32_t>{5, 6, 7});
  u16.add_document(std::vector<int32_t>{8, 9});
  u16.close();
  expect_same_files(scratch / "u16", "u16");

  IndexedDatasetWriter i32(scratch / "i32", TokenType::I32);
  for (const std::vector<int32_t>& document :
       std::vector<std::vector<int32_t>>{{}, {3, 2, 131071}, {}, {70000, 1}, {}}) {
    i32.add_document(document);
  }
  i32.close();
  expect_same_files(scratch / "i32", "i32");
}

TEST(IndexedDatasetWriter, MergesAsMegatronMerges) {
  const Scratch scratch;
  IndexedDatasetWriter merged(scratch / "merged", TokenType::U16);
  merged.add_dataset(IndexedDataset::open(golden_prefix("u16")).value());
  merged.add_dataset(IndexedDataset::open(golden_prefix("sequences")).value());
  merged.close();
  expect_same_files(scratch / "merged", "merged");
}

TEST(IndexedDataset, ReadsWhatMegatronWrote) {
  const IndexedDataset dataset = IndexedDataset::open(golden_prefix("i32")).value();
  EXPECT_EQ(dataset.token_type(), TokenType::I32);
  EXPECT_EQ(dataset.lengths(), (std::vector<int32_t>{0, 3, 0, 2, 0}));
  EXPECT_EQ(dataset.num_documents(), 5);
  EXPECT_EQ(dataset.num_tokens(), 5);
  std::vector<int32_t> tokens(2);
  dataset.read(1, 1, tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{2, 131071}));
  const IdRange range = dataset.id_range();
  EXPECT_EQ(range.min, 1);
  EXPECT_EQ(range.max, 131071);
}

TEST(IndexedDataset, KeepsDocumentsOfSeveralSequences) {
  const IndexedDataset dataset = IndexedDataset::open(golden_prefix("sequences")).value();
  EXPECT_EQ(dataset.num_sequences(), 3);
  EXPECT_EQ(dataset.num_documents(), 2);
  EXPECT_EQ(dataset.document_begin(1), 2);
  EXPECT_EQ(dataset.document_begin(2), 3);
}

}  // namespace
}  // namespace primus::data::test
