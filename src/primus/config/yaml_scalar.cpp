#include "primus/config/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "primus/base/strings.h"
#include "primus/config/digit.h"

// The patterns are those of the YAML 1.1 type repository as PyYAML 6.0 spells them (resolver.py), tried in its order.
namespace primus::config {
namespace {

// Takes characters from the front of `text` while `accept` holds; the number taken.
template <class Accept>
size_t take(std::string_view& text, Accept accept) {
  size_t count = 0;
  while (count < text.size() && accept(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

bool take_sign(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  text.remove_prefix(1);
  return true;
}

size_t take_digits_(std::string_view& text) {  // [0-9][0-9_]*
  if (text.empty() || !is_digit(text.front())) return 0;
  return take(text, [](char c) { return is_digit(c) || c == '_'; });
}

// (?::[0-5]?[0-9])+ ; false when there is none or one is malformed.
bool take_sixtieths(std::string_view& text) {
  bool any = false;
  while (text.size() >= 2 && text[0] == ':' && is_digit(text[1])) {
    const bool two = text.size() >= 3 && is_digit(text[2]);
    if (two && text[1] > '5') return false;
    text.remove_prefix(two ? 3 : 2);
    any = true;
  }
  return any;
}

bool ends_as_exponent(std::string_view text) {  // (?:[eE][-+][0-9]+)?$
  if (text.empty()) return true;
  if (text.size() < 3 || (text[0] != 'e' && text[0] != 'E') || (text[1] != '-' && text[1] != '+')) return false;
  return std::all_of(text.begin() + 2, text.end(), is_digit);
}

bool is_float(std::string_view text) {
  const auto digit_or_dash = [](char c) { return is_digit(c) || c == '_'; };
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  if (text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
    text.remove_prefix(1);
    take(text, digit_or_dash);
    return ends_as_exponent(text);
  }
  take_sign(text);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
  if (take_digits_(text) == 0) return false;
  const bool sixtieths = take_sixtieths(text);
  if (text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  take(text, digit_or_dash);
  return sixtieths ? text.empty() : ends_as_exponent(text);
}

enum class IntForm { None, Decimal, Binary, Octal, Hexadecimal, Sexagesimal };

IntForm int_form(std::string_view text) {
  take_sign(text);
  if (text.empty() || !is_digit(text[0])) return IntForm::None;
  if (text == "0") return IntForm::Decimal;
  if (text[0] == '0') {
    std::string_view rest = text.substr(1);
    if (rest[0] == 'b' || rest[0] == 'x') {
      const bool hex = rest[0] == 'x';
      rest.remove_prefix(1);
      const auto accept = [hex](char c) {
        return c == '_' || c == '0' || c == '1' ||
               (hex && (is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
      };
      if (rest.empty() || !std::all_of(rest.begin(), rest.end(), accept)) return IntForm::None;
      return hex ? IntForm::Hexadecimal : IntForm::Binary;
    }
    const bool octal = std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '7') || c == '_'; });
    return octal ? IntForm::Octal : IntForm::None;
  }
  take_digits_(text);
  if (text.empty()) return IntForm::Decimal;
  return take_sixtieths(text) && text.empty() ? IntForm::Sexagesimal : IntForm::None;
}

// [0-9]{4}-[0-9]{2}-[0-9]{2}, or the long form with a time of day and a zone.
bool is_timestamp(std::string_view text) {
  const auto number = [&text](size_t least, size_t most) {
    size_t count = 0;
    while (count < most && count < text.size() && is_digit(text[count])) ++count;
    text.remove_prefix(count);
    return count >= least;
  };
  const auto letter = [&text](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  const size_t length = text.size();
  if (!number(4, 4) || !letter('-') || !number(1, 2) || !letter('-') || !number(1, 2)) return false;
  if (text.empty()) return length == 10;  // the short form has two digits everywhere
  if (!letter('T') && !letter('t') && take(text, [](char c) { return c == ' ' || c == '\t'; }) == 0) return false;
  if (!number(1, 2) || !letter(':') || !number(2, 2) || !letter(':') || !number(2, 2)) return false;
  if (letter('.')) take(text, is_digit);
  take(text, [](char c) { return c == ' ' || c == '\t'; });
  if (text.empty()) return text.data()[-1] != ' ' && text.data()[-1] != '\t';
  if (letter('Z')) return text.empty();
  if (!letter('-') && !letter('+')) return false;
  if (!number(1, 2)) return false;
  if (letter(':') && !number(2, 2)) return false;
  return text.empty();
}

ScalarReading read_int(std::string_view text, IntForm form) {
  ScalarReading reading;
  reading.is_octal = form == IntForm::Octal;
  reading.is_sexagesimal = form == IntForm::Sexagesimal;
  std::string digits(text);
  std::erase(digits, '_');
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.erase(0, 1);
  const auto parse = [](std::string_view part, int base, uint64_t& into) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), into, base);
    return error == std::errc() && end == part.data() + part.size();
  };
  uint64_t magnitude = 0;
  bool fits = true;
  if (form == IntForm::Sexagesimal) {
    for (const std::string& part : split(digits, ':')) {
      uint64_t value = 0;
      fits = fits && parse(part, 10, value) && !__builtin_mul_overflow(magnitude, uint64_t{60}, &magnitude) &&
             !__builtin_add_overflow(magnitude, value, &magnitude);
    }
  } else {
    const bool prefixed = form == IntForm::Binary || form == IntForm::Hexadecimal;
    const int base = form == IntForm::Binary ? 2 : form == IntForm::Octal ? 8 : form == IntForm::Hexadecimal ? 16 : 10;
    const std::string_view part = std::string_view(digits).substr(prefixed ? 2 : 0);
    if (part.empty()) return reading.problem = "a number without digits", reading;
    fits = parse(part, base, magnitude);
  }
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!fits || magnitude > kMost + (negative ? 1 : 0)) {
    reading.problem = "an integer that does not fit in 64 bits";
    return reading;
  }
  reading.value = Value(static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude));
  return reading;
}

ScalarReading read_float(std::string_view text) {
  std::string digits = to_lower(text);
  std::erase(digits, '_');
  double sign = 1;
  if (digits[0] == '-' || digits[0] == '+') {
    sign = digits[0] == '-' ? -1 : 1;
    digits.erase(0, 1);
  }
  if (digits == ".inf") return {.value = Value(sign * std::numeric_limits<double>::infinity())};
  if (digits == ".nan") return {.value = Value(std::numeric_limits<double>::quiet_NaN())};
  ScalarReading reading;
  reading.is_sexagesimal = digits.find(':') != std::string::npos;
  double value = 0;
  for (const std::string& part : split(digits, ':')) {
    double one = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), one);
    // Python turns a number beyond the range into infinity or zero; nobody means that in an experiment.
    if (error == std::errc::result_out_of_range) return {.problem = "a number beyond the range of double precision"};
    value = value * 60 + one;
  }
  reading.value = Value(sign * value);
  return reading;
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

