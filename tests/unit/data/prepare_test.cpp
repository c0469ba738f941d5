#include "primus/data/prepare.h"

#include <fstream>
#include <gmock/gmock.h>
#include <zlib.h>

#include "golden/data/support.h"

#include "primus/base/error.h"
#include "primus/data/indexed_dataset.h"
#include "primus/data/prepare_run.h"
#include "primus/tokenizer/bpe_train.h"
#include "primus/tokenizer/load.h"

namespace primus::data::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kEodText = "<|endoftext|>";
constexpr int32_t kByteEod = 256;

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void write_gz(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

std::string text_of(const std::string& prefix, int64_t document) {
  const IndexedDataset dataset = IndexedDataset::open(prefix).value();
  std::vector<int32_t> ids(static_cast<size_t>(dataset.length(document)));
  dataset.read(document, 0, ids);
  std::string text;
  for (const int32_t id : ids) text += id == kByteEod ? std::string("$") : std::string(1, static_cast<char>(id));
  return text;
}

std::vector<std::string> texts_of(const std::string& prefix) {
  std::vector<std::string> texts;
  const int64_t count = IndexedDataset::open(prefix)->num_sequences();
  for (int64_t i = 0; i < count; ++i) texts.push_back(text_of(prefix, i));
  return texts;
}

class Preparing : public testing::Test {
 protected:
  PrepareReport prepare_ok(PrepareOptions options) {
    Result<PrepareReport> report = prepare(options, *bytes_);
    EXPECT_TRUE(report.ok()) << render(report.diagnostics());
    return report.ok() ? *report : PrepareReport{};
  }
  std::string refusal(const PrepareOptions& options) {
    const Result<PrepareReport> report = prepare(options, *bytes_);
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(fs::exists(options.output_prefix + ".idx"));
    return report.ok() ? "" : render(report.diagnostics());
  }
  PrepareOptions of(const std::vector<std::string>& inputs, DocumentUnit unit = DocumentUnit::File) {
    PrepareOptions options;
    options.corpus = {inputs, unit};
    options.output_prefix = out_;
    options.num_threads = 3;
    options.shard_text_bytes = 8;  // many shards
    return options;
  }
  Scratch scratch_;
  std::string out_ = scratch_ / "made/out";
  std::unique_ptr<tokenizer::Tokenizer> bytes_ = tokenizer::make_byte_tokenizer();
};

TEST_F(Preparing, CutsTextIntoDocuments) {
  write(scratch_ / "t.txt", "\xEF\xBB\xBFone\r\ntwo\n\n  \nthree\n");
  prepare_ok(of({scratch_ / "t.txt"}, DocumentUnit::Line));
  EXPECT_THAT(texts_of(out_), ElementsAre("one", "two", "  ", "three"));
  prepare_ok(of({scratch_ / "t.txt"}, DocumentUnit::Paragraph));
  EXPECT_THAT(texts_of(out_), ElementsAre("one\ntwo", "three"));
  PrepareOptions whole = of({scratch_ / "t.txt"});
  whole.append_eod = true;
  prepare_ok(whole);
  EXPECT_THAT(texts_of(out_), ElementsAre("one\r\ntwo\n\n  \nthree\n$"));
  EXPECT_FALSE(fs::exists(out_ + ".work"));
  EXPECT_FALSE(fs::exists(out_ + ".lock"));
}

TEST_F(Preparing, DropsAndCountsEmptyDocuments) {  // B070
  write(scratch_ / "d.jsonl",
        "{\"text\": \"\"}\n{\"text\": \"abc\"}\n{\"other\": 1}\n\n{\"text\": \"\"}\n{\"text\": null}\n{\"n\": "
        "{\"text\": \"x\"}, \"text\": \"d\\u00e9\"}\n");
  PrepareOptions options = of({scratch_ / "d.jsonl"});
  options.append_eod = true;
  const PrepareReport report = prepare_ok(options);
  EXPECT_THAT(texts_of(out_), ElementsAre("abc$", "d\xC3\xA9$"));
  EXPECT_EQ(report.empty_documents, 2);
  EXPECT_EQ(report.documents_without_text, 2);
}

TEST_F(Preparing, NamesFileAndLineOfBadJson) {
  write(scratch_ / "b.jsonl", "{\"text\": \"ok\"}\n{\"text\": \n{\"text\": 5}\n[1]\n");
  const std::string message = refusal(of({scratch_ / "b.jsonl"}));
  EXPECT_THAT(message, HasSubstr("b.jsonl:2"));
  EXPECT_THAT(message, HasSubstr("b.jsonl:3"));
  EXPECT_THAT(message, HasSubstr("b.jsonl:4"));
  write(scratch_ / "k.jsonl", "{\"Text\": \"a\", \"id\": 3}\n");
  EXPECT_THAT(refusal(of({scratch_ / "k.jsonl"})), HasSubstr("did you mean 'Text'?"));
}

TEST_F(Preparing, ReadsGzipAndRefusesATruncatedOne) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("line {}\n", i * i);
  write_gz(scratch_ / "t.txt.gz", text);
  PrepareOptions options = of({scratch_ / "t.txt.gz"});
  options.shard_text_bytes = 1 << 20;
  prepare_ok(options);
  EXPECT_EQ(text_of(out_, 0), text);
  const std::string packed = bytes_of(scratch_ / "t.txt.gz");
  write(scratch_ / "cut.txt.gz", packed.substr(0, packed.size() - 100));
  options.corpus.inputs = {scratch_ / "cut.txt.gz"};
  options.output_prefix = scratch_ / "other";
  EXPECT_THAT(refusal(options), HasSubstr("cut.txt.gz"));
  write(scratch_ / "plain.txt.gz", text);
  options.corpus.inputs = {scratch_ / "plain.txt.gz"};
  EXPECT_THAT(refusal(options), HasSubstr("not compressed by gzip"));
}

