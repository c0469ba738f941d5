#include "primus/hub/safetensors.h"

#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

namespace primus::hub {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string with_length(uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return with_length(header.size(), header + std::string(data_bytes, '\7'));
}

Result<SafetensorsHeader> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "weights.safetensors");
}

std::string errors_of(const std::string& bytes) {
  Result<SafetensorsHeader> header = parse(bytes);
  return header.ok() ? "accepted" : render(header.diagnostics());
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string read_all(const fs::path& path) {
  return value_or_throw(read_text_file(path));
}

TEST(Safetensors, ReadsTheTestVectorOfTheFormat) {
  const std::string bytes = std::string("\x38\0\0\0\0\0\0\0", 8) +
                            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" + "  " + std::string(8, 'x');
  Result<SafetensorsHeader> header = parse(bytes);
  ASSERT_TRUE(header.ok()) << render(header.diagnostics());
  ASSERT_EQ(header->entries.size(), 1U);
  EXPECT_EQ(header->entries[0].name, "a");
  EXPECT_EQ(header->entries[0].dtype, Dtype::F32);
  EXPECT_THAT(header->entries[0].shape, ElementsAre(2));
  EXPECT_EQ(header->entries[0].end, 8U);
  EXPECT_EQ(header->header_bytes, 64U);
}

struct RefusedCase {
  const char* name;
  std::string bytes;
  const char* reason;
};

std::vector<RefusedCase> refused_cases() {
  const std::string f32 = tensor("a", "F32", "[4]", "[0,16]");
  return {
      {"SevenBytes", "1234567", "too short"},
      {"EmptyFile", "", "too short"},
      {"LengthThatWrapsRound", with_length(0xFFFFFFFFFFFFFFFBULL, "{}      "), "longer than the format allows"},
      {"LengthOverTheCap", with_length(uint64_t{1} << 40, "{}"), "longer than the format allows"},
      {"LengthOverTheFile", with_length(99, "{}      "), "longer than the file"},
      {"LengthZero", with_length(0, "{}      "), "does not start with '{'"},
      {"NotJson", file_of("{\"a\":", 0), "not valid JSON"},
      {"TextAfterTheObject", file_of("{} x", 0), "not valid JSON"},
      {"LeadingSpace", file_of(" {}", 0), "does not start with '{'"},
      {"InvalidUtf8", file_of("{\"\xff\":1}", 0), "not valid JSON"},
      {"SameData", file_of("{" + f32 + "," + tensor("b", "F32", "[4]", "[0,16]") + "}", 16), "overlaps"},
      {"Gap", file_of("{" + f32 + "," + tensor("b", "F32", "[4]", "[20,36]") + "}", 36), "gap"},
      {"GapAtTheStart", file_of("{" + tensor("a", "F32", "[4]", "[4,20]") + "}", 20), "gap"},
      {"RestAtTheEnd", file_of("{" + f32 + "}", 24), "bytes after the last tensor"},
      {"CutShort", file_of("{" + f32 + "}", 15), "cut short"},
      {"SameNameTwice", file_of("{" + f32 + "," + tensor("a", "F32", "[4]", "[16,32]") + "}", 32), "occurs twice"},
      {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "occurs twice"},
      {"UnknownDtype", file_of("{" + tensor("a", "F33", "[4]", "[0,16]") + "}", 16), "unknown dtype"},
      {"LowerCaseDtype", file_of("{" + tensor("a", "f32", "[4]", "[0,16]") + "}", 16), "unknown dtype"},
      {"EndBeforeBegin", file_of("{" + tensor("a", "F32", "[4]", "[16,0]") + "}", 16), "do not fit the shape"},
      {"WrongSize", file_of("{" + tensor("a", "F32", "[5]", "[0,16]") + "}", 16), "do not fit the shape"},
      {"ProductOverflows", file_of("{" + tensor("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0), "overflows"},
      {"BitsOverflow", file_of("{" + tensor("a", "F64", "[2305843009213693952]", "[0,0]") + "}", 0), "overflows"},
      {"HalfAByte", file_of("{" + tensor("a", "F4", "[3]", "[0,1]") + "}", 1), "no whole number of bytes"},
      {"SizeOver63Bits", file_of("{" + tensor("a", "U8", "[18446744073709551615]", "[0,1]") + "}", 1),
       "something else than sizes"},
      {"NegativeSize", file_of("{" + tensor("a", "U8", "[-1]", "[0,1]") + "}", 1), "something else than sizes"},
      {"FractionalOffset", file_of("{" + tensor("a", "U8", "[1]", "[0,1.0]") + "}", 1),
       "something else than positions"},
      {"ThreeOffsets", file_of("{" + tensor("a", "U8", "[1]", "[0,1,2]") + "}", 1), "not a pair"},
      {"NestedShape", file_of("{" + tensor("a", "U8", "[[1]]", "[0,1]") + "}", 1), "a list where none belongs"},
      {"NoDtype", file_of(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1), "has no 'dtype'"},
      {"FieldTwice", file_of(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1),
       "field occurs twice"},
      {"UnknownField", file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), "unknown field"},
      {"EntryIsANumber", file_of(R"({"a":3})", 0), "not an object"},
      {"MetadataIsNull", file_of(R"({"__metadata__":null})", 0), "metadata is not an object"},
      {"MetadataIsAList", file_of(R"({"__metadata__":[]})", 0), "a list where none belongs"},
      {"MetadataHoldsANumber", file_of(R"({"__metadata__":{"a":1}})", 0), "is not text"},
      {"DeepNesting", file_of("{" + std::string(100'000, '['), 0), "not valid JSON"},
      {"DeepValue", file_of("{\"a\":" + std::string(100'000, '['), 0), "a list where none belongs"},
  };
}

// Cases B140 (lengths), B143 (overlaps, gaps, rests, names twice), B144 (types, metadata).
TEST(Safetensors, RefusesEveryBrokenFileWithItsNameAndReason) {
  for (const RefusedCase& broken : refused_cases()) {
    const std::string errors = errors_of(broken.bytes);
    EXPECT_THAT(errors, HasSubstr(broken.reason)) << broken.name;
    EXPECT_THAT(errors, HasSubstr("weights.safetensors")) << broken.name;
  }
}

TEST(Safetensors, ReportsSeveralFaultsTogetherButNotAllOfAThousand) {
  const std::string two =
      errors_of(file_of("{" + tensor("a", "F33", "[1]", "[0,4]") + "," + tensor("b", "F34", "[1]", "[4,8]") + "}", 8));
  EXPECT_THAT(two, HasSubstr("F33"));
  EXPECT_THAT(two, HasSubstr("F34"));
  std::string header = "{";
  for (int i = 0; i < 1000; ++i) header += (i > 0 ? "," : "") + tensor("t" + std::to_string(i), "F33", "[1]", "[0,4]");
  Result<SafetensorsHeader> many = parse(file_of(header + "}", 4));
  ASSERT_FALSE(many.ok());
  EXPECT_LE(many.diagnostics().size(), 17U);
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
  EXPECT_EQ(errors_of(file_of("{}", 0)), "accepted");
  EXPECT_EQ(errors_of(file_of("{}   ", 0)), "accepted");
  EXPECT_EQ(errors_of(file_of(R"({"__metadata__":{}})", 0)), "accepted");
  EXPECT_EQ(errors_of(file_of("{" + tensor("scalar", "F64", "[]", "[0,8]") + "}", 8)), "accepted");
  EXPECT_EQ(errors_of(file_of("{" + tensor("empty", "F32", "[0,7]", "[0,0]") + "}", 0)), "accepted");
  EXPECT_EQ(errors_of(file_of("{" + tensor("two_in_a_byte", "F4", "[2,3]", "[0,3]") + "}", 3)), "accepted");
  EXPECT_EQ(errors_of(file_of("{" + tensor("six_bits", "F6_E2M3", "[4]", "[0,3]") + "}", 3)), "accepted");
}

TEST(Safetensors, SortsByOffsetWhateverTheOrderOfTheHeader) {
  const std::string header = "{" + tensor("z", "U8", "[3]", "[5,8]") + "," + tensor("hole", "U8", "[0]", "[5,5]") +
                             "," + tensor("a", "U8", "[5]", "[0,5]") + "}";
  Result<SafetensorsHeader> read = parse(file_of(header, 8));
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  ASSERT_EQ(read->entries.size(), 3U);
  EXPECT_EQ(read->entries[0].name, "a");
  EXPECT_EQ(read->entries[1].name, "hole");
  EXPECT_EQ(read->entries[2].name, "z");
}

// Case B145.
TEST(Safetensors, ReadsLongHeadersInFull) {
  for (const size_t length : {size_t{99'999}, size_t{100'000}, size_t{100'001}, size_t{300'000}}) {
    std::string header = R"({"__metadata__":{"long":")";
    const std::string tail = R"("},)" + tensor("last", "U8", "[3]", "[0,3]") + "}";
    header += std::string(length - header.size() - tail.size(), 'x') + tail;
    ASSERT_EQ(header.size(), length);
    Result<SafetensorsHeader> read = parse(file_of(header, 3));
    ASSERT_TRUE(read.ok()) << render(read.diagnostics());
    EXPECT_EQ(read->entries.at(0).name, "last");
  }
}

// What tests/golden/safetensors/make_files.py gives to the reference writer, in another order.
struct Sample {
  TensorInfo info;
  std::string bytes;
};

template <class T>
std::string raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

std::vector<Sample> samples() {
  return {
      {{"mask", Dtype::Bool, {3}}, raw<uint8_t>({1, 0, 1})},
      {{"odd \"name\"\\\u00e9", Dtype::U8, {1}}, raw<uint8_t>({9})},
      {{"nothing", Dtype::F32, {0, 4}}, ""},
      {{"layer.weight", Dtype::F32, {3, 5}},
       raw<float>({-3, -2.5, -2, -1.5, -1, -.5, 0, .5, 1, 1.5, 2, 2.5, 3, 3.5, 4})},
      {{"layer.bias", Dtype::BF16, {3}}, raw<uint16_t>({0x3FC0, 0xC000, 0x4050})},
      {{"ids", Dtype::I64, {2}}, raw<int64_t>({-7, int64_t{1} << 40})},
      {{"half", Dtype::F16, {2, 1}}, raw<uint16_t>({0x3800, 0xB400})},
      {{"scalar", Dtype::F64, {}}, raw<double>({2.5})},
  };
}

void write_samples(const fs::path& path, size_t piece_bytes) {
  std::vector<TensorInfo> infos;
  for (const Sample& sample : samples()) infos.push_back(sample.info);
  SafetensorsWriter writer(path, infos, {{"format", "pt"}, {"author", "somebody"}});
  for (const size_t index : writer.order()) {
    const std::string bytes = samples()[index].bytes;
    for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
      writer.append(std::as_bytes(std::span(bytes).subspan(at, std::min(piece_bytes, bytes.size() - at))));
    }
  }
  writer.close();
  EXPECT_EQ(writer.size_bytes(), fs::file_size(path));
}

TEST(Safetensors, WritesTheBytesOfTheReferenceWriter) {
  const TempFolder folder;
  write_samples(folder / "ours.safetensors", 1000);
  write_samples(folder / "pieces.safetensors", 3);
  const std::string golden = read_all("tests/golden/safetensors/reference.safetensors");
  EXPECT_EQ(read_all(folder / "ours.safetensors"), golden);
  EXPECT_EQ(read_all(folder / "pieces.safetensors"), golden);
  SafetensorsWriter(folder / "empty.safetensors", {}).close();
  EXPECT_EQ(read_all(folder / "empty.safetensors"), read_all("tests/golden/safetensors/empty.safetensors"));
}

TEST(Safetensors, ReadsTheFileOfTheReferenceWriter) {
  Result<SafetensorsFile> file = SafetensorsFile::open("tests/golden/safetensors/reference.safetensors");
  ASSERT_TRUE(file.ok()) << render(file.diagnostics());
  EXPECT_EQ(file->metadata().at("author"), "somebody");
  EXPECT_EQ(file->entries().size(), samples().size());
  for (const Sample& sample : samples()) {
    const TensorEntry* entry = file->find(sample.info.name);
    ASSERT_NE(entry, nullptr) << sample.info.name;
    EXPECT_EQ(entry->dtype, sample.info.dtype);
    EXPECT_EQ(entry->shape, sample.info.shape);
    const std::span<const std::byte> data = file->data(*entry);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()), sample.bytes) << sample.info.name;
  }
  EXPECT_EQ(file->find("layer"), nullptr);
}

TEST(Safetensors, ReadsBackEveryDtype) {
  const TempFolder folder;
  std::vector<TensorInfo> infos;
  for (const std::string& name : dtype_names()) infos.push_back({"t_" + name, *parse_dtype(name), {8}});
  SafetensorsWriter writer(folder / "all", infos);
  for (const size_t index : writer.order()) {
    const std::vector<std::byte> data(static_cast<size_t>(bits_of(infos[index].dtype)),
                                      static_cast<std::byte>(index + 1));
    writer.append(data);
  }
  writer.close();
  Result<SafetensorsFile> file = SafetensorsFile::open(folder / "all");
  ASSERT_TRUE(file.ok()) << render(file.diagnostics());
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorEntry* entry = file->find(infos[i].name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(to_string(entry->dtype), infos[i].name.substr(2));
    EXPECT_EQ(file->data(*entry).back(), static_cast<std::byte>(i + 1));
  }
}

TEST(Safetensors, LeavesTheTargetAloneWhenTheWriterIsNotClosed) {
  const TempFolder folder;
  write_file_atomic(folder / "model", "old");
  {
    const SafetensorsWriter writer(folder / "model", {{"a", Dtype::U8, {4}}});
  }
  EXPECT_EQ(read_all(folder / "model"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Safetensors, StopsOurOwnMistakesWhileWriting) {
  const TempFolder folder;
  const std::vector<std::byte> five(5);
  EXPECT_THROW(SafetensorsWriter(folder / "a", {{"x", Dtype::U8, {1}}, {"x", Dtype::U8, {1}}}), InternalError);
  EXPECT_THROW(SafetensorsWriter(folder / "b", {{"x", Dtype::F4, {1}}}), InternalError);
  SafetensorsWriter writer(folder / "c", {{"x", Dtype::U8, {4}}});
  EXPECT_THROW(writer.append(five), InternalError);
  EXPECT_THROW(writer.close(), InternalError);
  EXPECT_FALSE(fs::exists(folder / "c"));
}

TEST(Safetensors, NamesAFileThatCannotBeOpened) {
  Result<SafetensorsFile> file = SafetensorsFile::open("/nowhere/model.safetensors");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(render(file.diagnostics()), HasSubstr("/nowhere/model.safetensors"));
}

// Every prefix and every one-byte change of a small file is read or refused, never a crash or a read outside.
TEST(Safetensors, SurvivesEveryCutAndEveryChangedByte) {
  const std::string good = read_all("tests/golden/safetensors/reference.safetensors");
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string cut = good.substr(0, length);
    EXPECT_NE(errors_of(cut), "accepted") << length;
  }
  for (size_t at = 0; at < 568; ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ change);
      Result<SafetensorsHeader> header = parse(changed);
      if (!header.ok()) continue;
      for (const TensorEntry& entry : header->entries) EXPECT_LE(header->header_bytes + entry.end, changed.size());
    }
  }
}

}  // namespace
}  // namespace primus::hub
