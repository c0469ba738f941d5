// SentencePiece models built here, byte by byte: rules that the published models do not show.
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/base/error.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/sentencepiece_model.h"

namespace primus::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

// A number field; tags from 128 on take two bytes.
std::string number(int field, int value) {
  const int tag = field << 3;
  std::string bytes(1, static_cast<char>(tag > 127 ? (tag & 0x7F) | 0x80 : tag));
  if (tag > 127) bytes.push_back(static_cast<char>(tag >> 7));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string bytes_field(int field, const std::string& value) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(value.size())} + value;
}
std::string piece(const std::string& text, float score, int type) {
  std::string score_bytes(4, '\0');
  std::memcpy(score_bytes.data(), &score, 4);
  return bytes_field(1, bytes_field(1, text) + "\x15" + score_bytes + number(3, type));
}
const std::string kMark = "\xE2\x96\x81";

std::string model(int kind, const std::string& pieces, bool dummy_prefix = true, bool trim = false) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + pieces + bytes_field(2, number(3, kind)) +
         bytes_field(3, number(3, dummy_prefix) + number(4, trim));
}
std::unique_ptr<Tokenizer> read_model(const std::string& bytes) {
  return value_or_throw(read_sentencepiece(bytes, {"m.model"}));
}

TEST(SentencePieceBpe, JoinsTheBestScoreFirstAndTheLeftmostOfEqualOnes) {
  const auto tokenizer = read_model(model(
      2, piece("a", -9, 1) + piece("b", -9, 1) + piece("ab", -2, 1) + piece("ba", -1, 1) + piece("aa", -3, 1), false));
  EXPECT_EQ(tokenizer->encode("aba"), (Ids{3, 6})) << "ba before ab";
  EXPECT_EQ(tokenizer->encode("aaa"), (Ids{7, 3}));
}

TEST(SentencePieceBpe, JoinsPartsThatAreNoPiecesThemselves) {
  const auto tokenizer = read_model(model(2, piece("x", -9, 1) + piece("xy", -1, 1), false));
  EXPECT_EQ(tokenizer->encode("xyx"), (Ids{4, 3})) << "y alone is no piece";
  EXPECT_EQ(tokenizer->encode("yyx"), (Ids{0, 3})) << "unknown characters in a row are one unknown piece";
}

TEST(SentencePieceBpe, KeepsUserDefinedPiecesWhole) {
  const auto tokenizer =
      read_model(model(2, piece("a", -9, 1) + piece("<t>", 0, 4) + piece("a<", -1, 1) + piece("<", -9, 1), false));
  EXPECT_EQ(tokenizer->encode("a<t>a<"), (Ids{3, 4, 5}));
}

TEST(SentencePieceBpe, NeverReadsControlPiecesFromTheText) {
  const auto tokenizer = read_model(model(2, piece("<", -9, 1) + piece("s", -9, 1) + piece(">", -9, 1), false));
  EXPECT_EQ(tokenizer->encode("<s>"), (Ids{3, 4, 5}));
  EXPECT_EQ(tokenizer->encode("s", {.add_bos = true, .add_eos = true}), (Ids{1, 4, 2}));
  EXPECT_EQ(tokenizer->decode(Ids{1, 4, 2}), "s") << "control pieces are invisible";
}

TEST(SentencePiece, PutsTheSpaceMarkInFrontAndTakesItAwayAgain) {
  const auto tokenizer = read_model(model(2, piece(kMark, -9, 1) + piece("a", -9, 1)));
  EXPECT_EQ(tokenizer->encode("a  a"), (Ids{3, 4, 3, 3, 4}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 4, 3, 3, 4}), "a  a");
  EXPECT_EQ(tokenizer->encode(""), Ids{});
  const auto trimming = read_model(model(2, piece(kMark, -9, 1) + piece("a", -9, 1), true, true));
  EXPECT_EQ(trimming->encode("  a   a  "), (Ids{3, 4, 3, 4}));
}

TEST(SentencePieceUnigram, TakesTheMostProbableCut) {
  const auto tokenizer = read_model(
      model(1, piece("a", -1, 1) + piece("b", -1, 1) + piece("ab", -2.5F, 1) + piece("abb", -2.5F, 1), false));
  EXPECT_EQ(tokenizer->encode("ab"), (Ids{3, 4}));
  EXPECT_EQ(tokenizer->encode("abb"), (Ids{6}));
  EXPECT_EQ(tokenizer->encode("a??b"), (Ids{3, 0, 4}));
}

TEST(SentencePiece, RefusesBrokenAndUnsupportedModels) {
  const auto error_of = [](const std::string& bytes) {
    const TokenizerResult result = read_sentencepiece(bytes, {"m.model"});
    return result.ok() ? "no error" : render(result.diagnostics());
  };
  const std::string good = model(2, piece("a", -9, 1));
  for (size_t size = 0; size < good.size(); ++size) {
    const TokenizerResult result = read_sentencepiece(good.substr(0, size), {"m.model"});
    if (result.ok()) continue;  // cut between two fields
    EXPECT_THAT(render(result.diagnostics()), HasSubstr("m.model"));
  }
  EXPECT_THAT(error_of(""), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(error_of(model(4, piece("a", -9, 1))), HasSubstr("character"));
  EXPECT_THAT(error_of(model(2, piece("a", -9, 5))), HasSubstr("unused"));
  EXPECT_THAT(error_of(model(2, piece("a", -9, 1)) + bytes_field(2, number(3, 2) + number(35, 1))),
              HasSubstr("byte_fallback"));
  EXPECT_THAT(error_of(model(2, "") + bytes_field(3, bytes_field(2, "short"))), HasSubstr("character map"));
}

}  // namespace
}  // namespace primus::tokenizer