TEST_F(Preparing, CollectsEverythingThatIsWrongWithTheInputs) {
  write(scratch_ / "x.parquet", "PAR1");
  const std::string message = refusal(of({scratch_ / "none.txt", scratch_ / "x.parquet", scratch_ / "gone.jsonl"}));
  EXPECT_THAT(message, HasSubstr("none.txt"));
  EXPECT_THAT(message, HasSubstr("'.parquet' files cannot be read"));
  EXPECT_THAT(message, HasSubstr("gone.jsonl"));
  write(scratch_ / "empty.txt", "");
  EXPECT_THAT(refusal(of({scratch_ / "empty.txt"})), HasSubstr("no tokens"));
}

TEST_F(Preparing, CutsWholeFilesAtTheCharacterForValidation) {
  write(scratch_ / "t.txt",
        "\xC3\xA4"
        "bcdefghij");  // ten characters, eleven bytes
  PrepareOptions options = of({scratch_ / "t.txt"});
  options.valid_fraction = 0.25;
  options.valid_prefix = scratch_ / "made/valid";
  options.append_eod = true;
  prepare_ok(options);
  EXPECT_THAT(texts_of(out_), ElementsAre("\xC3\xA4"
                                          "bcdefg"));
  EXPECT_THAT(texts_of(options.valid_prefix), ElementsAre("hij$"));
}

TEST_F(Preparing, NeverCutsLinesForValidation) {
  write(scratch_ / "t.txt", "aaaa\nbbbb\ncccc\n");
  PrepareOptions options = of({scratch_ / "t.txt"}, DocumentUnit::Line);
  options.valid_fraction = 0.5;
  options.valid_prefix = scratch_ / "made/valid";
  prepare_ok(options);
  EXPECT_THAT(texts_of(out_), ElementsAre("aaaa", "bbbb"));
  EXPECT_THAT(texts_of(options.valid_prefix), ElementsAre("cccc"));
}

TEST_F(Preparing, CountsTheSpellingOfSpecialTokens) {  // B068
  tokenizer::BpeTrainer trainer({.vocab_size = 257, .show_progress = false});
  trainer.add("some words");
  const std::unique_ptr<tokenizer::Tokenizer> owner =
      value_or_throw(tokenizer::read_tokenizer_json(trainer.train()->to_json(), {"bpe.json"}));
  write(scratch_ / "t.txt", std::string("the marker ") + kEodText + " is literal\nplain\n");
  PrepareOptions options = of({scratch_ / "t.txt"}, DocumentUnit::Line);
  const PrepareReport report = prepare(options, *owner).value();
  EXPECT_EQ(report.documents_with_special, 1);
  EXPECT_THAT(describe(report), HasSubstr("1 documents hold the spelling of a special token"));
  EXPECT_EQ(IndexedDataset::open(out_)->length(0), 23);  // eleven letters, the token, eleven letters
  options.special_as_text = true;
  EXPECT_EQ(prepare(options, *owner)->documents_with_special, 0);
  EXPECT_EQ(IndexedDataset::open(out_)->length(0), 35);
}

TEST_F(Preparing, StopsWithoutHalfFilesAndGoesOn) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += fmt::format("document {}\n", i);
  write(scratch_ / "t.txt", text);
  PrepareOptions options = of({scratch_ / "t.txt"}, DocumentUnit::Line);
  prepare_ok(options);
  const std::string expected_bin = bytes_of(out_ + ".bin"), expected_idx = bytes_of(out_ + ".idx");
  options.output_prefix = scratch_ / "again/out";
  std::atomic<int> asked{0};
  options.stop_requested = [&] { return ++asked > 30; };
  EXPECT_TRUE(prepare_ok(options).stopped);
  EXPECT_FALSE(fs::exists(options.output_prefix + ".bin"));
  EXPECT_FALSE(fs::exists(options.output_prefix + ".idx"));
  options.stop_requested = {};
  const PrepareReport report = prepare_ok(options);
  EXPECT_GT(report.shards_reused, 0);
  EXPECT_LT(report.shards_reused, report.shards);
  EXPECT_EQ(bytes_of(options.output_prefix + ".bin"), expected_bin);
  EXPECT_EQ(bytes_of(options.output_prefix + ".idx"), expected_idx);
}

