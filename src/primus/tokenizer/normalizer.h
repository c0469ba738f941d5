// Rewrites text before it is cut into words: the "normalizer" of a tokenizer.json, step after step.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/tokenizer/regex.h"

namespace primus::tokenizer {

enum class UnicodeForm { Nfc, Nfd, Nfkc, Nfkd };
struct PrependStep {
  std::string text;  // put in front of a text that is not empty
};
struct ReplaceStep {
  std::string literal;
  std::string content;
};
struct RegexReplaceStep {
  Regex regex;
  std::string content;
};
struct LowercaseStep {};
struct StripStep {
  bool left = true;
  bool right = true;
};
using NormalizerStep = std::variant<UnicodeForm, PrependStep, ReplaceStep, RegexReplaceStep, LowercaseStep, StripStep>;

struct Normalizer {
  std::vector<NormalizerStep> steps;
  std::string apply(std::string_view text) const;  // text: valid UTF-8
};

std::string to_form(UnicodeForm form, std::string_view text);
// Every non-overlapping occurrence of literal, from the left.
std::string replace_all(std::string_view text, std::string_view literal, std::string_view content);

// json: the value of "normalizer", null included. Errors: unknown kinds, by name.
Result<Normalizer> read_normalizer(const Json& json, const Place& place);

}  // namespace primus::tokenizer
