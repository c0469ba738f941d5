#include "primus/tokenizer/pre_tokenizer.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

struct Part {
  size_t begin;
  size_t end;
  bool is_match;
};

// The reference library's five ways to turn matches into words.
void emit(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<Part>& words) {
  const size_t first = words.size();
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::Isolated:
      words.insert(words.end(), parts.begin(), parts.end());
      return;
    case SplitBehavior::Removed:
      for (const Part& part : parts) {
        if (!part.is_match) words.push_back(part);
      }
      return;
    case SplitBehavior::Contiguous:
      for (const Part& part : parts) {
        if (words.size() > first && part.is_match == previous) {
          words.back().end = part.end;
        } else {
          words.push_back(part);
        }
        previous = part.is_match;
      }
      return;
    case SplitBehavior::MergedWithPrevious:
      for (const Part& part : parts) {
        if (part.is_match && !previous && words.size() > first) {
          words.back().end = part.end;
        } else {
          words.push_back(part);
        }
        previous = part.is_match;
      }
      return;
    case SplitBehavior::MergedWithNext:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->is_match && !previous && words.size() > first) {
          words.back().begin = part->begin;
        } else {
          words.push_back(*part);
        }
        previous = part->is_match;
      }
      std::reverse(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
      return;
  }
}

// Runs cut(word, parts) over every word and sets the words that come out. Removed text leaves gaps, so it is cut out.
template <class Cut>
void resplit(Words& words, SplitBehavior behavior, Cut cut) {
  std::vector<Part> parts;
  std::vector<Part> result;
  size_t begin = 0;
  for (const size_t end : words.ends()) {
    parts.clear();
    cut(words.text().substr(begin, end - begin), parts);
    for (Part& part : parts) part.begin += begin, part.end += begin;
    emit(parts, behavior, result);
    begin = end;
  }
  std::erase_if(result, [](const Part& part) { return part.begin == part.end; });
  std::vector<size_t> ends;
  ends.reserve(result.size());
  if (behavior != SplitBehavior::Removed) {
    for (const Part& part : result) ends.push_back(part.end);
    return words.set_ends(std::move(ends));
  }
  std::string kept;
  for (const Part& part : result) {
    kept.append(words.text().substr(part.begin, part.end - part.begin));
    ends.push_back(kept.size());
  }
  if (!result.empty() && result.front().begin > 0) words.set_at_start(false);
  words.set_text(std::move(kept), std::move(ends));
}

void cut_at_matches(const std::vector<ByteRange>& matches, size_t size, bool invert, std::vector<Part>& parts) {
  size_t at = 0;
  for (const auto& [begin, end] : matches) {
    if (begin > at) parts.push_back({at, begin, invert});
    parts.push_back({begin, end, !invert});
    at = end;
  }
  if (at < size) parts.push_back({at, size, invert});
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_P_MASK;
}

struct Apply {
  Words& words;

  void operator()(const WordRule& rule) const {
    std::vector<size_t> ends;
    ends.reserve(words.text().size() / 4 + 8);
    size_t begin = 0;
    for (const size_t end : words.ends()) {
      split_words(rule, words.text(), begin, end, ends);
      begin = end;
    }
    words.set_ends(std::move(ends));
  }

  void operator()(const SplitStage& stage) const {
    std::vector<ByteRange> matches;
    resplit(words, stage.behavior, [&](std::string_view word, std::vector<Part>& parts) {
      matches.clear();
      stage.regex.find_all(word, matches);
      cut_at_matches(matches, word.size(), stage.invert, parts);
    });
  }

  void operator()(const CharacterStage& stage) const {
    const CharClasses& classes = CharClasses::get();
    resplit(words, stage.behavior, [&](std::string_view word, std::vector<Part>& parts) {
      size_t at = 0;
      for (size_t i = 0; i < word.size();) {
        const CodePoint c = decode_utf8(word.data() + i);
        const size_t next = i + static_cast<size_t>(c.num_bytes);
        const bool is_number = stage.which == CharacterStage::Class::Number;
        if (is_number ? (classes.of(c.value) & kNumber) != 0 : is_punctuation(c.value)) {
          if (i > at) parts.push_back({at, i, false});
          parts.push_back({i, next, true});
          at = next;
        }
        i = next;
      }
      if (at < word.size()) parts.push_back({at, word.size(), false});
    });
  }

  void operator()(const PrefixSpaceStage&) const {
    rewrite([](std::string_view word, bool, std::string& text) {
      if (!word.starts_with(' ')) text.push_back(' ');
      text.append(word);
    });
  }

  void operator()(const MetaspaceStage& stage) const {
    rewrite([&](std::string_view word, bool first, std::string& text) {
      const bool wanted = stage.prepend == MetaspaceStage::Prepend::Always ||
                          (stage.prepend == MetaspaceStage::Prepend::First && first);
      if (wanted && !word.starts_with(' ') && !word.starts_with(stage.replacement)) text.append(stage.replacement);
      for (const char c : word) {
        if (c == ' ') {
          text.append(stage.replacement);
        } else {
          text.push_back(c);
        }
      }
    });
    if (!stage.split) return;
    resplit(words, SplitBehavior::MergedWithNext, [&](std::string_view word, std::vector<Part>& parts) {
      size_t at = 0;
      for (size_t hit = word.find(stage.replacement); hit != word.npos; hit = word.find(stage.replacement, at)) {
        if (hit > at) parts.push_back({at, hit, false});
        at = hit + stage.replacement.size();
        parts.push_back({hit, at, true});
      }
      if (at < word.size()) parts.push_back({at, word.size(), false});
    });
  }

  template <class Write>
  void rewrite(Write write) const {
    std::string text;
    text.reserve(words.text().size() + 16);
    std::vector<size_t> ends;
    size_t begin = 0;
    for (const size_t end : words.ends()) {
      write(words.text().substr(begin, end - begin), begin == 0 && words.at_start(), text);
      ends.push_back(text.size());
      begin = end;
    }
    words.set_text(std::move(text), std::move(ends));
  }
};

}  // namespace

void PreTokenizer::apply(Words& words) const {
  for (const PreTokenizerStage& stage : stages) std::visit(Apply{words}, stage);
}

}  // namespace primus::tokenizer
