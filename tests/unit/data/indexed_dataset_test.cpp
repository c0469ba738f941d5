#include "primus/data/indexed_dataset.h"

#include <fstream>
#include <gmock/gmock.h>

#include "golden/data/support.h"

#include "primus/base/error.h"
#include "primus/data/indexed_dataset_writer.h"

namespace primus::data::test {
namespace {

using testing::HasSubstr;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

const std::string kIdx = from_hex(
    "4d4d49444944580000010000000000000008020000000000000003000000000000000300000002000000000000000000000006000000000000"
    "00"
    "000000000000000001000000000000000200000000000000");
const std::string kBin = from_hex("05000600070008000900");

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Damaged : public testing::Test {
 protected:
  // What open() says about these two files.
  std::string refusal(const std::string& idx, const std::string& bin = kBin) {
    write_bytes(scratch_ / "d.idx", idx);
    write_bytes(scratch_ / "d.bin", bin);
    const Result<IndexedDataset> dataset = IndexedDataset::open(scratch_ / "d");
    EXPECT_FALSE(dataset.ok());
    return dataset.ok() ? "" : render(dataset.diagnostics());
  }
  static std::string patched(size_t at, std::string_view hex) {
    const std::string bytes = from_hex(hex);
    return std::string(kIdx).replace(at, bytes.size(), bytes);
  }
  Scratch scratch_;
};

TEST_F(Damaged, IsNotTheTestVector) {
  write_bytes(scratch_ / "d.idx", kIdx);
  write_bytes(scratch_ / "d.bin", kBin);
  const IndexedDataset dataset = IndexedDataset::open(scratch_ / "d").value();
  EXPECT_EQ(dataset.num_tokens(), 5);
  std::vector<int32_t> tokens(2);
  dataset.read(1, 0, tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{8, 9}));
}

TEST_F(Damaged, RefusesATruncatedIndex) {  // B075
  for (const size_t length : {kIdx.size() - 1, size_t{40}, size_t{33}, size_t{0}}) {
    EXPECT_THAT(refusal(kIdx.substr(0, length)), HasSubstr("d.idx")) << length;
  }
  EXPECT_THAT(refusal(kIdx + "x"), HasSubstr("length of the index"));
  EXPECT_THAT(refusal(kIdx + "xx"), HasSubstr("multimodal"));
}

TEST_F(Damaged, RefusesABinThatIsTooShort) {  // B075
  const std::string message = refusal(kIdx, kBin.substr(0, 8));
  EXPECT_THAT(message, HasSubstr("sequence 1"));
  EXPECT_THAT(message, HasSubstr("d.bin"));
}

TEST_F(Damaged, RefusesAnotherMagicVersionOrType) {  // B075
  EXPECT_THAT(refusal(patched(0, "4e")), HasSubstr("magic"));
  EXPECT_THAT(refusal(patched(9, "02")), HasSubstr("version 2"));
  EXPECT_THAT(refusal(patched(17, "09")), HasSubstr("type code 9"));
  EXPECT_THAT(refusal(patched(17, "06")), HasSubstr("floating-point"));
}

TEST_F(Damaged, RefusesCountsThatOverflow) {
  EXPECT_THAT(refusal(patched(18, "ffffffffffffffff")), HasSubstr("length of the index"));
  EXPECT_THAT(refusal(patched(18, "5655555555555515")), HasSubstr("length of the index"));  // 12 n wraps
}

TEST_F(Damaged, RefusesNegativeLengthsAndOffsets) {  // B075
  EXPECT_THAT(refusal(patched(34, "ffffffff")), HasSubstr("negative length -1"));
  EXPECT_THAT(refusal(patched(42, "ffffffffffffffff")), HasSubstr("sequence 0 lies outside"));
  EXPECT_THAT(refusal(patched(34, "ffffff7f")), HasSubstr("sequence 0 lies outside"));
}

TEST_F(Damaged, RefusesABrokenDocumentIndex) {  // B075
  EXPECT_THAT(refusal(patched(58, "01")), HasSubstr("starts with 1"));
  EXPECT_THAT(refusal(patched(66, "05")), HasSubstr("decreases at entry 2"));
  EXPECT_THAT(refusal(patched(74, "07")), HasSubstr("ends with 7"));
}

TEST(IndexedDataset, NamesBothMissingFilesAndAFileNearby) {
  const Scratch scratch;
  IndexedDatasetWriter writer(scratch / "web_text_document", TokenType::U16);
  writer.add_document(std::vector<int32_t>{1});
  writer.close();
  const Result<IndexedDataset> dataset = IndexedDataset::open(scratch / "web");
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.diagnostics().size(), 2u);
  EXPECT_THAT(render(dataset.diagnostics()), HasSubstr("did you mean '" + (scratch / "web_text_document")));
  EXPECT_THAT(render(IndexedDataset::open(scratch / "web_text_document.bin").diagnostics()),
              HasSubstr("without '.bin'"));
}

