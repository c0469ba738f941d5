#include "primus/dialect/typed_value.h"

#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"

namespace primus::dialect {

namespace {

using config::Kind;
using config::Value;

std::optional<double> as_number(const TypedValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value.data)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value.data)) return *d;
  return std::nullopt;
}

template <class T>
std::string list_text(const std::vector<T>& items) {
  std::vector<std::string> parts;
  for (const T& item : items) {
    if constexpr (std::is_same_v<T, std::string>) parts.push_back(item);
    if constexpr (std::is_same_v<T, int64_t>) parts.push_back(std::to_string(item));
    if constexpr (std::is_same_v<T, double>) parts.push_back(format_double(item));
  }
  return "[" + join(parts, ", ") + "]";
}

// Reading of one scalar, shared by scalars and list items. Gathers what is wrong instead of throwing.
struct ScalarReader {
  const Parameter& parameter;
  Diagnostics& out;
  NumericText& numeric_text;

  std::nullopt_t wrong(const Value& value, std::string expected, std::string suggestion = {}) const {
    Diagnostic finding = error_at(value.place(), "'" + std::string(parameter.name) + "' has a value of the wrong kind");
    finding.key = parameter.name;
    finding.found = std::string(config::to_string(value.kind())) + " " + config::describe(value);
    finding.expected = std::move(expected);
    finding.suggestion = std::move(suggestion);
    out.push_back(std::move(finding));
    return std::nullopt;
  }

  std::string expected() const {
    return std::string(to_string(parameter.type)) + (parameter.nullable ? " or null" : "");
  }

  // 0123 is 83 in YAML 1.1 and 123 on a command line: refused, with both readings.
  bool has_two_readings(const Value& value) const {
    std::string_view raw = value.origin().raw;
    if (!raw.empty() && (raw[0] == '-' || raw[0] == '+')) raw.remove_prefix(1);
    if (raw.size() < 2 || !value.is_int()) return false;
    const bool sexagesimal = raw.find(':') != std::string_view::npos;
    const bool leading_zero = raw[0] == '0' && raw.find_first_not_of("0123456789_") == std::string_view::npos &&
                              raw.find_first_not_of('0') != std::string_view::npos;
    if (!sexagesimal && !leading_zero) return false;
    std::string digits(raw);
    std::erase(digits, '_');
    const std::string decimal = sexagesimal ? "" : std::to_string(parse_int(digits).value_or(0));
    Diagnostic finding =
        error_at(value.place(), "'" + std::string(parameter.name) + "' has a number with two readings");
    finding.key = parameter.name;
    finding.found =
        value.origin().raw + (sexagesimal ? ", which YAML 1.1 reads in base 60"
                                          : ", which YAML 1.1 reads as octal where it can, others as " + decimal);
    finding.expected = "a decimal integer without leading zeros";
    if (leading_zero) finding.suggestion = "write " + decimal;
    out.push_back(std::move(finding));
    return true;
  }

  void note_text(const Value& value) const {
    if (numeric_text.keys.empty()) numeric_text.first_place = value.place();
    if (std::find(numeric_text.keys.begin(), numeric_text.keys.end(), parameter.name) == numeric_text.keys.end())
      numeric_text.keys.emplace_back(parameter.name);
  }

  std::optional<double> finite(const Value& value, double number) const {
    if (std::isfinite(number)) return number;
    return wrong(value, "a finite number");
  }

  std::optional<double> number(const Value& value) const {
    if (value.is_int()) {
      if (has_two_readings(value)) return std::nullopt;
      return static_cast<double>(value.as_int());
    }
    if (value.is_double()) return finite(value, value.as_double());
    if (value.is_string()) {
      const auto parsed = parse_double(trim(value.as_string()));
      if (parsed && std::isfinite(*parsed)) {
        note_text(value);
        return *parsed;
      }
    }
    return wrong(value, expected(),
                 value.is_string() && value.as_string().empty() ? "leave the key out, or write a number" : "");
  }

  std::optional<int64_t> integer(const Value& value) const {
    if (value.is_int()) {
      if (has_two_readings(value)) return std::nullopt;
      return value.as_int();
    }
    std::optional<double> parsed;
    if (value.is_double()) parsed = value.as_double();
    const bool plain_digits = value.is_string() && parse_int(value.as_string()).has_value();
    if (value.is_string() && !(plain_digits && value.as_string()[0] == '0' && value.as_string().size() > 1))
      parsed = parse_double(trim(value.as_string()));
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (parsed && std::isfinite(*parsed) && *parsed == std::floor(*parsed) && std::abs(*parsed) <= kExact) {
      note_text(value);
      return static_cast<int64_t>(*parsed);
    }
    return wrong(value, expected(),
                 value.is_string() && value.as_string().empty() ? "leave the key out, or write an integer" : "");
  }