ScalarReading read_plain_scalar(std::string_view text) {
  if (is_any_of(text, {"", "~", "null", "Null", "NULL"})) return {};
  const char first = text[0];
  if (is_digit(first) || first == '-' || first == '+' || first == '.') {
    if (is_float(text)) return read_float(text);
    if (const IntForm form = int_form(text); form != IntForm::None) return read_int(text, form);
    return {.value = Value(std::string(text)), .is_date = is_digit(first) && is_timestamp(text)};
  }
  if (text.size() <= 5) {
    if (is_any_of(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return {.value = Value(true)};
    if (is_any_of(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
      return {.value = Value(false)};
    }
  }
  return {.value = Value(std::string(text)), .is_reserved = text == "<<" || text == "="};
}

bool looks_like_another_type(std::string_view text) {
  const ScalarReading reading = read_plain_scalar(text);
  if (!reading.value.is_string() || reading.is_date || reading.is_reserved || reading.problem != nullptr) return true;
  // Readings of YAML 1.2, JSON and Python: 1e5, 0o17, +.5, True, None, y.
  std::string_view rest = text;
  take_sign(rest);
  if (!rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1])))) {
    return rest.find_first_not_of("0123456789abcdefABCDEF.xoXO_+-:") == std::string_view::npos;
  }
  const std::string lower = to_lower(text);
  return is_any_of(lower,
                   {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"});
}

}  // namespace primus::config
