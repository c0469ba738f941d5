#include "primus/base/strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <initializer_list>

namespace primus {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::vector<std::string> split_whitespace(std::string_view text) {
  std::vector<std::string> parts;
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  size_t at = text.find_first_not_of(kSpace);
  while (at != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool starts_with_ci(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && to_lower(text.substr(0, prefix.size())) == to_lower(prefix);
}

std::optional<int64_t> parse_int(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string format_double(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", value);
  // A whole number keeps a point, and an exponent a sign and a point, so that YAML 1.1 reads a float back.
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  if (text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

std::string format_thousands(int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value);
  std::string digits = std::to_string(value < 0 ? uint64_t{0} - magnitude : magnitude);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return value < 0 ? "-" + digits : digits;
}

std::string format_count(double value) {
  for (const auto& [scale, unit] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}}) {
    if (std::abs(value) >= scale) return fmt::format("{:.2f}{}", value / scale, unit);
  }
  return fmt::format("{:.0f}", value);
}

std::string format_bytes(double value_bytes) {
  for (const auto& [scale, unit] : {std::pair{0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}}) {
    if (std::abs(value_bytes) >= scale) return fmt::format("{:.2f}{}", value_bytes / scale, unit);
  }
  return fmt::format("{:.0f} B", value_bytes);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

int edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> rows(3 * width);
  int* before = rows.data();
  int* previous = before + width;
  int* current = previous + width;
  for (size_t j = 0; j < width; ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int substitution = previous[j - 1] + (a[i - 1] != b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    int* recycled = before;
    before = previous;
    previous = current;
    current = recycled;
  }
  return previous[b.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates, size_t most) {
  const int limit = std::max(2, static_cast<int>(word.size()) / 3);
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const int length_gap = std::abs(static_cast<int>(candidate.size()) - static_cast<int>(word.size()));
    if (length_gap > limit) continue;
    const int distance = edit_distance(to_lower(word), to_lower(candidate));
    if (distance <= limit) ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (auto& [distance, name] : ranked) {
    if (names.size() == most) break;
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = nearest(word, candidates);
  if (names.empty()) return {};
  std::string text = "did you mean '" + names.front() + "'";
  for (size_t i = 1; i < names.size(); ++i) text += (i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
  return text + "?";
}

namespace {

// The words of a name in lower case: HF_TOKEN, hf-token and hfToken are all {hf, token}.
std::vector<std::string> words_of_name(std::string_view name) {
  std::string spaced;
  char before = ' ';
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z';
    if (upper && before >= 'a' && before <= 'z') spaced += ' ';
    spaced += upper || lower || (c >= '0' && c <= '9') ? c : ' ';
    before = c;
  }
  return split_whitespace(to_lower(spaced));
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool names_a_secret(std::string_view name) {
  const std::vector<std::string> words = words_of_name(name);
  if (words.empty()) return false;
  const std::string& last = words.back();
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  if (last == "key" && before == "env") return false;  // the name of a variable, even of one that holds a secret
  for (size_t i = 0; i < words.size(); ++i) {
    for (const char* part : {"secret", "password", "passwd", "passphrase", "credential", "apikey", "accesskey"}) {
      if (words[i].find(part) != std::string::npos) return true;
    }
    const std::string_view next = i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
    if (words[i] == "api" && is_one_of(next, {"key", "keys", "token"})) return true;
    if (is_one_of(words[i], {"access", "auth"}) && next == "token") return true;
  }
  if (last == "key") return !is_one_of(before, {"query", "sort", "group", "public", "image", "text", "column", "json"});
  if (last != "token") return false;
  // Vocabulary entries and counting words, before "token" or at the front: eod_token, mean_per_token, moe_drop_token.
  for (const std::string& word : {before, words.front()}) {
    if (is_one_of(word, {"bos",     "eos",   "eod",  "eot",   "pad",  "unk",   "mask",  "cls",
                         "sep",     "start", "end",  "begin", "stop", "image", "video", "audio",
                         "special", "per",   "each", "first", "last", "next",  "moe"})) {
      return false;
    }
  }
  return true;
}

namespace {

// Length of the well-formed UTF-8 sequence at `at`, 0 when it is malformed (overlong, surrogate, too large, cut).
size_t utf8_sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_sequence_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

size_t num_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string without_controls(std::string_view text) {
  constexpr std::string_view kUnknown = "\xEF\xBF\xBD";
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F
      shown += kUnknown;
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      shown += kUnknown;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string printable_ascii(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return clean;
}

std::string first_ascii_line(std::string_view text) {
  return printable_ascii(text.substr(0, text.find('\n')));
}

}  // namespace primus
