#include "primus/config/override.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "primus/base/strings.h"
#include "primus/config/merge.h"
#include "primus/config/python_literal.h"
#include "primus/config/secret.h"

namespace primus::config {
namespace {

const std::shared_ptr<const std::string>& command_line_name() {
  static const auto name = std::make_shared<const std::string>("command line");
  return name;
}

Place command_line_place() {
  return {.file = *command_line_name()};
}

// "name" or "name.name": what may stand before '='. No parameter lies deeper than a few maps.
bool is_key(std::string_view text) {
  constexpr std::ptrdiff_t kMostDots = 31;
  if (text.empty() || std::count(text.begin(), text.end(), '.') > kMostDots) return false;
  bool after_dot = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool inner = (c >= '0' && c <= '9') || c == '-';
    if (c == '.' ? after_dot : !(letter || inner) || (after_dot && c == '-')) return false;
    after_dot = c == '.';
  }
  return !after_dot;
}

std::string shown(std::string_view key, const std::string& text) {
  return names_a_secret(key) ? kMask : printable_ascii(text.substr(0, 80));
}

void set_origin(Value& value, const std::vector<std::string>& path, const std::string& raw) {
  set_layer(value, Layer::CommandLine);
  value.origin().file = command_line_name();
  value.origin().raw = raw;
  mark_secrets(value,
               std::any_of(path.begin(), path.end(), [](const std::string& key) { return names_a_secret(key); }));
  if (!value.is_list()) return;
  for (Value& item : value.as_list()) item.origin().file = command_line_name();
}

// What would surprise the user about how `text` was read.
void warn_about_reading(const std::string& key, const std::string& text, const Value& value, Diagnostics& diagnostics) {
  const auto warn = [&](std::string message, std::string suggestion) {
    Diagnostic found = warning_at(command_line_place(), std::move(message));
    found.suggestion = std::move(suggestion);
    diagnostics.push_back(std::move(found));
  };
  if (!value.is_string()) return;
  if (text == "null" || text == "none" || text == "~") {
    warn(fmt::format("'{}' for {} is text on the command line", text, key), "None is the empty value");
  } else if (!text.empty() && std::string_view("[({").find(text[0]) != std::string_view::npos) {
    warn(fmt::format("{} for {} is no Python literal, so it is taken as text", shown(key, text), key),
         "words in a list need quotes: \"['a', 'b']\"");
  }
}

class OverrideParser {
 public:
  OverrideParser(const std::vector<std::string>& tokens, Diagnostics& diagnostics)
      : tokens_(tokens), diagnostics_(diagnostics) {}

  std::vector<Override> parse() {
    while (at_ < tokens_.size()) parse_one();
    return std::move(overrides_);
  }

 private:
  void parse_one() {
    const std::string& token = tokens_[at_++];
    if (!is_valid_utf8(token)) return refuse(token, "the text must be UTF-8");
    const bool dashed = token.starts_with("--");
    const size_t begin = dashed ? 2 : 0;
    const size_t equals = token.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string key = token.substr(begin, has_value ? equals - begin : equals);
    if ((!dashed && !has_value) || !is_key(key)) return refuse_spelling(token, has_value);
    Override parsed{.key = key, .path = split(key, '.')};
    if (has_value) {
      read_value(token.substr(equals + 1), parsed);
    } else if (at_ < tokens_.size() && !tokens_[at_].starts_with("--")) {
      const std::string& text = tokens_[at_++];
      if (!is_valid_utf8(text)) return refuse(token + "=" + text, "the text must be UTF-8");
      read_value(text, parsed);
      warn_about_assignment(key, text);
    } else {
      parsed.value = Value(true);
      set_origin(parsed.value, parsed.path, "true");
    }
    overrides_.push_back(std::move(parsed));
  }

  void read_value(const std::string& text, Override& parsed) {
    parsed.value = type_command_line_text(text);
    set_origin(parsed.value, parsed.path, text);
    warn_about_reading(parsed.key, text, parsed.value, diagnostics_);
  }

  void warn_about_assignment(const std::string& key, const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || !is_key(text.substr(0, equals))) return;
    Diagnostic found =
        warning_at(command_line_place(), fmt::format("'{}' is taken as the value of --{}", shown(key, text), key));
    found.suggestion = fmt::format("write --{}=true before another override", key);
    diagnostics_.push_back(std::move(found));
  }

