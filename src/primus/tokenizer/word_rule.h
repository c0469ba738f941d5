// Hand-written splitters for the word patterns that nearly every published tokenizer uses. Each gives exactly the words
// that its regular expression gives (tests/property/tokenizer compares them), ten times as fast.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace primus::tokenizer {

struct WordRule {
  enum class Letters {
    SpaceThenRun,  // " ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+", as GPT-2
    AnyThenRun,    // "[^\r\n\p{L}\p{N}]?\p{L}+", as Llama 3
    AnyThenCased,  // o200k's two alternatives: capitals then small letters
  };
  enum class Contractions { None, Exact, AnyCase, AnyCaseAfterWord };

  Letters letters = Letters::SpaceThenRun;
  Contractions contractions = Contractions::Exact;
  int max_digits = 0;                // digits of one number word; 0: no limit
  bool slash_after_symbols = false;  // "[\r\n/]*" in place of "[\r\n]*"
  bool end_spaces_whole = false;     // "\s++$" stands before the newline rule
};

// Patterns as the files spell them, and by the names gpt2, llama3, qwen2, cl100k, o200k, tekken, megatron_v1.
std::optional<WordRule> known_word_rule(std::string_view pattern);
// The regular expression of such a name; nothing for other names.
std::optional<std::string> named_pattern(std::string_view name);
std::vector<std::string> pattern_names();

// Appends the end of every word of text[begin, end), in order; the words cover the range. text: valid UTF-8.
void split_words(const WordRule& rule, std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends);

}  // namespace primus::tokenizer
