// Regular expressions of tokenizer files (Oniguruma and fancy-regex spelling) on PCRE2 with JIT, Unicode 14.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "primus/base/result.h"

namespace primus::tokenizer {

using ByteRange = std::pair<size_t, size_t>;  // [begin, end) in bytes

class Regex {
 public:
  // Errors: a pattern that PCRE2 refuses, with its reason and the position in the pattern.
  static Result<Regex> compile(std::string_view pattern, const Place& place);
  static std::string escape(std::string_view literal);

  // All matches from left to right, not overlapping; an empty match is given too. subject: valid UTF-8.
  void find_all(std::string_view subject, std::vector<ByteRange>& matches) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

// Where Oniguruma and PCRE2 read one spelling differently, the PCRE2 spelling of Oniguruma's meaning: \s is Unicode
// White_Space, \w has marks and connectors, \h is a hexadecimal digit.
std::string to_pcre2(std::string_view pattern);

}  // namespace primus::tokenizer