TEST(IndexedDatasetWriter, ChoosesTheTypeByTheVocabulary) {
  EXPECT_EQ(token_type_for_vocab(65499), TokenType::U16);
  EXPECT_EQ(token_type_for_vocab(65500), TokenType::I32);
  EXPECT_EQ(token_type_for_vocab(0), TokenType::I32);
}

TEST(IndexedDatasetWriter, LeavesNothingBehindWhenItIsNotClosed) {
  const Scratch scratch;
  {
    IndexedDatasetWriter writer(scratch / "half", TokenType::U16);
    writer.add_document(std::vector<int32_t>{1, 2});
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

// A fault at every step of writing: afterwards there is no pair, or a whole one; never a mixture of old and new.
TEST(IndexedDatasetWriter, NeverLeavesAPairThatDoesNotBelongTogether) {
  for (int fault = 0; fault < 20; ++fault) {
    const Scratch scratch;
    const auto write_one = [&](int32_t length) {
      IndexedDatasetWriter writer(scratch / "p", TokenType::U16);
      writer.add_document(std::vector<int32_t>(static_cast<size_t>(length), 7));
      writer.close();
    };
    write_one(3);
    int step = 0;
    set_fault_hook([&](std::string_view, const fs::path&) {
      if (step++ == fault) throw RunError("no space left");
    });
    bool failed = false;
    try {
      write_one(5);
    } catch (const RunError&) {
      failed = true;
    }
    set_fault_hook({});
    const Result<IndexedDataset> dataset = IndexedDataset::open(scratch / "p");
    if (dataset.ok()) {
      EXPECT_EQ(dataset->num_tokens(), fs::file_size(scratch / "p.bin") / 2) << fault;
    } else {
      EXPECT_TRUE(failed);
      EXPECT_FALSE(fs::exists(scratch / "p.idx")) << fault;
    }
    if (!failed) break;
    EXPECT_LT(fault, 19) << "the hook was never passed by";
  }
}

TEST(IndexedDatasetWriter, RefusesIdsThatDoNotFit) {
  const Scratch scratch;
  IndexedDatasetWriter writer(scratch / "w", TokenType::U16);
  EXPECT_THROW(writer.add_document(std::vector<int32_t>{65536}), RunError);
  EXPECT_THROW(writer.add_document(std::vector<int32_t>{-1}), RunError);
}

TEST(IndexedDatasetWriter, MergesSizesPointersAndDocuments) {  // B071
  const Scratch scratch;
  const auto write_documents = [&](const std::string& name, const std::vector<int64_t>& lengths) {
    IndexedDatasetWriter writer(scratch / name, TokenType::I32);
    for (const int64_t length : lengths) writer.add_document(std::vector<int32_t>(static_cast<size_t>(length), 100000));
    writer.close();
    return IndexedDataset::open(scratch / name).value();
  };
  IndexedDatasetWriter merged(scratch / "m", TokenType::I32);
  merged.add_dataset(write_documents("a", {2, 3}));
  merged.add_dataset(write_documents("b", {4}));
  merged.close();
  const IndexedDataset dataset = IndexedDataset::open(scratch / "m").value();
  EXPECT_EQ(dataset.lengths(), (std::vector<int32_t>{2, 3, 4}));
  EXPECT_EQ(dataset.document_begin(2), 2);
  EXPECT_EQ(dataset.document_begin(3), 3);
  EXPECT_EQ(dataset.sequence_bytes(2).data() - dataset.sequence_bytes(0).data(), 20);
}

}  // namespace
}  // namespace primus::data::test
