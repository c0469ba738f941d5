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

// "name" or "name.name": what may stand before '='.
bool is_key(std::string_view text) {
  if (text.empty()) return false;
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
  return is_secret_key(key) ? kMask : printable_ascii(text.substr(0, 80));
}

void set_origin(Value& value, const std::vector<std::string>& path, const std::string& raw) {
  set_layer(value, Layer::CommandLine);
  value.origin().file = command_line_name();
  value.origin().raw = raw;
  mark_secrets(value, std::any_of(path.begin(), path.end(), [](const std::string& key) { return is_secret_key(key); }));
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
  std::vector<Override> overrides;
  const auto refuse = [&diagnostics](const std::string& token, std::string suggestion) {
    const std::string_view key = std::string_view(token).substr(0, token.find('='));
    const std::string text = is_secret_key(key) ? std::string(key) + "=" + kMask : printable_ascii(token.substr(0, 80));
    Diagnostic found = error_at(command_line_place(), fmt::format("'{}' is no override", text));
    found.expected = "--key value, --key=value, key=value or --flag";
    found.suggestion = std::move(suggestion);
    diagnostics.push_back(std::move(found));
  };
  for (size_t at = 0; at < tokens.size(); ++at) {
    const std::string& token = tokens[at];
    if (!is_valid_utf8(token)) {
      refuse(token, "the text must be UTF-8");
      continue;
    }
    const bool dashed = token.starts_with("--");
    const size_t equals = token.find('=');
    const std::string key =
        token.substr(dashed ? 2 : 0, equals == std::string::npos ? equals : equals - (dashed ? 2 : 0));
    if ((!dashed && equals == std::string::npos) || !is_key(key)) {
      const bool single_dash =
          token.size() > 1 && token[0] == '-' && !dashed && is_key(std::string_view(token).substr(1));
      refuse(token, single_dash                ? fmt::format("did you mean '-{}'?", token)
                    : token.ends_with(".yaml") ? "an experiment is given as --config " + printable_ascii(token)
                                               : "");
      const bool takes_next = single_dash && equals == std::string::npos && at + 1 < tokens.size();
      if (takes_next && !tokens[at + 1].starts_with("-") && tokens[at + 1].find('=') == std::string::npos) ++at;
      continue;
    }
    Override parsed{.key = key, .path = split(key, '.')};
    if (equals != std::string::npos) {
      const std::string text = token.substr(equals + 1);
      parsed.value = type_command_line_text(text);
      set_origin(parsed.value, parsed.path, text);
      warn_about_reading(key, text, parsed.value, diagnostics);
    } else if (at + 1 < tokens.size() && !tokens[at + 1].starts_with("--")) {
      const std::string& text = tokens[++at];
      if (!is_valid_utf8(text)) {
        refuse(token + "=" + text, "the text must be UTF-8");
        continue;
      }
      parsed.value = type_command_line_text(text);
      set_origin(parsed.value, parsed.path, text);
      warn_about_reading(key, text, parsed.value, diagnostics);
      if (const size_t inner = text.find('='); inner != std::string::npos && is_key(text.substr(0, inner))) {
        Diagnostic found =
            warning_at(command_line_place(), fmt::format("'{}' is taken as the value of --{}", shown(key, text), key));
        found.suggestion = fmt::format("write --{}=true before another override", key);
        diagnostics.push_back(std::move(found));
      }
    } else {
      parsed.value = Value(true);
      set_origin(parsed.value, parsed.path, "true");
    }
    overrides.push_back(std::move(parsed));
  }
  return overrides;
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
