// config diff: run folders, other trees, overrides, runs, colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

namespace primus::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConfigDiff = ConfigFixture;

TEST_F(ConfigDiff, GroupsByTopicOfTheTable) {
  const std::string a = write("a.yaml", experiment("{lr: 1.0e-5, hidden_dropout: 0.2, wandb_project: x}"));
  std::string text = experiment("{lr: 2.0e-5, train_iters: 9}");
  text.replace(text.find("exp_name: c"), 11, "exp_name: d");
  const Outcome found = run({"diff", a, write("b.yaml", text)});
  EXPECT_EQ(found.code, 4);
  EXPECT_THAT(found.out, AllOf(HasSubstr("experiment\n  ~ exp_name: c -> d\n"),
                               HasSubstr("pre_trainer: model\n  ~ hidden_dropout: 0.2 -> "),
                               HasSubstr("pre_trainer: exit\n  ~ train_iters: "),
                               HasSubstr("pre_trainer: lr\n  ~ lr: 1.0e-05 -> 2.0e-05\n")));
  EXPECT_LT(found.out.find("pre_trainer: model"), found.out.find("pre_trainer: lr"));
  EXPECT_THAT(run({"diff", a, a}, {}, /*colour=*/true).out, Not(HasSubstr("\033")));
  EXPECT_THAT(run({"diff", a, write("b.yaml", text)}, {}, /*colour=*/true).out, HasSubstr("\033[33m  ~ lr"));
}

TEST_F(ConfigDiff, ComparesWithARunFolder) {
  const std::string a = write("a.yaml", experiment("{lr: 1.0e-5}"));
  write("run/config/resolved.yaml", run({"show", "--config", a, "--train_iters", "3"}).out);
  const Outcome found = run({"diff", a, (folder_ / "run").string()});
  EXPECT_EQ(found.code, 4) << found.err;
  EXPECT_EQ(found.out.find("train_iters") != std::string::npos, true);
  EXPECT_THAT(found.out, AllOf(HasSubstr(" -> 3\n"), Not(HasSubstr("lr:"))));
  EXPECT_EQ(run({"diff", a, folder_.string()}).code, 2);
}

TEST_F(ConfigDiff, ComparesWithTheSameExperimentOfAnotherTree) {
  write_tree("upstream");
  const Outcome found = run({"diff", kExperiment, (folder_ / "upstream").string()});
  EXPECT_EQ(found.code, 4) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("~ num_layers: 22 -> 1\n"), HasSubstr("+ other_tree: 1\n")));
  // The same file, resolved with the presets of two trees.
  const std::string a = write("a.yaml", experiment("{}"));
  const Outcome trees = run({"diff", a, a, "--presets-b", (folder_ / "upstream").string()});
  EXPECT_EQ(trees.code, 4);
  EXPECT_THAT(trees.out, HasSubstr("~ num_layers: 22 -> 1\n"));
}

TEST_F(ConfigDiff, TellsWhatOverridesChange) {
  const Outcome found = run({"diff", kExperiment, "train_iters=9", "--lr", "2e-5"});
  EXPECT_EQ(found.code, 4);
  EXPECT_THAT(found.out, HasSubstr("~ train_iters: 50 -> 9"));
}

TEST_F(ConfigDiff, AsSpecPrintsExactlyTheFieldsThatDiffer) {
  const std::string a = write("a.yaml", experiment("{mock_data: true, weight_decay: 0.1}"));
  const std::string b = write("b.yaml", experiment("{mock_data: true, weight_decay: 0.1, rotary_base: 20000}"));
  const Outcome found = run({"diff", a, b, "--as", "spec"});
  EXPECT_EQ(found.code, 4) << found.err;
  EXPECT_EQ(found.out, "model.layers[0-21].attention.rope.base: 10000.0 -> 20000.0\n");
  const Json json = json_of(run({"diff", a, b, "--as", "spec", "--format", "json"}));
  EXPECT_EQ(json["differences"][0]["after"], 20000.0);
  EXPECT_EQ(run({"diff", a, a, "--as", "spec"}).code, 0);
}

TEST_F(ConfigDiff, NamesThePresetsThatDiffer) {
  const std::string a = write("a.yaml", experiment("{}"));
  std::string text = experiment("{}");
  text.replace(text.find("tinyllama_1.1B.yaml"), 19, "llama2_7B.yaml");
  const Outcome found = run({"diff", a, write("b.yaml", text)});
  EXPECT_THAT(found.out, HasSubstr("pre_trainer\n  ~ model: tinyllama_1.1B"));
}

}  // namespace
}  // namespace primus::cli
