// The contents of a SentencePiece .model file (a protobuf message, read by hand) and its text normalisation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "primus/base/result.h"

namespace primus::tokenizer {

enum class PieceType : int { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
struct Piece {
  std::string text;
  float score = 0.0F;
  PieceType type = PieceType::Normal;
};
enum class PieceModelKind : int { Unigram = 1, Bpe = 2, Word = 3, Character = 4 };

struct SentencePieceFile {
  std::vector<Piece> pieces;
  PieceModelKind kind = PieceModelKind::Unigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  int32_t unk_id = 0;
  int32_t bos_id = 1;
  int32_t eos_id = 2;
  int32_t pad_id = -1;
  std::string unk_surface = " \xE2\x81\x87 ";
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Errors: not this format, cut short, no pieces.
Result<SentencePieceFile> parse_sentencepiece(std::string_view bytes, const Place& place);

// A precompiled character map: longest prefix -> replacement, a double-array trie.
class CharsMap {
 public:
  static Result<CharsMap> parse(std::string blob, const Place& place);
  CharsMap() = default;  // maps nothing

  // The replacement of the longest known prefix of text and that prefix's length; length 0: none.
  std::pair<std::string_view, size_t> longest(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace primus::tokenizer
