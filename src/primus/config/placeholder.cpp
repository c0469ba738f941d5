#include "primus/config/placeholder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/config/digit.h"
#include "primus/config/secret.h"

namespace primus::config {
namespace {

bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Expander {
 public:
  Expander(const Environment& environment, bool bare_dollar) : environment_(environment), bare_dollar_(bare_dollar) {}

  std::string expand(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const size_t dollar = text.find('$');
      out += text.substr(0, dollar);
      if (dollar == std::string_view::npos) break;
      text.remove_prefix(dollar);
      const size_t taken = text.starts_with("${") ? take_braces(text, out) : take_bare(text, out);
      text.remove_prefix(taken);
    }
    return out;
  }

  Expansion result;

 private:
  // Appends what the placeholder at the front of `text` stands for; the number of characters it takes.
  size_t take_braces(std::string_view text, std::string& out) {
    if (++num_taken_ > kMostPlaceholders) {
      result.too_many = true;
      return text.size();
    }
    const size_t close = matching_brace(text);
    if (close == std::string_view::npos) {
      result.unterminated = true;
      out += text;
      return text.size();
    }
    const std::string_view inside = text.substr(2, close - 2);
    const size_t colon = inside.find(':');
    const std::string name(inside.substr(0, colon));
    if (name.empty() || name.find_first_of("{}") != std::string::npos) {
      result.literals.emplace_back(text.substr(0, close + 1));
      out += text.substr(0, close + 1);
      return close + 1;
    }
    result.found_any = true;
    result.names_secret = result.names_secret || names_a_secret(name);
    if (const std::optional<std::string> value = environment_(name)) {
      result.used_variable = true;
      out += *value;
    } else if (colon != std::string_view::npos) {
      out += expand(inside.substr(colon + 1));
    } else {
      result.missing.push_back(name);
    }
    return close + 1;
  }

  size_t take_bare(std::string_view text, std::string& out) {
    size_t end = 1;
    while (bare_dollar_ && end < text.size() && is_word(text[end])) ++end;
    const std::string name(text.substr(1, end - 1));
    const std::optional<std::string> value = name.empty() ? std::nullopt : environment_(name);
    if (value) {
      result.used_variable = true;
      result.names_secret = result.names_secret || names_a_secret(name);
    }
    out += value ? *value : std::string(text.substr(0, end));
    return end;
  }

  static size_t matching_brace(std::string_view text) {
    int depth = 0;
    for (size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    return std::string_view::npos;
  }

  const Environment& environment_;
  bool bare_dollar_;
  size_t num_taken_ = 0;
};

// -? digits with an optional point and an optional exponent, at least one digit.
bool is_decimal(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  size_t at = 0, num_digits = 0;
  bool point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    point = point || text[at] == '.';
    num_digits += is_digit(text[at]);
  }
  if (num_digits == 0) return false;
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  return at < text.size() && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_digit);
}

}  // namespace

Expansion expand_placeholders(std::string_view text, const Environment& environment, bool bare_dollar) {
  Expander expander(environment, bare_dollar);
  std::string expanded = expander.expand(text);
  expander.result.text = std::move(expanded);
  return std::move(expander.result);
}

Value type_substituted(const std::string& text) {
  const std::string lower = text.size() <= 5 ? to_lower(text) : std::string();
  if (lower == "true") return Value(true);
  if (lower == "false") return Value(false);
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit)) {
    const std::optional<int64_t> number = parse_int(text);
    return number ? Value(*number) : Value(text);
  }
  // An exponent beyond the range stays text, so that a numeric key refuses it.
  if (is_decimal(text)) {
    if (const std::optional<double> number = parse_double(text)) return Value(*number);
  }
  return Value(text);
}

bool report_expansion(const Expansion& expansion, const Value& value, const std::string& key,
                      Diagnostics& diagnostics) {
  if (expansion.too_many) {
    diagnostics.push_back(
        error_at(value.place(), fmt::format("more than {} placeholders in one text", kMostPlaceholders)));
    diagnostics.back().key = key;
    return false;
  }
  for (const std::string& name : expansion.missing) {
    Diagnostic found = error_at(value.place(), fmt::format("the environment variable '{}' is not set", name));
    found.key = key;
    found.suggestion = fmt::format("export {}=..., or give a default: ${{{}:default}}", name, name);
    diagnostics.push_back(std::move(found));
  }
  if (expansion.unterminated) {
    Diagnostic found = error_at(value.place(), "a ${ without its closing }");
    found.key = key;
    if (!names_a_secret(key)) found.found = printable_ascii(value.origin().raw);
    diagnostics.push_back(std::move(found));
  }
  for (const std::string& literal : expansion.literals) {
    Diagnostic found = warning_at(value.place(), fmt::format("'{}' names no variable: kept as text", literal));
    found.key = key;
    diagnostics.push_back(std::move(found));
  }
  const bool is_text = is_valid_utf8(expansion.text);
  if (!is_text) {
    diagnostics.push_back(error_at(value.place(), "the environment puts a text here that is not UTF-8"));
    diagnostics.back().key = key;
  }
  return expansion.missing.empty() && !expansion.unterminated && is_text;
}

namespace {

// Written as in a shell, where "" is nothing.
void warn_of_quotes(const Expansion& expansion, const Value& value, const std::string& key, Diagnostics& diagnostics) {
  if (expansion.used_variable || (expansion.text != "\"\"" && expansion.text != "''")) return;
  const std::string& written = value.as_string();
  Diagnostic found =
      warning_at(value.place(),
                 fmt::format("the default of {} is two quote characters, not an empty text", printable_ascii(written)));
  found.key = key;
  found.suggestion = fmt::format("write {}}}", written.substr(0, written.find(':') + 1));
  diagnostics.push_back(std::move(found));
}

}  // namespace

void substitute_placeholders(Value& value, const std::string& key, const Environment& environment, bool keep_text,
                             Diagnostics& diagnostics) {
  if (value.is_map()) {
    for (MapEntry& entry : value.as_map()) {
      // The path is only for messages, yet long keys make it the cost of a big file: built for containers and hits
      // only.
      const bool needs_path = !entry.value.is_scalar() ||
                              (entry.value.is_string() && entry.value.as_string().find("${") != std::string::npos);
      if (!needs_path) continue;
      substitute_placeholders(entry.value, key.empty() ? entry.key : key + '.' + entry.key, environment, keep_text,
                              diagnostics);
    }
    return;
  }
  if (value.is_list()) {
    for (Value& item : value.as_list()) substitute_placeholders(item, key, environment, keep_text, diagnostics);
    return;
  }
  if (!value.is_string() || value.as_string().find("${") == std::string::npos) return;
  const Expansion expansion = expand_placeholders(value.as_string(), environment);
  if (!report_expansion(expansion, value, key, diagnostics) || !expansion.found_any) return;
  warn_of_quotes(expansion, value, key, diagnostics);
  Origin origin = value.origin();
  origin.placeholder = value.as_string();
  origin.raw = expansion.text;
  origin.style = Style::Plain;
  origin.substitution = expansion.used_variable ? Substitution::Variable : Substitution::Default;
  // What a default says stands in the file for everybody to read.
  origin.is_secret = expansion.used_variable && !expansion.text.empty() && (origin.is_secret || expansion.names_secret);
  Value typed = keep_text ? Value(expansion.text) : type_substituted(expansion.text);
  value.set_data_of(typed);
  value.origin() = std::move(origin);
}

}  // namespace primus::config
