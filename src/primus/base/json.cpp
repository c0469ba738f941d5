#include "primus/base/json.h"

#include <cmath>
#include <set>

#include <fmt/format.h>

namespace primus {

namespace {

constexpr int kMaxDepth = 256;

Place place_of_byte(std::string_view text, size_t byte, const std::string& file) {
  Place place{file, 1, 1};
  for (size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

// Watches the parser's events for what the library would accept silently. Byte positions are not part of the callback, so
// a repeated key is named by its text alone.
struct Guard {
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  bool too_deep = false;

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMaxDepth) too_deep = true;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second && repeated.empty()) {
      repeated = parsed.get<std::string>();
    }
    return true;
  }
};

// The parser recurses when values are destroyed, so depth is bounded before anything is built.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (nests_too_deep(text)) return error_at({file}, fmt::format("JSON nests deeper than {} levels", kMaxDepth));
  Guard guard;
  try {
    Json value = Json::parse(text.begin(), text.end(), std::ref(guard));
    if (!guard.repeated.empty()) return error_at({file}, fmt::format("JSON key '{}' occurs twice in one object", guard.repeated));
    return value;
  } catch (const Json::parse_error& error) {
    std::string reason = error.what();
    if (const size_t at = reason.find("syntax error"); at != std::string::npos) reason = reason.substr(at);
    return error_at(place_of_byte(text, error.byte > 0 ? error.byte - 1 : 0, file), "not valid JSON: " + reason);
  } catch (const Json::exception& error) {
    return error_at({file}, std::string("not valid JSON: ") + error.what());
  }
}

Json json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

namespace {

void replace_non_finite(Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) value = json_number(value.get<double>());
  if (value.is_structured()) {
    for (Json& item : value) replace_non_finite(item);
  }
}

}  // namespace

std::string dump_json(const Json& value, int indent) {
  Json copy = value;
  replace_non_finite(copy);
  return copy.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace primus