TEST_F(Preparing, DoesNotReuseShardsOfAnotherText) {
  write(scratch_ / "t.txt", "first text\nsecond\n");
  PrepareOptions options = of({scratch_ / "t.txt"}, DocumentUnit::Line);
  int step = 0;
  set_fault_hook([&](std::string_view what, const fs::path& path) {
    if (what == "rename" && path == out_ + ".bin" && step++ == 0) throw RunError("killed");
  });
  EXPECT_THROW((void)prepare(options, *bytes_), RunError);
  set_fault_hook({});
  EXPECT_TRUE(fs::exists(out_ + ".work"));
  write(scratch_ / "t.txt", "another text\nsecond\n");
  prepare_ok(options);
  EXPECT_THAT(texts_of(out_), ElementsAre("another text", "second"));
}

// ---------------------------------------------------------------------------------------------------- before a run
class PreparingARun : public Preparing {
 protected:
  PreparingARun() {
    run_.data.sequence_length = 4;
    run_.data.prepare = spec::PrepareData{.inputs = {scratch_ / "t.txt"}, .valid_fraction = 0.5};
    run_.data.train.files = {{1, scratch_ / "p/train"}};
    run_.data.valid.files = {{1, scratch_ / "p/valid"}};
    run_.tokenizer.type = "ByteTokenizer";
    write(scratch_ / "t.txt", "0123456789");
  }
  Result<PrepareReport> make() {
    Logger log({.console = false});
    return prepare_if_missing(run_, log);
  }
  spec::RunSpec run_;
};

TEST_F(PreparingARun, MakesWhatIsMissingOnce) {
  ASSERT_TRUE(make().ok());
  EXPECT_THAT(texts_of(scratch_ / "p/train"), ElementsAre("01234"));
  EXPECT_THAT(texts_of(scratch_ / "p/valid"), ElementsAre("56789$"));
  EXPECT_TRUE(make()->files.empty());
  fs::remove(scratch_ / "t.txt");
  EXPECT_TRUE(make().ok()) << "prepared data needs no text";
}

TEST_F(PreparingARun, MakesItAgainFromAnotherTextButLeavesForeignFilesAlone) {
  ASSERT_TRUE(make().ok());
  write(scratch_ / "t.txt", "0123456789ab");
  ASSERT_TRUE(make().ok());
  EXPECT_THAT(texts_of(scratch_ / "p/train"), ElementsAre("012345"));
  fs::remove(scratch_ / "p/train.prepared.json");
  write(scratch_ / "t.txt", "0");
  EXPECT_TRUE(make()->files.empty());
}

TEST_F(PreparingARun, SaysWhatItCannotMake) {
  run_.data.valid.files.clear();
  run_.data.train.files.push_back({1, "second"});
  const std::string message = render(make().diagnostics());
  EXPECT_THAT(message, HasSubstr("one training file, 2 are given"));
  EXPECT_THAT(message, HasSubstr("one validation file, 0 are given"));
}

TEST_F(PreparingARun, TrainsATokenizerFirst) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the quick brown fox ";
  write(scratch_ / "t.txt", text);
  run_.tokenizer.type = "HuggingFaceTokenizer";
  run_.tokenizer.model = scratch_ / "p/tokenizer.json";
  run_.data.prepare->train_tokenizer_vocab_size = 270;
  const Result<PrepareReport> report = make();
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(fs::exists(scratch_ / "p/tokenizer.json"));
  EXPECT_LT(report->files.at(0).tokens, static_cast<int64_t>(text.size()) / 4);
}

TEST(ResolvePaths, TakesTheBaseFolderWhereTheWorkingFolderHasNothing) {
  const Scratch scratch;
  write(scratch / "here.idx", "");
  write(scratch / "text.txt", "");
  spec::RunSpec run;
  run.data.train.files = {{1, "here"}, {1, "nowhere"}};
  run.data.prepare = spec::PrepareData{.inputs = {"text.txt"}};
  resolve_paths(run, scratch.path());
  EXPECT_EQ(run.data.train.files[0].prefix, scratch / "here");
  EXPECT_EQ(run.data.train.files[1].prefix, "nowhere");
  EXPECT_EQ(run.data.prepare->inputs[0], scratch / "text.txt");
}

}  // namespace
}  // namespace primus::data::test
