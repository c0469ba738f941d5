// UTF-8 and the character classes that the word patterns of tokenizers speak of.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace primus::tokenizer {

// Bits of a character's class. Unicode 15.0 (ICU 72).
enum CharBits : uint8_t {
  kLetter = 1,      // \p{L}
  kNumber = 2,      // \p{N}
  kSpace = 4,       // \p{White_Space}
  kUpperLike = 8,   // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  kLowerLike = 16,  // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  kOther = 32,      // [^\s\p{L}\p{N}]
  kNewline = 64,    // [\r\n]
  kWord = 128,      // \w: letters, marks, decimal digits, connector punctuation, joiners
};

// The class of every code point, in two stages (about 60 KiB).
class CharClasses {
 public:
  static const CharClasses& get();

  uint8_t of(char32_t code_point) const {
    if (code_point > 0x10FFFF) return kOther;
    return blocks_[(static_cast<size_t>(block_of_[code_point >> 8]) << 8) | (code_point & 0xFF)];
  }
  uint8_t of_ascii(uint8_t byte) const { return ascii_[byte]; }

 private:
  CharClasses();
  std::array<uint8_t, 128> ascii_{};
  std::array<uint16_t, 0x1100> block_of_{};
  std::vector<uint8_t> blocks_;
};

// The code point at text (valid UTF-8) and its length in bytes.
struct CodePoint {
  char32_t value;
  int num_bytes;
};
inline CodePoint decode_utf8(const char* text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xE0) return {static_cast<char32_t>((p[0] & 0x1F) << 6 | (p[1] & 0x3F)), 2};
  if (p[0] < 0xF0) return {static_cast<char32_t>((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)), 3};
  return {static_cast<char32_t>((p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F)), 4};
}
void append_utf8(char32_t code_point, std::string& text);
std::vector<char32_t> code_points_of(std::string_view text);

// Bytes of the longest start of text that is valid UTF-8.
size_t valid_utf8_prefix(std::string_view text);
// At text, which does not start with a valid sequence: the length of the maximal bad part, and whether more bytes could
// still make it valid (an unfinished sequence at the end).
struct BadPart {
  size_t num_bytes;
  bool unfinished;
};
BadPart bad_utf8_part(std::string_view text);
// Every maximal bad part becomes U+FFFD, as Python's errors="replace" and Rust's from_utf8_lossy do.
std::string replace_bad_utf8(std::string_view text);

bool is_space_only(std::string_view text);

// GPT-2's alphabet: one visible character a byte. Space is U+0120, newline U+010A.
class ByteAlphabet {
 public:
  ByteAlphabet();
  char32_t character(uint8_t byte) const { return character_[byte]; }
  int byte(char32_t character) const { return character < 324 ? byte_[character] : -1; }  // -1: not in the alphabet
  // The bytes a token stands for; false when a character is outside the alphabet.
  bool to_bytes(std::string_view token, std::string& bytes) const;
  std::string to_token(std::string_view bytes) const;

 private:
  std::array<char32_t, 256> character_{};
  std::array<int16_t, 324> byte_{};
};

}  // namespace primus::tokenizer
