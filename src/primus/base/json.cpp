#include "primus/base/json.h"

#include <cmath>
#include <fmt/format.h>
#include <unordered_set>

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

// Builds the value and refuses a key that an object already has; the library alone would let the last one win.
class StrictBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit StrictBuilder(Json& root) : json_sax_dom_parser(root, /*allow_exceptions=*/true) {}

  bool start_object(std::size_t size) {
    keys_.emplace_back();
    return json_sax_dom_parser::start_object(size);
  }
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second && repeated_.empty()) repeated_ = name;
    return json_sax_dom_parser::key(name);
  }
  bool end_object() {
    keys_.pop_back();
    return json_sax_dom_parser::end_object();
  }
  const std::string& repeated() const { return repeated_; }

 private:
  std::vector<std::unordered_set<std::string>> keys_;
  std::string repeated_;
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
  try {
    Json value;
    StrictBuilder builder(value);
    Json::sax_parse(text.begin(), text.end(), &builder);
    if (!builder.repeated().empty()) {
      return error_at({file}, fmt::format("JSON key '{}' occurs twice in one object", builder.repeated()));
    }
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
