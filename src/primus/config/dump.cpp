#include "primus/config/dump.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/config/secret.h"
#include "primus/config/yaml_scalar.h"

namespace primus::config {
namespace {

// A plain scalar keeps its meaning: no indicator in front, nothing that ends it, and no reading but text.
bool is_plain_safe(std::string_view text, bool was_quoted) {
  if (text.empty() || text.size() > 200 || text.starts_with("...")) return false;
  if (std::string_view("!&*#?|-:%@`\"'[]{},<>= \t~").find(text[0]) != std::string_view::npos) return false;
  if (text.back() == ':' || text.back() == ' ') return false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c < 0x20 || c > 0x7E || c == '[' || c == ']' || c == '{' || c == '}' || c == ',') return false;
    if (c == ':' && (at + 1 == text.size() || text[at + 1] == ' ')) return false;
    if (c == '#' && text[at - 1] == ' ') return false;
  }
  const ScalarReading reading = read_plain_scalar(text);
  if (!reading.value.is_string() || reading.is_date || reading.is_reserved || reading.problem != nullptr) return false;
  // 1e-5 stays as it was written: plain, it may be taken as a number later; in quotes, it may not.
  return !was_quoted || !looks_like_another_type(text);
}

bool needs_escapes(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7E; });
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0) {  // C1 controls, next line
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++at]));
    } else if (text.substr(at).starts_with("\xE2\x80\xA8") || text.substr(at).starts_with("\xE2\x80\xA9")) {
      out += text[at + 2] == '\xA8' ? "\\L" : "\\P";
      at += 2;
    } else if (text.substr(at).starts_with("\xEF\xBB\xBF") || text.substr(at).starts_with("\xEF\xBF\xBE") ||
               text.substr(at).starts_with("\xEF\xBF\xBF")) {
      out += byte == 0xEF && text[at + 1] == '\xBB' ? "\\uFEFF" : text[at + 2] == '\xBE' ? "\\uFFFE" : "\\uFFFF";
      at += 2;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string quoted(std::string_view text) {
  if (needs_escapes(text)) return double_quoted(text);
  if (text.find('"') == std::string_view::npos && text.find('\\') == std::string_view::npos) {
    return fmt::format("\"{}\"", text);
  }
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string text_scalar(std::string_view text, bool was_quoted) {
  return is_plain_safe(text, was_quoted) ? std::string(text) : quoted(text);
}

std::string key_text(std::string_view key) {
  return text_scalar(key, true);
}

bool is_flow(const Value& value) {
  if (value.is_scalar()) return true;
  if (value.is_map()) return value.as_map().empty();
  const List& items = value.as_list();
  return std::all_of(items.begin(), items.end(), [](const Value& item) {
    return item.is_scalar() || (item.is_list() && is_flow(item)) || (item.is_map() && item.as_map().empty());
  });
}

std::string flow_text(const Value& value) {
  if (value.is_map()) return "{}";
  if (value.is_scalar()) return yaml_scalar(value);
  std::string out = "[";
  for (const Value& item : value.as_list()) {
    if (&item != value.as_list().data()) out += ", ";
    out += flow_text(item);
  }
  return out + "]";
}

void write_block(const Value& value, int indent, bool first_on_line, std::string& out);

void write_child(const Value& child, int indent, std::string& out) {
  if (is_flow(child)) {
    out += ' ' + flow_text(child) + '\n';
  } else {
    out += '\n';
    write_block(child, indent + 2, false, out);
  }
}

// `first_on_line`: the caller has written "- " already.
void write_block(const Value& value, int indent, bool first_on_line, std::string& out) {
  const auto begin_line = [&] {
    if (!first_on_line) out.append(static_cast<size_t>(indent), ' ');
    first_on_line = false;
  };
  if (value.is_map()) {
    for (const MapEntry& entry : value.as_map()) {
      begin_line();
      out += key_text(entry.key) + ':';
      write_child(entry.value, indent, out);
    }
    return;
  }
  for (const Value& item : value.as_list()) {
    begin_line();
    out += "- ";
    if (is_flow(item)) {
      out += flow_text(item) + '\n';
    } else {
      write_block(item, indent + 2, true, out);
    }
  }
}

}  // namespace

std::string yaml_scalar(const Value& value) {
  if (value.origin().is_secret && !value.is_null()) return fmt::format("\"{}\"", kMask);
  switch (value.kind()) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return value.as_bool() ? "true" : "false";
    case Kind::Int:
      return std::to_string(value.as_int());
    case Kind::Double:
      return format_double(value.as_double());
    default:
      return text_scalar(value.as_string(), value.origin().style != Style::Plain);
  }
}

