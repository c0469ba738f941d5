// config show: round trips over shipped experiments, --changed and --as spec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

namespace primus::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConfigShow = ConfigFixture;

TEST_F(ConfigShow, TheShownShowsTheSameBytesForEveryKindOfExperiment) {
  const auto files = shipped_experiments(/*every=*/7);
  ASSERT_GT(files.size(), 10U);
  for (const std::string& file : files) {
    const Outcome first = run({"show", "--config", file}, {{"HF_TOKEN", "hf_s3cr3t"}});
    ASSERT_EQ(first.code, 0) << file << first.err;
    const Outcome second = run({"show", "--config", write("shown.yaml", first.out)});
    ASSERT_EQ(second.code, 0) << file << second.err;
    ASSERT_EQ(second.out, first.out) << file;
    ASSERT_THAT(first.out, Not(HasSubstr("hf_s3cr3t"))) << file;
  }
}

// What stands under a placeholder's default is shown both times.
TEST_F(ConfigShow, RoundTripsDefaultsOfSecretKeys) {
  const std::string file = write("a.yaml", experiment("{hf_token: \"${HF_TOKEN:none}\", db_password: plain-s3cr3t}"));
  const Outcome first = run({"show", "--config", file});
  EXPECT_THAT(first.out, AllOf(HasSubstr("hf_token: none\n"), HasSubstr("db_password: \"***\"\n")));
  const Outcome second = run({"show", "--config", write("b.yaml", first.out)});
  EXPECT_EQ(second.out, first.out);
}

TEST_F(ConfigShow, ChangedHoldsOnlyWhatDiffersFromThePresetsWithTheirValues) {
  const std::string file = write("a.yaml", experiment("{train_iters: 7, new_thing: [1, 2], mock_data: false}"));
  const Outcome shown = run({"show", "--config", file, "--changed", "--lr", "3e-5"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(
      shown.out,
      AllOf(HasSubstr("      train_iters: 7  # preset: "), HasSubstr(" at primus/configs/modules/megatron/"),
            HasSubstr("      new_thing: [1, 2]  # no preset sets it\n"), HasSubstr("      lr: 3e-5  # preset: "),
            HasSubstr("    # set to what the presets say: mock_data\n"), Not(HasSubstr("hidden_size"))));
  const Json json = json_of(run({"show", "--config", file, "--changed", "--format", "json"}));
  const Json& module = json["modules"]["pre_trainer"];
  EXPECT_EQ(module["changed"]["train_iters"]["value"], 7);
  EXPECT_FALSE(module["changed"]["new_thing"].contains("preset"));
  EXPECT_EQ(module["unchanged"].dump(), R"(["mock_data"])");
}

TEST_F(ConfigShow, ChangedIsAnExperimentThatResolvesToTheSame) {
  for (const std::string& file : shipped_experiments(/*every=*/11)) {
    const Outcome changed = run({"show", "--config", file, "--changed"});
    ASSERT_EQ(changed.code, 0) << file << changed.err;
    const Outcome difference = run({"diff", file, write("changed.yaml", changed.out)});
    ASSERT_EQ(difference.code, 0) << file << difference.out << difference.err << changed.out;
  }
}

TEST_F(ConfigShow, ChangedRefusesAResolvedFile) {
  const std::string resolved = write("r.yaml", run({"show", "--config", kExperiment}).out);
  const Outcome refused = run({"show", "--config", resolved, "--changed"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("resolved already"));
}

TEST_F(ConfigShow, AsSpecPrintsTheRun) {
  const Outcome yaml = run({"show", "--config", kExperiment, "--as", "spec"});
  ASSERT_EQ(yaml.code, 0) << yaml.err;
  EXPECT_THAT(yaml.out, AllOf(HasSubstr("hidden_size: 2048\n"), HasSubstr("    - at: 0-21\n")));
  const Json json = json_of(run({"show", "--config", kExperiment, "--as", "spec", "--format", "json", "--only",
                                 "model.layers.attention.num_heads,lr.max_lr"}));
  EXPECT_EQ(json.dump(), R"({"model.layers.attention.num_heads":32,"lr.max_lr":2e-05})");
  const Outcome wrong = run({"show", "--config", kExperiment, "--as", "spec", "--only", "lr.max_rl"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'lr.max_lr'"));
}

// B022
TEST_F(ConfigShow, DerivedValuesAreTheSameFromTheFileAndFromTheCommandLine) {
  const char* layout = "num_layers: 12, pipeline_model_parallel_size: 2, num_layers_per_virtual_pipeline_stage: 3";
  const std::string file = write("file.yaml", experiment("{mock_data: true, " + std::string(layout) + "}"));
  const std::string bare = write("bare.yaml", experiment("{mock_data: true}"));
  const std::vector<std::string> spec = {"--as", "spec",   "--format",
                                         "json", "--only", "parallel,model.layers.attention"};
  std::vector<std::string> from_file = {"show", "--config", file}, typed = {"show", "--config", bare};
  from_file.insert(from_file.end(), spec.begin(), spec.end());
  typed.insert(typed.end(), spec.begin(), spec.end());
  typed.insert(typed.end(),
               {"--num_layers", "12", "--pipeline_model_parallel_size=2", "num_layers_per_virtual_pipeline_stage=3"});
  const Outcome first = run(from_file), second = run(typed);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(json_of(first)["parallel"]["stages_per_rank"], 2);
  EXPECT_EQ(second.out, first.out) << second.err;
}

}  // namespace
}  // namespace primus::cli
