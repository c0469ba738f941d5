#include "primus/tokenizer/unicode.h"

#include <map>
#include <unicode/uchar.h>

namespace primus::tokenizer {

namespace {

uint8_t classify(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  const uint32_t mask = U_MASK(u_charType(code));
  uint8_t bits = 0;
  if (mask & U_GC_L_MASK) bits |= kLetter;
  if (mask & U_GC_N_MASK) bits |= kNumber;
  if (u_isUWhiteSpace(code)) bits |= kSpace;
  if (mask & (U_GC_LU_MASK | U_GC_LT_MASK | U_GC_LM_MASK | U_GC_LO_MASK | U_GC_M_MASK)) bits |= kUpperLike;
  if (mask & (U_GC_LL_MASK | U_GC_LM_MASK | U_GC_LO_MASK | U_GC_M_MASK)) bits |= kLowerLike;
  if ((bits & (kLetter | kNumber | kSpace)) == 0) bits |= kOther;
  if (c == '\r' || c == '\n') bits |= kNewline;
  if (u_hasBinaryProperty(code, UCHAR_ALPHABETIC) || (mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) ||
      u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL)) {
    bits |= kWord;
  }
  return bits;
}

// Length of the valid sequence at text, or 0. Well-formed table of the Unicode standard (3-7).
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  if (text.empty()) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  if (!continues(1)) return 0;
  const unsigned second = byte(1);
  if (lead < 0xF0) {
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    return continues(2) ? 3 : 0;
  }
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return continues(2) && continues(3) ? 4 : 0;
}

}  // namespace

const CharClasses& CharClasses::get() {
  static const CharClasses classes;
  return classes;
}

CharClasses::CharClasses() {
  std::map<std::vector<uint8_t>, uint16_t> known;
  std::vector<uint8_t> block(256);
  for (size_t high = 0; high < block_of_.size(); ++high) {
    for (size_t low = 0; low < 256; ++low) block[low] = classify(static_cast<char32_t>(high << 8 | low));
    const auto [at, is_new] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    block_of_[high] = at->second;
  }
  for (size_t c = 0; c < ascii_.size(); ++c) ascii_[c] = of(static_cast<char32_t>(c));
}

void append_utf8(char32_t c, std::string& text) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

std::vector<char32_t> code_points_of(std::string_view text) {
  std::vector<char32_t> result;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.data() + i);
    result.push_back(c.value);
    i += static_cast<size_t>(c.num_bytes);
  }
  return result;
}

size_t valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    while (at + 8 <= text.size()) {
      __builtin_memcpy(&eight, text.data() + at, 8);
      if (eight & 0x8080808080808080ULL) break;
      at += 8;
    }
    if (at == text.size()) break;
    const size_t length = sequence_length(text.substr(at, 4));
    if (length == 0) break;
    at += length;
  }
  return at;
}

BadPart bad_utf8_part(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() == 1) return {1, true};
  const unsigned second = byte(1);
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return {1, false};
  size_t length = 2;
  while (length < wanted && length < text.size() && (byte(length) & 0xC0) == 0x80) ++length;
  return {length, length == text.size() && length < wanted};
}

std::string replace_bad_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t good = valid_utf8_prefix(text);
    result.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) break;
    result.append("\xEF\xBF\xBD");
    text.remove_prefix(bad_utf8_part(text).num_bytes);
  }
  return result;
}

bool is_space_only(std::string_view text) {
  for (const char32_t c : code_points_of(text)) {
    if ((CharClasses::get().of(c) & kSpace) == 0) return false;
  }
  return true;
}

ByteAlphabet::ByteAlphabet() {
  byte_.fill(-1);
  char32_t next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    const char32_t c = visible ? static_cast<char32_t>(b) : next++;
    character_[static_cast<size_t>(b)] = c;
    byte_[c] = static_cast<int16_t>(b);
  }
}

bool ByteAlphabet::to_bytes(std::string_view token, std::string& bytes) const {
  bytes.clear();
  for (size_t i = 0; i < token.size();) {
    const CodePoint c = decode_utf8(token.data() + i);
    const int b = byte(c.value);
    if (b < 0) return false;
    bytes.push_back(static_cast<char>(b));
    i += static_cast<size_t>(c.num_bytes);
  }
  return true;
}

std::string ByteAlphabet::to_token(std::string_view bytes) const {
  std::string token;
  for (const char b : bytes) append_utf8(character(static_cast<uint8_t>(b)), token);
  return token;
}

}  // namespace primus::tokenizer
