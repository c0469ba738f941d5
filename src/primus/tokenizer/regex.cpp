#define PCRE2_CODE_UNIT_WIDTH 8
#include "primus/tokenizer/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include "primus/base/check.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

namespace {

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct MatchData {
  explicit MatchData(const pcre2_code* code) : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
  ~MatchData() { pcre2_match_data_free(data); }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  pcre2_match_data* data;
};

}  // namespace

std::string to_pcre2(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      result.push_back(c);
      continue;
    }
    const char next = pattern[++i];
    const auto put = [&](std::string_view members) {
      result += in_class ? std::string(members) : "[" + std::string(members) + "]";
    };
    switch (next) {
      case 's':
        result += R"(\p{White_Space})";
        break;
      case 'S':
        result += R"(\P{White_Space})";
        break;
      case 'w':
        put(R"(\p{L}\p{M}\p{Nd}\p{Pc})");
        break;
      case 'W':
        if (in_class) result += R"(\W)";
        if (!in_class) result += R"([^\p{L}\p{M}\p{Nd}\p{Pc}])";
        break;
      case 'h':
        put("0-9A-Fa-f");
        break;
      default:
        result.push_back('\\'), result.push_back(next);
    }
  }
  return result;
}

Result<Regex> Regex::compile(std::string_view pattern, const Place& place) {
  const std::string text = to_pcre2(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto owner = std::make_shared<Code>();
  // Oniguruma's ^ and $ hold at line ends.
  owner->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (!owner->code) {
    Diagnostic diagnostic = error_at(place, "the regular expression of the tokenizer cannot be compiled");
    diagnostic.found = fmt::format("{} at position {} of {}", error_text(error), offset, text);
    return diagnostic;
  }
  pcre2_jit_compile(owner->code, PCRE2_JIT_COMPLETE);  // without JIT the same matches, slower
  return Regex(std::move(owner));
}

std::string Regex::escape(std::string_view literal) {
  std::string result;
  for (const char c : literal) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z')) result += '\\';
    result += c;
  }
  return result;
}

void Regex::find_all(std::string_view subject, std::vector<ByteRange>& matches) const {
  const MatchData match(code_->code);
  const auto* text = reinterpret_cast<PCRE2_SPTR>(subject.data());
  for (size_t at = 0; at <= subject.size();) {
    int count = pcre2_match(code_->code, text, subject.size(), at, PCRE2_NO_UTF_CHECK, match.data, nullptr);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) {
      count =
          pcre2_match(code_->code, text, subject.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match.data, nullptr);
    }
    if (count == PCRE2_ERROR_NOMATCH) return;
    PRIMUS_CHECK(count >= 0, "the regular expression engine stopped: " + error_text(count));
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.data);
    matches.emplace_back(range[0], range[1]);
    at = range[1];
    if (range[0] == range[1]) {
      if (at >= subject.size()) return;
      at += static_cast<size_t>(decode_utf8(subject.data() + at).num_bytes);
    }
  }
}

}  // namespace primus::tokenizer
