// The table itself: complete, consistent, and true about what the translation reads.
#include <gtest/gtest.h>
#include <set>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using testing::little;

std::span<const Parameter> rows() {
  return all_parameters("megatron");
}

TEST(ParameterTable, HasEachKeyOnceAndFindsIt) {
  std::set<std::string_view> names;
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_parameter("megatron", row.name), &row);
  }
  EXPECT_GT(names.size(), 700U);
  EXPECT_EQ(find_parameter("megatron", "train_iter"), nullptr);
  EXPECT_EQ(find_parameter("torchtitan", "train_iters"), nullptr);
}

TEST(ParameterTable, KnowsEveryKeyOfUpstreamsPresetsAndExperiments) {
  const auto text = read_text_file("tests/cases/dialect/megatron_keys.txt");
  ASSERT_TRUE(text.ok());
  size_t count = 0;
  for (const std::string& key : split_whitespace(*text)) {
    EXPECT_NE(find_parameter("megatron", key), nullptr) << key;
    ++count;
  }
  EXPECT_GT(count, 700U);
}

TEST(ParameterTable, EveryRowSaysWhatAndWhy) {
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(row.doc.ends_with('.')) << row.name;
    EXPECT_EQ(row.status == Status::Honoured, row.reason.empty()) << row.name;
    const bool sets = row.status == Status::Honoured || row.status == Status::NotBuilt;
    EXPECT_TRUE(row.status != Status::Honoured || !row.spec_field.empty()) << row.name;
    EXPECT_TRUE(sets || row.spec_field.empty()) << row.name;
    EXPECT_FALSE(row.default_text.empty()) << row.name;
    for (const std::string_view other : {row.only_with, row.needs})
      EXPECT_TRUE(other.empty() || find_parameter("megatron", other) != nullptr) << row.name << " -> " << other;
    EXPECT_TRUE(row.default_text != "null" || row.nullable) << row.name;
  }
}

TEST(ParameterTable, DefaultsFitTheirOwnKindChoicesAndRange) {
  for (const Parameter& row : rows()) {
    if (row.default_text == "null" || row.type == Type::Any) continue;
    const TypedValue value = table_value(row, row.default_text);
    const bool fits = row.type == Type::Bool      ? row.default_text == "true" || row.default_text == "false"
                      : row.type == Type::Int     ? parse_int(row.default_text).has_value()
                      : row.type == Type::Float   ? parse_double(row.default_text).has_value()
                      : row.type == Type::IntList ? row.default_text.starts_with('[')
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
    for (const std::string& word : table_words(row.unbuilt_choices))
      EXPECT_THAT(choices, ::testing::Contains(word)) << row.name;
  }
}

TEST(ParameterTable, RowsThatSetAFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> honoured, taken;
  for (const Parameter& row : rows())
    if (!row.spec_field.empty()) honoured.emplace(row.name);
  // Some keys are only looked at on one branch.
  for (const char* more : {"", "recompute_granularity: full\n", "recompute_granularity: selective\n", "fp16: true\n"})
    for (const std::string& key : keys_read(experiment(little(more)))) taken.insert(key);
  EXPECT_EQ(honoured, taken);
}

TEST(ParameterTable, DocumentsPageIsUpToDate) {
  const auto page = read_text_file("docs/parameters/megatron.md");
  ASSERT_TRUE(page.ok()) << "make it: primus-cli config parameters megatron > docs/parameters/megatron.md";
  EXPECT_TRUE(*page == parameters_page("megatron"))
      << "make it again: primus-cli config parameters megatron > docs/parameters/megatron.md";
}

TEST(ParameterTable, SuggestsTheNearestName) {
  EXPECT_EQ(suggest_parameter("megatron", "train_iter"), "did you mean 'train_iters'?");
  EXPECT_THAT(suggest_parameter("megatron", "Micro-Batch-Size"), ::testing::HasSubstr("micro_batch_size"));
  EXPECT_EQ(suggest_parameter("megatron", "qqqqqqqqqqqqqqqq"), "");
}

}  // namespace
}  // namespace primus::dialect