  std::optional<bool> boolean(const Value& value) const {
    if (value.is_bool()) return value.as_bool();
    if (value.is_int() && (value.as_int() == 0 || value.as_int() == 1)) return value.as_int() == 1;
    if (value.is_string()) {
      const std::string& word = value.as_string();
      for (const char* yes : {"true", "True", "TRUE"})
        if (word == yes) return true;
      for (const char* no : {"false", "False", "FALSE"})
        if (word == no) return false;
    }
    return wrong(value, expected(), value.is_string() ? "write true or false" : "");
  }

  std::optional<std::string> text(const Value& value) const {
    if (value.is_string()) return value.as_string();
    if (value.is_list() || value.is_map()) return wrong(value, expected());
    const std::string raw = value.origin().raw;
    if (value.is_bool() && !raw.empty()) {
      Diagnostic finding = warning_at(value.place(), "'" + raw + "' is true/false in YAML; it is taken as text here");
      finding.key = parameter.name;
      finding.suggestion = "put it in quotes";
      out.push_back(std::move(finding));
    }
    if (!raw.empty()) return raw;
    return config::describe(value);
  }
};

template <class T, class Read>
std::optional<TypedValue> read_list(const ScalarReader& reader, const Value& value, Read read) {
  std::vector<T> items;
  const auto take = [&](const Value& item) {
    const auto got = read(item);
    if (got) items.push_back(*got);
    return got.has_value();
  };
  bool good = true;
  if (value.is_list()) {
    for (const Value& item : value.as_list()) good = take(item) && good;
  } else if (value.is_string()) {
    std::string words = value.as_string();
    if constexpr (!std::is_same_v<T, std::string>) std::replace(words.begin(), words.end(), ',', ' ');
    for (const std::string& word : split_whitespace(words)) {
      const auto as_int = parse_int(word);
      Value item = as_int ? Value(*as_int) : Value(word);
      item.origin() = value.origin();
      item.origin().raw = word;
      if (std::is_same_v<T, std::string>) item = Value(word, item.origin());
      good = take(item) && good;
    }
  } else if (value.is_map() || value.is_bool()) {
    reader.wrong(value, reader.expected());
    good = false;
  } else {
    good = take(value);
  }
  if (!good) return std::nullopt;
  return TypedValue{std::move(items)};
}

std::optional<TypedValue> read_kind(const ScalarReader& reader, const Value& value) {
  const auto wrap = [](auto got) { return got ? std::optional(TypedValue{*got}) : std::nullopt; };
  switch (reader.parameter.type) {
    case Type::Bool:
      return wrap(reader.boolean(value));
    case Type::Int:
      return wrap(reader.integer(value));
    case Type::Float:
      return wrap(reader.number(value));
    case Type::Text:
      return wrap(reader.text(value));
    case Type::IntList:
      return read_list<int64_t>(reader, value, [&](const Value& v) { return reader.integer(v); });
    case Type::FloatList:
      return read_list<double>(reader, value, [&](const Value& v) { return reader.number(v); });
    case Type::TextList:
      return read_list<std::string>(reader, value, [&](const Value& v) { return reader.text(v); });
    case Type::Map:
      if (!value.is_map()) return reader.wrong(value, reader.expected());
      return TypedValue{value};
    case Type::Any:
      if (value.is_bool()) return TypedValue{value.as_bool()};
      if (value.is_int()) return TypedValue{value.as_int()};
      if (value.is_double()) return TypedValue{value.as_double()};
      if (value.is_string()) return TypedValue{value.as_string()};
      return TypedValue{config::describe(value, 4096)};
  }
  return std::nullopt;
}

bool check_choices(const Parameter& parameter, const Value& value, const TypedValue& typed, Diagnostics& out) {
  const std::vector<std::string> choices = table_words(parameter.choices);
  std::vector<std::string> given;
  if (const auto* text = std::get_if<std::string>(&typed.data)) given = {*text};
  if (const auto* list = std::get_if<std::vector<std::string>>(&typed.data)) given = *list;
  bool good = true;
  for (const std::string& word : given) {
    const auto same = [&](const std::string& choice) {
      return parameter.any_case ? to_lower(choice) == to_lower(word) : choice == word;
    };
    if (choices.empty() || std::any_of(choices.begin(), choices.end(), same)) continue;
    Diagnostic finding = error_at(value.place(), "'" + std::string(parameter.name) + "' does not know '" + word + "'");
    finding.key = parameter.name;
    finding.expected = join(choices, ", ");
    finding.suggestion = did_you_mean(word, choices);
    out.push_back(std::move(finding));
    good = false;
  }
  return good;
}

