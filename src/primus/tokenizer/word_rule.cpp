// Legend: p the reading position, q a position behind an optional first character, end the end of the piece. All of
// them point at the first byte of a character.
#include "primus/tokenizer/word_rule.h"

#include <array>

#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

using Byte = unsigned char;
using Letters = WordRule::Letters;
using Contractions = WordRule::Contractions;

struct Known {
  const char* name;
  const char* pattern;
  WordRule rule;
};

constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Two spellings of one rule stand in two rows; only the first of a name is what the name means.
const std::array<Known, 11>& known_rules() {
  static const std::array<Known, 11> rules = {{
      {"gpt2", kGpt2, {}},
      {"gpt2", R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)", {}},
      {"gpt2", R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", {}},
      {"llama3",
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Letters::AnyThenRun, Contractions::AnyCase, 3, false, false}},
      {"qwen2",
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Letters::AnyThenRun, Contractions::AnyCase, 1, false, false}},
      {"cl100k",
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
       {Letters::AnyThenRun, Contractions::AnyCase, 3, false, true}},
      {"cl100k",
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
       {Letters::AnyThenRun, Contractions::AnyCase, 3, false, false}},
      {"o200k",
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
       R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Letters::AnyThenCased, Contractions::AnyCaseAfterWord, 3, true, false}},
      {"tekken",
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
       R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Letters::AnyThenCased, Contractions::None, 1, true, false}},
      {"megatron_v1",
       R"([^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
       {Letters::AnyThenRun, Contractions::None, 1, false, false}},
      {"megatron_v1",
       R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Letters::AnyThenRun, Contractions::None, 1, false, false}},
  }};
  return rules;
}

// Walks one piece. A member function returns the end of what it matches, or nullptr.
class Walker {
 public:
  Walker(const WordRule& rule, const Byte* end) : rule_(rule), end_(end), classes_(CharClasses::get()) {}

  template <Letters kLetters>
  const Byte* next_word(const Byte* p) const {
    if constexpr (kLetters == Letters::SpaceThenRun) {
      return word_after_space(p);
    } else {
      return word_after_any(p, kLetters == Letters::AnyThenCased);
    }
  }

 private:
  uint8_t class_at(const Byte* p) const {
    return *p < 0x80 ? classes_.of_ascii(*p) : classes_.of(decode_utf8(reinterpret_cast<const char*>(p)).value);
  }
  static int length_at(const Byte* p) { return *p < 0x80 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4; }

  const Byte* skip(const Byte* p, uint8_t mask) const {
    while (p < end_ && (class_at(p) & mask)) p += length_at(p);
    return p;
  }

  // (?i:'s|'t|'re|'ve|'m|'ll|'d); U+017F, the long s, folds to s.
  const Byte* contraction(const Byte* p, bool any_case) const {
    if (p + 1 >= end_ || *p != '\'') return nullptr;
    const auto fold = [&](Byte c) { return any_case && c >= 'A' && c <= 'Z' ? static_cast<Byte>(c + 32) : c; };
    const Byte first = fold(p[1]);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return p + 2;
    if (p + 2 >= end_) return nullptr;
    if (any_case && p[1] == 0xC5 && p[2] == 0xBF) return p + 3;
    const Byte second = fold(p[2]);
    const bool two =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return two ? p + 3 : nullptr;
  }

  // \s+(?!\S)|\s+ over the run [p, run_end): all of it at the end of the piece, else all but the last character.
  const Byte* spaces(const Byte* p, const Byte* run_end) const {
    if (run_end == end_) return run_end;
    const Byte* last = run_end - 1;
    while ((*last & 0xC0) == 0x80) --last;
    return last > p ? last : run_end;
  }

  const Byte* word_after_space(const Byte* p) const {
    if (*p == '\'') {
      if (const Byte* match = contraction(p, false)) return match;
    }
    const Byte* q = *p == ' ' && p + 1 < end_ ? p + 1 : p;
    const uint8_t bits = class_at(q);
    for (const uint8_t mask : {kLetter, kNumber, kOther}) {
      if (bits & mask) return skip(q + length_at(q), mask);
    }
    return spaces(p, skip(p, kSpace));
  }

  // [U]*[W]+ with U upper-like and W lower-like. The sets overlap, so U gives back what W needs.
  const Byte* upper_then_lower(const Byte* p) const {
    const Byte* after_shared = nullptr;
    while (p < end_) {
      const uint8_t bits = class_at(p);
      if (!(bits & kUpperLike)) {
        if (bits & kLowerLike) return skip(p, kLowerLike);
        break;
      }
      p += length_at(p);
      if (bits & kLowerLike) after_shared = p;
    }
    return after_shared;
  }

