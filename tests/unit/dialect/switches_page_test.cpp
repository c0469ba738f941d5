// docs/switches.md against the parameter tables: no status there that is not true.
#include <gtest/gtest.h>

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/parameter_table.h"

namespace primus::dialect {
namespace {

std::string without_ticks(std::string text) {
  std::erase(text, '`');
  return std::string(trim(text));
}

TEST(SwitchesPage, SaysTheStatusOfTheTablesAndNamesTestsThatExist) {
  const auto page = read_text_file("docs/switches.md");
  ASSERT_TRUE(page.ok());
  std::string framework;
  size_t count = 0;
  for (const std::string& line : split(*page, '\n')) {
    // "## Module level (megatron)": the dialect whose switches follow.
    if (line.starts_with("## ")) framework = line.substr(line.find('(') + 1, line.size() - line.find('(') - 2);
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');
    ASSERT_EQ(cells.size(), 6U) << line;
    const std::string key = without_ticks(cells[1]), test = without_ticks(cells[4]);
    const Parameter* row = find_parameter(framework, key);
    ASSERT_NE(row, nullptr) << framework << " " << key;
    EXPECT_EQ(trim(cells[2]), to_string(row->status)) << key;
    EXPECT_TRUE(fs::exists(test)) << key << ": " << test;
    ++count;
  }
  EXPECT_EQ(count, 38U);
}

}  // namespace
}  // namespace primus::dialect
