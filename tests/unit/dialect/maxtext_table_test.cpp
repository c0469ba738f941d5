// The maxtext table: complete, consistent, true about what the translation reads, and the models by name.
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

std::span<const Parameter> rows() {
  return all_parameters("maxtext");
}

TEST(MaxtextTable, HasEachKeyOnceAndFindsIt) {
  std::set<std::string_view> names;
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_parameter("maxtext", row.name), &row);
  }
  EXPECT_GT(names.size(), 860U);
}

TEST(MaxtextTable, KnowsEveryKeyOfUpstreamsPresetsAndExperiments) {
  const auto text = read_text_file("tests/cases/dialect/maxtext_keys.txt");
  ASSERT_TRUE(text.ok());
  size_t count = 0;
  for (const std::string& key : split_whitespace(*text)) {
    EXPECT_NE(find_parameter("maxtext", key), nullptr) << key;
    ++count;
  }
  EXPECT_GT(count, 180U);
}

TEST(MaxtextTable, EveryRowSaysWhatAndWhy) {
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(row.doc.ends_with('.')) << row.name;
    EXPECT_LE(row.doc.size(), 115U) << row.name;
    EXPECT_EQ(row.status == Status::Honoured, row.reason.empty()) << row.name;
    EXPECT_TRUE(row.status != Status::Honoured || !row.spec_field.empty()) << row.name;
    EXPECT_FALSE(row.default_text.empty()) << row.name;
    for (const std::string_view other : {row.only_with, row.needs, row.instead})
      EXPECT_TRUE(other.empty() || find_parameter("maxtext", other) != nullptr) << row.name << " -> " << other;
    EXPECT_TRUE(row.default_text != "null" || row.nullable) << row.name;
  }
}

TEST(MaxtextTable, DefaultsFitTheirOwnKindChoicesAndRange) {
  for (const Parameter& row : rows()) {
    if (row.default_text == "null" || row.type == Type::Any) continue;
    const TypedValue value = table_value(row, row.default_text);
    const bool fits = row.type == Type::Bool    ? row.default_text == "true" || row.default_text == "false"
                      : row.type == Type::Int   ? parse_int(row.default_text).has_value()
                      : row.type == Type::Float ? parse_double(row.default_text).has_value()
                      : row.type == Type::IntList || row.type == Type::TextList ? row.default_text.starts_with('[')
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

TEST(MaxtextTable, RowsWithASpecFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> with_field;
  for (const Parameter& row : rows())
    if (!row.spec_field.empty()) with_field.emplace(row.name);
  std::set<std::string> taken;
  for (const char* more : {"", "lr_schedule_type: wsd\n", "model_name: mixtral-8x7b\n", "decoder_block: gpt_oss\n"})
    for (const std::string& key : keys_read(experiment(more[0] == 0 ? "steps: 3\n" : more, "maxtext")))
      taken.insert(key);
  EXPECT_EQ(with_field, taken);
}

TEST(MaxtextTable, DocumentsPageIsUpToDate) {
  const auto page = read_text_file("docs/parameters/maxtext.md");
  ASSERT_TRUE(page.ok()) << "make it: primus-cli config parameters maxtext > docs/parameters/maxtext.md";
  EXPECT_TRUE(*page == parameters_page("maxtext"))
      << "make it again: primus-cli config parameters maxtext > docs/parameters/maxtext.md";
}

}  // namespace
}  // namespace primus::dialect
