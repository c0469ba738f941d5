// The maxtext table is true about what the translation reads.
#include <gtest/gtest.h>
#include <set>

#include "experiment.h"

#include "primus/dialect/parameter_table.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

using testing::experiment;

TEST(MaxtextTable, RowsWithASpecFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> with_field;
  for (const Parameter& row : all_parameters("maxtext"))
    if (!row.spec_field.empty()) with_field.emplace(row.name);
  std::set<std::string> taken;
  for (const char* more : {"", "lr_schedule_type: wsd\n", "model_name: mixtral-8x7b\n", "decoder_block: gpt_oss\n"})
    for (const std::string& key : keys_read(experiment(more[0] == 0 ? "steps: 3\n" : more, "maxtext")))
      taken.insert(key);
  EXPECT_EQ(with_field, taken);
}

}  // namespace
}  // namespace primus::dialect
