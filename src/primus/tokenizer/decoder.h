// Turns token texts back into text: the "decoder" of a tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/tokenizer/regex.h"

namespace primus::tokenizer {

struct DecodeReplace {
  std::optional<Regex> regex;  // nothing: literal
  std::string literal;
  std::string content;
};
struct DecodeStrip {
  std::string content;  // one character
  int start = 0;        // how many are taken away at most
  int stop = 0;
};
struct DecodeMetaspace {
  std::string replacement;
  bool drop_in_first = true;  // the first token loses its replacement characters
};
using DecodeStep = std::variant<DecodeReplace, DecodeStrip, DecodeMetaspace>;

// What the steps of a file come to.
struct DecoderRule {
  bool byte_level = false;              // tokens are bytes in GPT-2's alphabet
  bool byte_fallback = false;           // <0xNN> is a byte
  bool joined_by_spaces = false;        // no decoder: tokens with a space between
  std::vector<DecodeStep> token_steps;  // on each token
  std::vector<DecodeStep> text_steps;   // on the joint text (behind Fuse)
};
// json: the value of "decoder", null included. Errors: unknown kinds, by name.
Result<DecoderRule> read_decoder(const Json& json, const Place& place);

class Decoder {
 public:
  Decoder() = default;
  // texts[id]: the token as its file spells it, nothing for an id without a token.
  Decoder(DecoderRule rule, const std::vector<std::optional<std::string>>& texts);
  std::string decode(std::span<const int32_t> ids) const;
  void append_bytes(int32_t id, bool first, std::string& bytes) const;

 private:
  DecoderRule rule_;
  std::vector<std::string> bytes_;        // of each id, after the token steps
  std::vector<std::string> first_bytes_;  // the same as first token, where that differs
  std::vector<bool> is_byte_;             // <0xNN>, with byte_fallback
};

// "<0x0A>" is byte 10; nothing for other texts.
std::optional<uint8_t> byte_of_token(std::string_view text);

}  // namespace primus::tokenizer
