#include "primus/dialect/parameter_table.h"

#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"

namespace primus::dialect {

namespace {

struct SortedTable {
  std::string_view framework;
  std::vector<Parameter> rows;
};

std::vector<SortedTable> sorted_tables() {
  std::vector<SortedTable> tables;
  for (const Dialect& dialect : all_dialects()) {
    SortedTable& table = tables.emplace_back(SortedTable{dialect.framework, {}});
    for (const auto part : table_parts(dialect)) table.rows.insert(table.rows.end(), part.begin(), part.end());
    std::sort(table.rows.begin(), table.rows.end(),
              [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
  }
  return tables;
}

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case Type::Bool:
      return "true/false";
    case Type::Int:
      return "integer";
    case Type::Float:
      return "number";
    case Type::Text:
      return "text";
    case Type::IntList:
      return "list of integers";
    case Type::FloatList:
      return "list of numbers";
    case Type::TextList:
      return "list of texts";
    case Type::Map:
      return "map";
    case Type::Any:
      return "any";
  }
  return "";
}

std::string_view to_string(Status status) {
  switch (status) {
    case Status::Honoured:
      return "honoured";
    case Status::NoEffect:
      return "no effect here";
    case Status::NotBuilt:
      return "not built yet";
    case Status::Refused:
      return "refused";
  }
  return "";
}

std::span<const Parameter> all_parameters(std::string_view framework) {
  static const std::vector<SortedTable> tables = sorted_tables();
  for (const SortedTable& table : tables)
    if (table.framework == framework) return table.rows;
  return {};
}

const Parameter* find_parameter(std::string_view framework, std::string_view key) {
  const auto rows = all_parameters(framework);
  const auto place = std::lower_bound(rows.begin(), rows.end(), key,
                                      [](const Parameter& row, std::string_view name) { return row.name < name; });
  return place != rows.end() && place->name == key ? &*place : nullptr;
}

bool is_section(std::string_view framework, std::string_view key) {
  const std::string prefix = std::string(key) + ".";
  const auto rows = all_parameters(framework);
  const auto place = std::lower_bound(rows.begin(), rows.end(), prefix,
                                      [](const Parameter& row, const std::string& name) { return row.name < name; });
  return place != rows.end() && place->name.starts_with(prefix);
}

std::string suggest_parameter(std::string_view framework, std::string_view key) {
  const auto rows = all_parameters(framework);
  std::string lower = to_lower(key);
  std::replace(lower.begin(), lower.end(), '-', '_');
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Parameter& row : rows) names.emplace_back(row.name);
  return did_you_mean(lower, names);
}

}  // namespace primus::dialect
