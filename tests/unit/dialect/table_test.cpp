// The parameter tables of all dialects: complete, consistent, and with an up-to-date page. What each translation takes
// of its table is tested beside the dialect.
#include <gtest/gtest.h>
#include <set>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using testing::little;

struct Table {
  const char* framework;
  const char* keys_file;  // every key of upstream's presets and experiments
  size_t least_keys, least_rows;
  bool successors_are_keys;  // what a row says to write instead is a key, not a sentence

  friend std::ostream& operator<<(std::ostream& out, const Table& table) { return out << table.framework; }
};

constexpr Table kTables[] = {
    {"megatron", "tests/cases/dialect/megatron_keys.txt", 700, 780, false},
    {"torchtitan", "tests/cases/dialect/torchtitan_keys.txt", 130, 240, true},
    {"maxtext", "tests/cases/dialect/maxtext_keys.txt", 180, 860, true},
    {"megatron_bridge", "tests/cases/dialect/bridge_keys.txt", 270, 520, false},
};

class Tables : public ::testing::TestWithParam<Table> {
 protected:
  static std::string framework() { return GetParam().framework; }
  static std::span<const Parameter> rows() { return all_parameters(framework()); }
  static bool is_known(std::string_view key) { return find_parameter(framework(), key) != nullptr; }
};

TEST(ParameterTable, IsTestedInEveryDialect) {
  EXPECT_EQ(all_dialects().size(), std::size(kTables));
}

TEST_P(Tables, HaveEachKeyOnceAndFindIt) {
  std::set<std::string_view> names;
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_parameter(framework(), row.name), &row);
  }
  EXPECT_GE(names.size(), GetParam().least_rows);
  EXPECT_FALSE(is_known("qqqqqqqqqqqqqqqq"));
  EXPECT_EQ(suggest_parameter(framework(), "qqqqqqqqqqqqqqqq"), "");
}

TEST_P(Tables, KnowEveryKeyOfUpstreamsPresetsAndExperiments) {
  const auto text = read_text_file(GetParam().keys_file);
  ASSERT_TRUE(text.ok());
  size_t count = 0;
  for (const std::string& key : split_whitespace(*text)) {
    EXPECT_TRUE(is_known(key) || is_section(framework(), key)) << key;
    ++count;
  }
  EXPECT_GE(count, GetParam().least_keys);
}

TEST_P(Tables, SayInEveryRowWhatAndWhy) {
  for (const Parameter& row : rows()) {
    EXPECT_TRUE(row.doc.ends_with('.')) << row.name;
    EXPECT_LE(row.doc.size(), 115U) << row.name;
    EXPECT_EQ(row.status == Status::Honoured, row.reason.empty()) << row.name;
    const bool may_set = row.status == Status::Honoured || row.status == Status::NotBuilt;
    EXPECT_TRUE(row.status != Status::Honoured || !row.spec_field.empty()) << row.name;
    EXPECT_TRUE(may_set || row.spec_field.empty()) << row.name;
    EXPECT_FALSE(row.default_text.empty()) << row.name;
    for (const std::string_view other : {row.only_with, row.needs})
      EXPECT_TRUE(other.empty() || is_known(other)) << row.name << " -> " << other;
    EXPECT_TRUE(!GetParam().successors_are_keys || row.instead.empty() || is_known(row.instead)) << row.name;
    EXPECT_TRUE(row.default_text != "null" || row.nullable) << row.name;
  }
}

TEST_P(Tables, HaveDefaultsThatFitTheirOwnKindChoicesAndRange) {
  for (const Parameter& row : rows()) {
    if (row.default_text == "null" || row.type == Type::Any) continue;
    const TypedValue value = table_value(row, row.default_text);
    const bool is_list = row.type == Type::IntList || row.type == Type::FloatList || row.type == Type::TextList;
    const bool fits = row.type == Type::Bool    ? row.default_text == "true" || row.default_text == "false"
                      : row.type == Type::Int   ? parse_int(row.default_text).has_value()
                      : row.type == Type::Float ? parse_double(row.default_text).has_value()
                                                : !is_list || row.default_text.starts_with('[');
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

TEST_P(Tables, HaveAPageThatIsUpToDate) {
  const std::string file = "docs/parameters/" + framework() + ".md";
  const auto page = read_text_file(file);
  ASSERT_TRUE(page.ok()) << "make it: primus-cli config parameters " << framework() << " > " << file;
  EXPECT_TRUE(*page == parameters_page(framework()))
      << "make it again: primus-cli config parameters " << framework() << " > " << file;
}

INSTANTIATE_TEST_SUITE_P(Dialects, Tables, ::testing::ValuesIn(kTables),
                         [](const auto& info) { return std::string(info.param.framework); });

TEST(MegatronTable, RowsThatSetAFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> honoured, taken;
  for (const Parameter& row : all_parameters("megatron"))
    if (!row.spec_field.empty()) honoured.emplace(row.name);
  // Some keys are only looked at on one branch.
  for (const char* more : {"", "recompute_granularity: full\n", "recompute_granularity: selective\n", "fp16: true\n",
                           "use_precision_aware_optimizer: true\nuse_distributed_optimizer: true\n"})
    for (const std::string& key : keys_read(experiment(little(more)))) taken.insert(key);
  EXPECT_EQ(honoured, taken);
}

TEST(MegatronTable, SuggestsTheNearestName) {
  EXPECT_EQ(suggest_parameter("megatron", "train_iter"), "did you mean 'train_iters'?");
  EXPECT_THAT(suggest_parameter("megatron", "Micro-Batch-Size"), ::testing::HasSubstr("micro_batch_size"));
  // Words of another dialect, misspelt or not.
  EXPECT_EQ(suggest_parameter("megatron", "leraning_rate"), "did you mean 'lr'?");
  EXPECT_EQ(suggest_parameter("maxtext", "clip_grad"), "did you mean 'gradient_clipping_threshold'?");
  EXPECT_EQ(suggest_parameter("torchtitan", "adam_beta2"), "did you mean 'optimizer.beta2'?");
}

}  // namespace
}  // namespace primus::dialect
