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

const std::vector<SortedTable>& all_tables() {
  static const std::vector<SortedTable> tables = sorted_tables();
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
  for (const SortedTable& table : all_tables())
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

namespace {

std::string nearest(std::string_view framework, const std::string& key) {
  std::vector<std::string> names;
  for (const Parameter& row : all_parameters(framework)) names.emplace_back(row.name);
  return did_you_mean(key, names);
}

std::string_view first_field(const Parameter& row) {
  return row.spec_field.substr(0, row.spec_field.find(' '));
}

// The row of another dialect that `key` nearly is: people carry their words along.
const Parameter* foreign_row(std::string_view framework, const std::string& key) {
  const Parameter* found = nullptr;
  int fewest = 3;  // letters of difference
  for (const SortedTable& table : all_tables()) {
    if (table.framework == framework) continue;
    for (const Parameter& row : table.rows) {
      if (row.status != Status::Honoured || row.spec_field.empty()) continue;
      const int letters = edit_distance(key, row.name.substr(row.name.rfind('.') + 1));
      if (letters >= fewest || static_cast<int>(key.size()) < 4 * (letters + 1)) continue;
      fewest = letters;
      found = &row;
    }
  }
  return found;
}

}  // namespace

std::string suggest_parameter(std::string_view framework, std::string_view key) {
  std::string lower = to_lower(key);
  std::replace(lower.begin(), lower.end(), '-', '_');
  if (std::string own = nearest(framework, lower); !own.empty()) return own;
  const Parameter* foreign = foreign_row(framework, lower);
  if (foreign == nullptr) return {};
  for (const Parameter& row : all_parameters(framework))
    if (row.status == Status::Honoured && first_field(row) == first_field(*foreign))
      return "did you mean '" + std::string(row.name) + "'?";
  return {};
}

}  // namespace primus::dialect
