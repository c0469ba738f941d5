// Cuts text into words that merges never cross: the "pre_tokenizer" of a tokenizer.json, stage after stage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/tokenizer/regex.h"
#include "primus/tokenizer/word_rule.h"

namespace primus::tokenizer {

// Words of one text. The text may be longer than the input: stages add spaces or replace characters.
class Words {
 public:
  Words(std::string_view text, bool at_start) : text_(text), ends_{text.size()}, at_start_(at_start) {
    if (text.empty()) ends_.clear();
  }
  std::string_view text() const { return text_; }
  const std::vector<size_t>& ends() const { return ends_; }  // word i is [ends[i-1], ends[i])
  bool at_start() const { return at_start_; }                // the first word begins the whole input

  void set_ends(std::vector<size_t> ends) { ends_ = std::move(ends); }
  void set_text(std::string text, std::vector<size_t> ends) {
    owned_ = std::move(text);
    text_ = owned_;
    ends_ = std::move(ends);
  }
  void set_at_start(bool at_start) { at_start_ = at_start; }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

 private:
  std::string_view text_;
  std::string owned_;
  std::vector<size_t> ends_;
  bool at_start_;
};

enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

struct SplitStage {
  Regex regex;
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false;
};
struct PrefixSpaceStage {};  // ByteLevel's add_prefix_space: every word begins with a space
struct CharacterStage {      // cuts at characters of a class: Digits, Punctuation
  enum class Class { Number, Punctuation } which = Class::Number;
  SplitBehavior behavior = SplitBehavior::Isolated;
};
struct MetaspaceStage {
  enum class Prepend { First, Always, Never };
  std::string replacement = "\xE2\x96\x81";
  Prepend prepend = Prepend::Always;
  bool split = true;
};
using PreTokenizerStage = std::variant<WordRule, SplitStage, PrefixSpaceStage, CharacterStage, MetaspaceStage>;

struct PreTokenizer {
  std::vector<PreTokenizerStage> stages;
  bool byte_level = false;  // words are bytes to the model, not characters

  void apply(Words& words) const;
};

// json: the value of "pre_tokenizer", null included. Errors: unknown kinds, by name; values out of place.
Result<PreTokenizer> read_pre_tokenizer(const Json& json, const Place& place);

// The pattern of a "Split" or "Replace": {"String": ...} or {"Regex": ...}.
struct PatternText {
  std::string text;
  bool is_regex = false;
};
std::optional<PatternText> read_pattern(const Json& json);

}  // namespace primus::tokenizer