std::string yaml_block(const Value& value, int indent) {
  std::string out;
  if (is_flow(value)) {
    out.append(static_cast<size_t>(indent), ' ');
    return out + flow_text(value) + '\n';
  }
  write_block(value, indent, false, out);
  return out;
}

Result<Value> select_params(const Value& params, const std::vector<std::string>& only) {
  if (only.empty()) return params;
  Map selected;
  Diagnostics missing;
  for (const std::string& name : only) {
    if (const Value* value = params.find_path(name)) {
      selected.set(name, *value);
      continue;
    }
    Diagnostic found = error_at({.file = "command line"}, fmt::format("no parameter '{}'", printable_ascii(name)));
    found.suggestion = did_you_mean(name, params.as_map().keys());
    missing.push_back(std::move(found));
  }
  if (!missing.empty()) return missing;
  return Value(std::move(selected));
}

std::string dump_yaml(const Experiment& experiment, const std::vector<std::string>& only) {
  Map root = experiment.meta.values.as_map();
  Map platform;
  platform.set("config", Value(experiment.platform_config));
  platform.set("params", experiment.platform);
  root.set("platform", Value(std::move(platform)));
  if (!experiment.env.as_map().empty()) root.set("env", experiment.env);
  Map modules;
  for (const Module& module : experiment.modules) {
    Map block;
    block.set("framework", Value(module.framework));
    block.set("config", Value(module.config));
    block.set("model", Value(module.model));
    for (const MapEntry& extra : module.extras.as_map()) block.set(extra.key, extra.value);
    block.set("params", only.empty() ? module.params : value_or_throw(select_params(module.params, only)));
    modules.set(module.name, Value(std::move(block)));
  }
  root.set("modules", Value(std::move(modules)));
  return yaml_block(Value(std::move(root)));
}

Json to_json(const Value& value) {
  if (value.origin().is_secret && !value.is_null()) return kMask;
  switch (value.kind()) {
    case Kind::Null:
      return nullptr;
    case Kind::Bool:
      return value.as_bool();
    case Kind::Int:
      return value.as_int();
    case Kind::Double:
      return json_number(value.as_double());
    case Kind::String:
      return value.as_string();
    case Kind::List: {
      Json items = Json::array();
      for (const Value& item : value.as_list()) items.push_back(to_json(item));
      return items;
    }
    case Kind::Map: {
      Json::object_t map;
      map.reserve(value.as_map().size());
      // emplace_back, unlike emplace, does not scan for the key: the keys of a Map are unique already.
      for (const MapEntry& entry : value.as_map()) map.emplace_back(entry.key, to_json(entry.value));
      return map;
    }
  }
  return nullptr;
}

Json to_json(const Experiment& experiment, const std::vector<std::string>& only) {
  Json modules = Json::object();
  for (const Module& module : experiment.modules) {
    const Json params =
        only.empty() ? to_json(module.params) : to_json(value_or_throw(select_params(module.params, only)));
    modules[module.name] = {
        {"framework", module.framework}, {"config", module.config}, {"model", module.model}, {"params", params}};
  }
  return {{"meta", to_json(experiment.meta.values)}, {"modules", std::move(modules)}};
}

// ---- origins

namespace {

void collect_origins(const Value& value, const std::string& key, Json& out) {
  if (value.is_map() && !value.as_map().empty()) {
    for (const MapEntry& entry : value.as_map()) collect_origins(entry.value, key + '.' + entry.key, out);
    return;
  }
  Json one = origin_json(value);
  Json hid = Json::array();
  for (const Value& older : value.hidden()) {
    Json layer = origin_json(older);
    layer["value"] = to_json(older);
    hid.push_back(std::move(layer));
  }
  if (!hid.empty()) one["hid"] = std::move(hid);
  out.get_ref<Json::object_t&>().emplace_back(key, std::move(one));
}

}  // namespace

Json origin_json(const Value& value) {
  const Origin& origin = value.origin();
  Json json = {{"layer", to_string(origin.layer)}};
  if (origin.file) json["file"] = *origin.file;
  if (origin.line > 0) json["line"] = origin.line, json["column"] = origin.column;
  if (!origin.placeholder.empty()) {
    json["placeholder"] = origin.placeholder;
    json["from"] = origin.substitution == Substitution::Variable ? "environment" : "default";
  }
  return json;
}

Json origins_json(const Experiment& experiment) {
  Json out = Json::object();
  for (const MapEntry& entry : experiment.meta.values.as_map()) collect_origins(entry.value, entry.key, out);
  for (const Module& module : experiment.modules) {
    for (const MapEntry& entry : module.params.as_map())
      collect_origins(entry.value, module.name + '.' + entry.key, out);
  }
  return out;
}

}  // namespace primus::config