  void refuse_spelling(const std::string& token, bool has_value) {
    const std::string_view name = std::string_view(token).substr(token.empty() ? 0 : 1, token.find('=') - 1);
    const bool single_dash = token.starts_with("-") && !token.starts_with("--") && is_key(name);
    std::string suggestion;
    if (single_dash) {
      suggestion = fmt::format("did you mean '--{}'?", name);
    } else if (token.ends_with(".yaml")) {
      suggestion = "an experiment is given as --config " + printable_ascii(token);
    }
    refuse(token, std::move(suggestion));
    // The word behind -x is its value, not a second mistake.
    const bool next_is_value = single_dash && !has_value && at_ < tokens_.size() && !tokens_[at_].starts_with("-") &&
                               tokens_[at_].find('=') == std::string::npos;
    if (next_is_value) ++at_;
  }

  void refuse(const std::string& token, std::string suggestion) {
    const std::string_view key = std::string_view(token).substr(0, token.find('='));
    const std::string text =
        names_a_secret(key) ? std::string(key) + "=" + kMask : printable_ascii(token.substr(0, 80));
    Diagnostic found = error_at(command_line_place(), fmt::format("'{}' is no override", text));
    found.expected = "--key value, --key=value, key=value or --flag";
    found.suggestion = std::move(suggestion);
    diagnostics_.push_back(std::move(found));
  }

  const std::vector<std::string>& tokens_;
  Diagnostics& diagnostics_;
  std::vector<Override> overrides_;
  size_t at_ = 0;
};

}  // namespace

Value type_command_line_text(const std::string& text) {
  const std::string lower = text.size() <= 5 ? to_lower(text) : std::string();
  if (lower == "true") return Value(true);
  if (lower == "false") return Value(false);
  if (text == "None" || (!text.empty() && std::string_view("[({").find(text[0]) != std::string_view::npos)) {
    if (std::optional<Value> literal = read_python_literal(text)) return std::move(*literal);
    return Value(text);
  }
  if (text.find('.') != std::string::npos) {
    const std::optional<double> number = read_python_float(text);
    return number ? Value(*number) : Value(text);
  }
  const std::optional<int64_t> number = read_python_int(text);
  return number ? Value(*number) : Value(text);
}

std::vector<Override> parse_overrides(const std::vector<std::string>& tokens, Diagnostics& diagnostics) {
  return OverrideParser(tokens, diagnostics).parse();
}

void apply_overrides(const std::vector<Override>& overrides, Map& params, Diagnostics& diagnostics) {
  for (const Override& given : overrides) {
    Map* map = &params;
    std::string so_far;
    bool blocked = false;
    for (size_t i = 0; i < given.path.size() && !blocked; ++i) {
      std::string name = given.path[i];
      if (name.find('-') != std::string::npos && map->find(name) == nullptr) {
        std::replace(name.begin(), name.end(), '-', '_');
        diagnostics.push_back({.severity = Severity::Note,
                               .place = command_line_place(),
                               .message = fmt::format("--{} is read as --{}", given.path[i], name)});
      }
      so_far += (i == 0 ? "" : ".") + name;
      Value* present = map->find(name);
      if (i + 1 == given.path.size()) {
        Value value = given.value;
        if (present != nullptr && present->is_map() && value.is_map()) {
          Map single;
          single.set(name, std::move(value));
          deep_merge(*map, std::move(single));
          break;
        }
        if (present != nullptr) value.hide(std::move(*present));
        map->set(name, std::move(value));
      } else if (present == nullptr) {
        Value nested{Map()};
        set_origin(nested, given.path, "");
        map = &map->set(name, std::move(nested)).as_map();
      } else if (!present->is_map()) {
        Diagnostic found =
            error_at(command_line_place(), fmt::format("'{}' cannot be set: '{}' holds no map", given.key, so_far));
        found.found = describe(*present);
        found.suggestion = present->place().to_string().empty() ? "" : "it is set at " + present->place().to_string();
        diagnostics.push_back(std::move(found));
        blocked = true;
      } else {
        map = &present->as_map();
      }
    }
  }
}

}  // namespace primus::config
