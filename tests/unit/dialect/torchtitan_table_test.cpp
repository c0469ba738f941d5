// The table of the torchtitan dialect: sections, old names, and true about what the translation reads.
#include <gtest/gtest.h>
#include <set>

#include "torchtitan_experiment.h"

#include "primus/dialect/parameter_table.h"

namespace primus::dialect {
namespace {

TEST(TorchTitanTable, HasSectionsOfKeys) {
  EXPECT_TRUE(is_section("torchtitan", "training"));
  EXPECT_TRUE(is_section("torchtitan", "quantize.linear.float8"));
  EXPECT_FALSE(is_section("torchtitan", "training.steps"));
}

TEST(TorchTitanTable, RowsWithAFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> with_field;
  for (const Parameter& row : all_parameters("torchtitan"))
    if (!row.spec_field.empty()) with_field.emplace(row.name);
  const auto taken = keys_read(testing::titan());
  EXPECT_EQ(with_field, std::set<std::string>(taken.begin(), taken.end()));
}

TEST(TorchTitanTable, SuggestsTheNearestName) {
  EXPECT_THAT(suggest_parameter("torchtitan", "training.step"), ::testing::HasSubstr("'training.steps'"));
}

TEST(TorchTitanTable, AnswersAnOldNameWithTheNewOne) {
  const auto run = to_spec(testing::titan({"training.batch_size: 4"}));
  EXPECT_THAT(testing::errors_of(run.diagnostics(), "training.batch_size"),
              ::testing::HasSubstr("write training.local_batch_size"));
}

}  // namespace
}  // namespace primus::dialect
