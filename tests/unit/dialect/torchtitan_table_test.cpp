// The table of the torchtitan dialect: complete, consistent, and true about what the translation reads.
#include <gtest/gtest.h>
#include <set>

#include "torchtitan_experiment.h"

#include "primus/base/fs.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {
namespace {

std::span<const Parameter> rows() {
  return all_parameters("torchtitan");
}

TEST(TorchTitanTable, HasEachKeyOnceAndFindsIt) {
  std::set<std::string_view> names;
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_parameter("torchtitan", row.name), &row);
  }
  EXPECT_GT(names.size(), 240U);
  EXPECT_TRUE(is_section("torchtitan", "training"));
  EXPECT_TRUE(is_section("torchtitan", "quantize.linear.float8"));
  EXPECT_FALSE(is_section("torchtitan", "training.steps"));
}

TEST(TorchTitanTable, KnowsEveryKeyOfUpstreamsPresetsAndExperiments) {
  const auto text = read_text_file("tests/cases/dialect/torchtitan_keys.txt");
  ASSERT_TRUE(text.ok());
  size_t count = 0;
  for (const std::string& key : split_whitespace(*text)) {
    EXPECT_NE(find_parameter("torchtitan", key), nullptr) << key;
    ++count;
  }
  EXPECT_GT(count, 130U);
}

TEST(TorchTitanTable, EveryRowSaysWhatAndWhy) {
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(row.doc.ends_with('.')) << row.name;
    EXPECT_EQ(row.status == Status::Honoured, row.reason.empty()) << row.name;
    if (row.status == Status::Honoured) {
      EXPECT_FALSE(row.spec_field.empty()) << row.name;
    }
    for (const std::string_view other : {row.only_with, row.needs, row.instead})
      EXPECT_TRUE(other.empty() || find_parameter("torchtitan", other) != nullptr) << row.name << " -> " << other;
    EXPECT_TRUE(row.default_text != "null" || row.nullable) << row.name;
  }
}

TEST(TorchTitanTable, DefaultsFitTheirOwnKindChoicesAndRange) {
  for (const Parameter& row : rows()) {
    if (row.default_text == "null" || row.type == Type::Any) continue;
    const TypedValue value = table_value(row, row.default_text);
    const bool fits = row.type == Type::Bool    ? row.default_text == "true" || row.default_text == "false"
                      : row.type == Type::Int   ? parse_int(row.default_text).has_value()
                      : row.type == Type::Float ? parse_double(row.default_text).has_value()
                                                : true;
    EXPECT_TRUE(fits) << row.name << ": " << row.default_text;
    const auto choices = table_words(row.choices);
    if (row.type == Type::Text && !choices.empty()) {
      EXPECT_THAT(choices, ::testing::Contains(std::get<std::string>(value.data))) << row.name;
    }
    if (const auto* i = std::get_if<int64_t>(&value.data)) {
      EXPECT_GE(static_cast<double>(*i), row.minimum) << row.name;
      EXPECT_LE(static_cast<double>(*i), row.maximum) << row.name;
    }
  }
}

TEST(TorchTitanTable, RowsWithAFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> with_field;
  for (const Parameter& row : rows())
    if (!row.spec_field.empty()) with_field.emplace(row.name);
  const auto taken = keys_read(testing::titan());
  EXPECT_EQ(with_field, std::set<std::string>(taken.begin(), taken.end()));
}

TEST(TorchTitanTable, DocumentsPageIsUpToDate) {
  const auto page = read_text_file("docs/parameters/torchtitan.md");
  ASSERT_TRUE(page.ok()) << "make it: primus-cli config parameters torchtitan > docs/parameters/torchtitan.md";
  EXPECT_TRUE(*page == parameters_page("torchtitan"))
      << "make it again: primus-cli config parameters torchtitan > docs/parameters/torchtitan.md";
}

TEST(TorchTitanTable, SuggestsTheNearestName) {
  EXPECT_THAT(suggest_parameter("torchtitan", "training.step"), ::testing::HasSubstr("'training.steps'"));
  EXPECT_EQ(suggest_parameter("torchtitan", "qqqqqqqqqqqqqqqq"), "");
}

TEST(TorchTitanTable, AnswersAnOldNameWithTheNewOne) {
  const auto run = to_spec(testing::titan({"training.batch_size: 4"}));
  EXPECT_THAT(testing::errors_of(run.diagnostics(), "training.batch_size"),
              ::testing::HasSubstr("write training.local_batch_size"));
}

}  // namespace
}  // namespace primus::dialect