  const Byte* upper_run(const Byte* p) const {
    const Byte* after = skip(p, kUpperLike);
    return after > p ? skip(after, kLowerLike) : nullptr;
  }

  const Byte* cased_word(const Byte* p, bool may_lead) const {
    const Byte* q = p + length_at(p);
    const Byte* match = may_lead && q < end_ ? upper_then_lower(q) : nullptr;
    if (!match) match = upper_then_lower(p);
    if (!match && may_lead && q < end_) match = upper_run(q);
    if (!match) match = upper_run(p);
    if (match && rule_.contractions == Contractions::AnyCaseAfterWord) {
      if (const Byte* longer = contraction(match, true)) return longer;
    }
    return match;
  }

  const Byte* letter_word(const Byte* p, uint8_t bits, bool may_lead) const {
    if (bits & kLetter) return skip(p + length_at(p), kLetter);
    const Byte* q = p + length_at(p);
    if (!may_lead || q >= end_ || !(class_at(q) & kLetter)) return nullptr;
    return skip(q + length_at(q), kLetter);
  }

  const Byte* number(const Byte* p) const {
    for (int n = 0; p < end_ && (rule_.max_digits == 0 || n < rule_.max_digits) && (class_at(p) & kNumber); ++n) {
      p += length_at(p);
    }
    return p;
  }

  const Byte* symbols(const Byte* q) const {
    q = skip(q, kOther);
    while (q < end_ && (*q == '\r' || *q == '\n' || (rule_.slash_after_symbols && *q == '/'))) ++q;
    return q;
  }

  const Byte* word_after_any(const Byte* p, bool cased) const {
    if (*p == '\'' && rule_.contractions == Contractions::AnyCase) {
      if (const Byte* match = contraction(p, true)) return match;
    }
    const uint8_t bits = class_at(p);
    const bool may_lead = !(bits & (kLetter | kNumber | kNewline));
    if (const Byte* match = cased ? cased_word(p, may_lead) : letter_word(p, bits, may_lead)) return match;
    if (bits & kNumber) return number(p);
    if (bits & kOther) return symbols(p);
    if (*p == ' ' && p + 1 < end_ && (class_at(p + 1) & kOther)) return symbols(p + 1);
    return space_word(p);
  }

  // \s*[\r\n]+ reaches to the last line end of the run of spaces.
  const Byte* space_word(const Byte* p) const {
    const Byte* run_end = skip(p, kSpace);
    if (rule_.end_spaces_whole && run_end == end_) return run_end;
    for (const Byte* last = run_end; last > p; --last) {
      if (last[-1] == '\r' || last[-1] == '\n') return last;
    }
    return spaces(p, run_end);
  }

  const WordRule& rule_;
  const Byte* end_;
  const CharClasses& classes_;
};

template <Letters kLetters>
void split_with(const WordRule& rule, std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends) {
  const auto* base = reinterpret_cast<const Byte*>(text.data());
  const Walker walker(rule, base + end);
  for (const Byte* p = base + begin; p < base + end;) {
    p = walker.next_word<kLetters>(p);
    ends.push_back(static_cast<size_t>(p - base));
  }
}

}  // namespace

std::optional<WordRule> known_word_rule(std::string_view pattern) {
  for (const Known& known : known_rules()) {
    if (pattern == known.pattern || pattern == known.name) return known.rule;
  }
  return std::nullopt;
}

std::optional<std::string> named_pattern(std::string_view name) {
  for (const Known& known : known_rules()) {
    if (name == known.name) return known.pattern;
  }
  return std::nullopt;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Known& known : known_rules()) {
    if (names.empty() || names.back() != known.name) names.emplace_back(known.name);
  }
  return names;
}

void split_words(const WordRule& rule, std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends) {
  switch (rule.letters) {
    case Letters::SpaceThenRun:
      return split_with<Letters::SpaceThenRun>(rule, text, begin, end, ends);
    case Letters::AnyThenRun:
      return split_with<Letters::AnyThenRun>(rule, text, begin, end, ends);
    case Letters::AnyThenCased:
      return split_with<Letters::AnyThenCased>(rule, text, begin, end, ends);
  }
}

}  // namespace primus::tokenizer