bool check_range(const Parameter& parameter, const Value& value, const TypedValue& typed, Diagnostics& out) {
  const auto number = as_number(typed);
  if (!number || (*number >= parameter.minimum && *number <= parameter.maximum)) return true;
  const auto bound = [&](double limit) {
    return parameter.type == Type::Int ? std::to_string(static_cast<int64_t>(limit)) : format_double(limit);
  };
  Diagnostic finding = error_at(value.place(), "'" + std::string(parameter.name) + "' is out of range");
  finding.key = parameter.name;
  finding.found = value.origin().is_secret ? "***" : typed.to_text();
  if (std::isfinite(parameter.minimum)) finding.expected = "at least " + bound(parameter.minimum);
  if (std::isfinite(parameter.maximum))
    finding.expected += (finding.expected.empty() ? "at most " : " and at most ") + bound(parameter.maximum);
  out.push_back(std::move(finding));
  return false;
}

}  // namespace

std::vector<std::string> table_words(std::string_view words) {
  return words.empty() ? std::vector<std::string>{} : split(words, '|');
}

bool TypedValue::same_as(const TypedValue& other) const {
  const auto a = as_number(*this), b = as_number(other);
  if (a && b) return *a == *b;
  if (data.index() != other.data.index()) return false;
  if (const auto* map = std::get_if<config::Value>(&data)) return map->same_data(std::get<config::Value>(other.data));
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        if constexpr (std::is_same_v<T, config::Value>)
          return false;
        else
          return mine == std::get<T>(other.data);
      },
      data);
}

std::string TypedValue::to_text() const {
  struct Writer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return format_double(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const { return list_text(v); }
    std::string operator()(const std::vector<double>& v) const { return list_text(v); }
    std::string operator()(const std::vector<std::string>& v) const { return list_text(v); }
    std::string operator()(const config::Value& v) const { return config::describe(v); }
  };
  return std::visit(Writer{}, data);
}

TypedValue table_value(const Parameter& parameter, std::string_view text) {
  if (text == "null") return {};
  if (text == "\"\"") return {std::string()};
  const auto items = [&] {
    std::vector<std::string> words;
    for (const std::string& word : split(text.substr(1, text.size() - 2), ','))
      if (!trim(word).empty()) words.emplace_back(trim(word));
    return words;
  };
  switch (parameter.type) {
    case Type::Bool:
      return {text == "true"};
    case Type::Int:
      return {parse_int(text).value_or(0)};
    case Type::Float:
      return {parse_double(text).value_or(0)};
    case Type::IntList: {
      std::vector<int64_t> numbers;
      for (const std::string& word : items()) numbers.push_back(parse_int(word).value_or(0));
      return {std::move(numbers)};
    }
    case Type::TextList:
      return {items()};
    case Type::Any:
      if (text == "true" || text == "false") return {text == "true"};
      if (const auto i = parse_int(text)) return {*i};
      if (const auto d = parse_double(text)) return {*d};
      return {std::string(text)};
    default:
      return {std::string(text)};
  }
}

bool means_default(const Parameter& parameter, const TypedValue& value) {
  if (value.same_as(table_value(parameter, parameter.default_text))) return true;
  for (const std::string& text : table_words(parameter.harmless))
    if (value.same_as(table_value(parameter, text))) return true;
  // Upstream's default for an absent list and an empty one are the same to it.
  const auto* list = std::get_if<std::vector<std::string>>(&value.data);
  return list != nullptr && list->empty() && parameter.default_text == "null";
}

std::optional<TypedValue> read_typed(const Parameter& parameter, const config::Value& value, Diagnostics& out,
                                     NumericText& numeric_text) {
  const ScalarReader reader{parameter, out, numeric_text};
  if (value.is_null()) {
    if (parameter.nullable) return TypedValue{};
    return reader.wrong(value, reader.expected(), "leave the key out to get " + std::string(parameter.default_text));
  }
  auto typed = read_kind(reader, value);
  if (!typed) return std::nullopt;
  const bool known = check_choices(parameter, value, *typed, out);
  return check_range(parameter, value, *typed, out) && known ? typed : std::nullopt;
}

}  // namespace primus::dialect
