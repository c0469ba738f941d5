// Values in the notations of TOML and Python.
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/export_forms.h"

namespace primus::dialect {

namespace {

enum class Notation { Toml, Python };

// JSON's escapes are understood by both; a DEL must be escaped in TOML.
std::string quoted(const std::string& text) {
  std::string out = dump_json(Json(text));
  for (size_t at = out.find('\x7f'); at != std::string::npos; at = out.find('\x7f', at)) out.replace(at, 1, "\\u007f");
  return out;
}

std::string number(double value, Notation notation) {
  if (!std::isfinite(value)) {
    const std::string name = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return notation == Notation::Toml ? name : "float(\"" + name + "\")";
  }
  return format_double(value);
}

std::string boolean(bool value, Notation notation) {
  if (notation == Notation::Toml) return value ? "true" : "false";
  return value ? "True" : "False";
}

std::string literal(const config::Value& value, Notation notation) {
  switch (value.kind()) {
    case config::Kind::Null:
      return "None";  // TOML has no null: callers leave it out
    case config::Kind::Bool:
      return boolean(value.as_bool(), notation);
    case config::Kind::Int:
      return std::to_string(value.as_int());
    case config::Kind::Double:
      return number(value.as_double(), notation);
    case config::Kind::String:
      return quoted(value.as_string());
    case config::Kind::List: {
      std::vector<std::string> items;
      for (const config::Value& item : value.as_list()) items.push_back(literal(item, notation));
      return "[" + join(items, ", ") + "]";
    }
    case config::Kind::Map:
      break;
  }
  std::vector<std::string> items;
  for (const config::MapEntry& entry : value.as_map())
    items.push_back(quoted(entry.key) + (notation == Notation::Toml ? " = " : ": ") + literal(entry.value, notation));
  return "{" + join(items, ", ") + "}";
}

config::Value plain(const TypedValue& typed) {
  return std::visit(
      [](const auto& value) -> config::Value {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, config::Value>) {
          return value;
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>> ||
                             std::is_same_v<T, std::vector<std::string>>) {
          config::List list;
          for (const auto& item : value) list.emplace_back(item);
          return config::Value(std::move(list));
        } else {
          return config::Value(value);
        }
      },
      typed.data);
}

}  // namespace

std::string toml_literal(const config::Value& value) {
  return literal(value, Notation::Toml);
}
std::string python_literal(const config::Value& value) {
  return literal(value, Notation::Python);
}
std::string toml_literal(const TypedValue& value) {
  return literal(plain(value), Notation::Toml);
}
std::string python_literal(const TypedValue& value) {
  return literal(plain(value), Notation::Python);
}

std::vector<Leaf> leaves_of(const config::Value& params) {
  std::vector<Leaf> leaves;
  if (!params.is_map()) return leaves;
  for (const config::MapEntry& entry : params.as_map()) {
    if (!entry.value.is_map() || entry.value.as_map().empty()) {
      leaves.push_back({entry.key, &entry.value});
      continue;
    }
    for (const Leaf& leaf : leaves_of(entry.value)) leaves.push_back({entry.key + "." + leaf.key, leaf.value});
  }
  return leaves;
}

std::string reason_of(const Parameter& row, std::string_view upstream) {
  if (row.ours) return "an addition of this project; " + std::string(upstream) + " has nothing like it";
  const bool unread = row.reason.starts_with("upstream reads") || row.reason.starts_with("belongs to");
  if (unread) return std::string(row.reason);
  return "Primus reads it; " + std::string(upstream) + " has no such setting";
}

}  // namespace primus::dialect
