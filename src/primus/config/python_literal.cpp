#include "primus/config/python_literal.h"

#include <charconv>
#include <string>

#include "primus/base/strings.h"
#include "primus/config/digit.h"

namespace primus::config {
namespace {

// Removes underscores that stand between two digits; nothing when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string digits;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '_') {
      digits += text[at];
    } else if (at == 0 || at + 1 == text.size() || !is_digit(text[at - 1]) || !is_digit(text[at + 1])) {
      return std::nullopt;
    }
  }
  return digits;
}

void append_utf8(uint32_t code, std::string& out) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  if (code < 0x10000) return put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
}

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  std::optional<Value> read_all() {
    std::optional<Value> value = read(0);
    skip_blanks();
    if (!value || !rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  static constexpr int kMostDepth = 100;

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\n' || rest_[0] == '\r')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<Value> read(int depth) {
    if (depth > kMostDepth) return std::nullopt;
    skip_blanks();
    if (rest_.empty()) return std::nullopt;
    switch (rest_[0]) {
      case '[':
        return read_sequence(']', depth);
      case '(':
        return read_sequence(')', depth);
      case '{':
        return read_dict(depth);
      case '\'':
      case '"':
        return read_text();
      default:
        return read_word();
    }
  }

  std::optional<Value> read_sequence(char close, int depth) {
    rest_.remove_prefix(1);
    List items;
    bool comma = false;
    const std::string_view end(&close, 1);
    while (!take(end)) {
      if (!items.empty() && !comma) return std::nullopt;
      std::optional<Value> item = read(depth + 1);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
      comma = take(",");
    }
    if (close == ')' && items.size() == 1 && !comma) return std::move(items[0]);  // (5) is five, (5,) a tuple
    return Value(std::move(items));
  }

  std::optional<Value> read_dict(int depth) {
    rest_.remove_prefix(1);
    Map map;
    bool comma = true;
    while (!take("}")) {
      if (!comma) return std::nullopt;
      std::optional<Value> key = read(depth + 1);
      if (!key || !key->is_string() || !take(":")) return std::nullopt;
      std::optional<Value> value = read(depth + 1);
      if (!value) return std::nullopt;
      map.set(key->as_string(), std::move(*value));
      comma = take(",");
    }
    return Value(std::move(map));
  }

  std::optional<Value> read_text() {
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_[0] != quote) {
      if (rest_[0] == '\n') return std::nullopt;
      if (rest_[0] == '\\') {
        if (!read_escape(text)) return std::nullopt;
        continue;
      }
      text += rest_[0];
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return std::nullopt;
    rest_.remove_prefix(1);
    Value value(std::move(text));
    value.origin().style = Style::Quoted;
    return value;
  }

  bool read_escape(std::string& out) {
    if (rest_.size() < 2) return false;
    const char letter = rest_[1];
    rest_.remove_prefix(2);
    constexpr std::string_view kLetters = "nrtabfv0\\'\"", kMeanings("\n\r\t\a\b\f\v\0\\'\"", 11);
    if (const size_t at = kLetters.find(letter); at != std::string_view::npos) {
      out += kMeanings[at];
      return true;
    }
    const size_t num_digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (num_digits == 0) {  // Python keeps an unknown escape as it stands
      out += '\\';
      out += letter;
      return true;
    }
    uint32_t code = 0;
    if (rest_.size() < num_digits) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + num_digits, code, 16);
    if (error != std::errc() || end != rest_.data() + num_digits || code > 0x10FFFF) return false;
    rest_.remove_prefix(num_digits);
    append_utf8(code, out);
    return true;
  }

  std::optional<Value> read_word() {
    size_t end = 0;
    while (end < rest_.size() && std::string_view(",:]}) \t\r\n").find(rest_[end]) == std::string_view::npos) ++end;
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (word == "True") return Value(true);
    if (word == "False") return Value(false);
    if (word == "None") return Value();
    const std::string_view digits = word.substr(!word.empty() && (word[0] == '-' || word[0] == '+') ? 1 : 0);
    if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return std::nullopt;
    const bool negative = word[0] == '-';
    for (const auto& [prefix, base] : {std::pair{"0x", 16}, {"0o", 8}, {"0b", 2}}) {
      if (!to_lower(digits).starts_with(prefix)) continue;
      int64_t number = 0;
      const auto [last, error] = std::from_chars(digits.data() + 2, digits.data() + digits.size(), number, base);
      if (error != std::errc() || last != digits.data() + digits.size()) return std::nullopt;
      return Value(negative ? -number : number);
    }
    const bool leading_zero = digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
    if (const auto number = read_python_int(word); number && !leading_zero) return Value(*number);
    if (const auto number = read_python_float(word); number) return Value(*number);
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Value> read_python_literal(std::string_view text) {
  return LiteralReader(text).read_all();
}

std::optional<int64_t> read_python_int(std::string_view text) {
  const auto digits = without_underscores(trim(text));
  return digits ? parse_int(*digits) : std::nullopt;
}

std::optional<double> read_python_float(std::string_view text) {
  const auto digits = without_underscores(trim(text));
  return digits ? parse_double(*digits) : std::nullopt;
}

}  // namespace primus::config
