// The container's values: set as text by the tables, as typed values by the user, read with the table's defaults.
#include "primus/dialect/bridge_config.h"

#include "primus/base/check.h"

namespace primus::dialect {

namespace {

const Parameter& row_of(std::string_view key) {
  const Parameter* row = find_parameter(kBridgeFramework, key);
  PRIMUS_CHECK(row != nullptr, "a recipe sets what the table has not: " + std::string(key));
  return *row;
}

template <class T>
std::optional<T> get(const TypedValue& value) {
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* number = std::get_if<int64_t>(&value.data)) return static_cast<double>(*number);
  }
  const T* got = std::get_if<T>(&value.data);
  return got == nullptr ? std::nullopt : std::optional<T>(*got);
}

}  // namespace

void BridgeConfig::set_arguments(std::string_view settings, bool only_null) {
  for_each_setting(settings, [&](std::string_view name, std::string_view text) {
    const auto present = arguments_.find(name);
    if (only_null && (present == arguments_.end() || !present->second.is_null())) return;
    const Parameter& row = row_of(name);
    arguments_[row.name] = table_value(row, text);
  });
}

const TypedValue* BridgeConfig::argument(std::string_view name) const {
  const auto place = arguments_.find(name);
  return place == arguments_.end() ? nullptr : &place->second;
}

bool BridgeConfig::argument_flag(std::string_view name) const {
  const TypedValue* value = argument(name);
  return value != nullptr && get<bool>(*value).value_or(false);
}

std::string BridgeConfig::argument_text(std::string_view name) const {
  const TypedValue* value = argument(name);
  return value == nullptr ? "" : get<std::string>(*value).value_or("");
}

std::vector<std::string> BridgeConfig::argument_texts(std::string_view name) const {
  const TypedValue* value = argument(name);
  if (value == nullptr) return {};
  return get<std::vector<std::string>>(*value).value_or(std::vector<std::string>{});
}

std::vector<std::string_view> BridgeConfig::argument_names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : arguments_) names.push_back(name);
  return names;
}

void BridgeConfig::set(std::string_view path, TypedValue value) {
  values_[std::string(path)] = std::move(value);
}

void BridgeConfig::set_all(std::string_view settings, std::string_view prefix) {
  for_each_setting(settings, [&](std::string_view path, std::string_view text) {
    if (path.starts_with("adapter.")) {
      const Parameter& row = row_of("peft." + std::string(path.substr(8)));
      const TypedValue value = table_value(row, text);
      if (path == "adapter.dim") adapter_rank = get<int64_t>(value).value_or(0);
      if (path == "adapter.alpha") adapter_alpha = get<double>(value).value_or(0);
      if (path == "adapter.dropout") adapter_dropout = get<double>(value).value_or(0);
      if (path == "adapter.target_modules") adapter_targets = *get<std::vector<std::string>>(value);
      return;
    }
    const std::string full = std::string(prefix) + std::string(path);
    set(full, table_value(row_of(full), text));
  });
}

TypedValue BridgeConfig::value(std::string_view path) const {
  const auto place = values_.find(path);
  if (place != values_.end()) return place->second;
  const Parameter& row = row_of(path);
  return table_value(row, row.default_text);
}

TypedValue BridgeConfig::take(std::string_view path) {
  (void)t_.keys.map(path);  // remembered as taken
  return value(path);
}

bool BridgeConfig::flag(std::string_view path) {
  return get<bool>(take(path)).value_or(false);
}
std::optional<int64_t> BridgeConfig::maybe_integer(std::string_view path) {
  return get<int64_t>(take(path));
}
std::optional<double> BridgeConfig::maybe_number(std::string_view path) {
  return get<double>(take(path));
}
std::optional<std::string> BridgeConfig::maybe_text(std::string_view path) {
  const TypedValue value = take(path);
  if (value.is_null()) return std::nullopt;
  const auto text = get<std::string>(value);
  return text ? text : std::optional(value.to_text());
}
std::vector<std::string> BridgeConfig::texts(std::string_view path) {
  return get<std::vector<std::string>>(take(path)).value_or(std::vector<std::string>{});
}
std::vector<int64_t> BridgeConfig::integers(std::string_view path) {
  return get<std::vector<int64_t>>(take(path)).value_or(std::vector<int64_t>{});
}

}  // namespace primus::dialect
