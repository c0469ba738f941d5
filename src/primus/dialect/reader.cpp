#include "primus/dialect/reader.h"

#include "primus/base/check.h"

namespace primus::dialect {

const config::Value* find_value(const config::Value& params, std::string_view key) {
  return key.find('.') == std::string_view::npos ? params.find(key) : params.find_path(key);
}

TypedValue Reader::typed(std::string_view key) {
  const Parameter* row = find_parameter(module_.framework, key);
  PRIMUS_CHECK(row != nullptr && !row->spec_field.empty(), "taken, but its row sets no field: " + std::string(key));
  taken_.emplace(key);
  const config::Value* value = find_value(module_.params, key);
  if (value == nullptr) return table_value(*row, row->default_text);
  Diagnostics ignored;
  NumericText also_ignored;
  return read_typed(*row, *value, ignored, also_ignored).value_or(table_value(*row, row->default_text));
}

template <class T>
std::optional<T> Reader::take(std::string_view key) {
  TypedValue value = typed(key);
  if (value.is_null()) return std::nullopt;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* number = std::get_if<int64_t>(&value.data)) return static_cast<double>(*number);
  }
  T* got = std::get_if<T>(&value.data);
  PRIMUS_CHECK(got != nullptr, "taken with another type than the table's: " + std::string(key));
  return std::move(*got);
}
template std::optional<bool> Reader::take(std::string_view);
template std::optional<int64_t> Reader::take(std::string_view);
template std::optional<double> Reader::take(std::string_view);
template std::optional<std::string> Reader::take(std::string_view);
template std::optional<std::vector<int64_t>> Reader::take(std::string_view);
template std::optional<std::vector<std::string>> Reader::take(std::string_view);

const config::Value* Reader::map(std::string_view key) {
  typed(key);
  const config::Value* value = find_value(module_.params, key);
  return value != nullptr && value->is_map() ? value : nullptr;
}

Place Reader::place(std::string_view key) const {
  const config::Value* value = find_value(module_.params, key);
  return value != nullptr ? value->place() : module_.place;
}

bool Reader::is_given(std::string_view key) const {
  const config::Value* value = find_value(module_.params, key);
  const Parameter* row = find_parameter(module_.framework, key);
  if (value == nullptr || row == nullptr) return false;
  Diagnostics ignored;
  NumericText also_ignored;
  const auto read = read_typed(*row, *value, ignored, also_ignored);
  return read && !means_default(*row, *read);
}

}  // namespace primus::dialect
