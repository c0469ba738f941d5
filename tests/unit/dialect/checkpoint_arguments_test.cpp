// Arguments never come from a checkpoint: not by default, and not by a key.
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using ::testing::HasSubstr;
using testing::little;
using testing::replaced;

// B021
TEST(CheckpointArguments, AreRefusedByNameSoThatWhatWasTypedStands) {
  for (const char* key : {"use_checkpoint_args", "use_mp_args_from_checkpoint_args"}) {
    const auto source = experiment(little(std::string("load: /x\n") + key + ": true\n"));
    const auto refused = to_spec(source);
    ASSERT_FALSE(refused.ok()) << key;
    EXPECT_THAT(render(refused.diagnostics()), HasSubstr(key));
    EXPECT_THAT(render(refused.diagnostics()), HasSubstr("arguments from a checkpoint"));
  }
  // Without it a resumed run has the length that is written now, whatever the one that saved had.
  const std::string longer = replaced(little("load: /x\n"), "max_position_embeddings", "128");
  const auto run = to_spec(experiment(replaced(longer, "seq_length", "128")));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->data.sequence_length, 128);
  EXPECT_EQ(run->parallel.tensor, 1);
}

}  // namespace
}  // namespace primus::dialect
