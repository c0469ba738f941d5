// ${NAME} and ${NAME:default}: every row of the table that the project which defined them was observed to give.
#include "primus/config/placeholder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/config/tree.h"

namespace primus::config {
namespace {

using testing::HasSubstr;

struct Row {
  const char* written;
  std::map<std::string, std::string> environment;
  const char* result;
};

std::string substituted(const Row& row) {
  Value value{std::string(row.written)};
  Diagnostics findings;
  substitute_placeholders(value, "k", environment_of(row.environment), false, findings);
  return has_errors(findings) ? render(findings) : describe(value);
}

TEST(Placeholder, GivesTheObservedResults) {
  const std::vector<Row> rows = {
      {"${X:3}", {}, "3"},
      {"${X:1e-5}", {}, "1.0e-05"},
      {"${X:-5}", {}, "-5"},
      {"${X:}", {}, "''"},
      {"${X:9}", {{"X", ""}}, "''"},
      {"${X}", {{"X", "007"}}, "7"},
      {"${X}", {{"X", "TRUE"}}, "true"},
      {"${X:1}", {{"X", "null"}}, "'null'"},
      {"${X}", {{"X", "[1,2]"}}, "'[1,2]'"},
      {"a${X:1}b", {}, "'a1b'"},
      {"${X:1}${Y:2}", {}, "12"},
      {"${A:${B:7}}", {}, "7"},
      {"${A:${B:7}}", {{"A", "x"}}, "'x'"},
      {"${A:${B:7}}", {{"B", "y"}}, "'y'"},
      {"${X:a:b}", {}, "'a:b'"},
      {"${X:+5}", {}, "'+5'"},
      {"${X:1_000}", {}, "'1_000'"},
      {"${X:0x10}", {}, "'0x10'"},
      {"${X:yes}", {}, "'yes'"},
      {"${X:none}", {}, "'none'"},
      {"${X:inf}", {}, "'inf'"},
      {"${X:.5}", {}, "0.5"},
      {"${X:1.}", {}, "1.0"},
      {"${X: 4}", {}, "' 4'"},
      {"$X", {{"X", "1"}}, "'$X'"},
      {"${}", {}, "'${}'"},
      {"${:x}", {}, "'${:x}'"},
      {"7", {}, "'7'"},
      {"1e-5", {}, "'1e-5'"},
      {"${D:/mnt/set/a:b}", {}, "'/mnt/set/a:b'"},
      {"pre-${D:x}-post", {}, "'pre-x-post'"},
      {"${D:{x}}", {}, "'{x}'"},
      {"${D:{x}}", {{"D", "v"}}, "'v'"},
      {"${MY VAR:3}", {}, "3"},
      {"${X}", {{"X", "9e999"}}, "'9e999'"},
      {"${X}", {{"X", "99999999999999999999"}}, "'99999999999999999999'"},
      {"${X}", {{"X", "${Y}"}}, "'${Y}'"},
      {"${X}.5", {{"X", "-1"}}, "-1.5"},
      {"${X:-.5e+3}", {}, "-500.0"},
      {"${X:--5}", {}, "'--5'"},
      {"${X:1.2.3}", {}, "'1.2.3'"},
      {"${X:.}", {}, "'.'"},
  };
  for (const Row& row : rows) EXPECT_EQ(substituted(row), row.result) << row.written;
}

// B016
TEST(Placeholder, RefusesOneThatNeverEnds) {
  EXPECT_THAT(substituted({"${D", {}, ""}), HasSubstr("without its closing }"));
  EXPECT_THAT(substituted({"a ${D:{x}", {}, ""}), HasSubstr("without its closing }"));
}

using ExperimentPlaceholder = PresetTree;

// B015
TEST_F(ExperimentPlaceholder, ReportsEveryMissingVariableWithKeyAndPlace) {
  const auto loaded = load_text(experiment("    overrides: {a: \"${ONE}\", b: {c: \"x${TWO}\"}}\n", ""));
  const std::string text = messages(loaded.diagnostics());
  EXPECT_THAT(text, HasSubstr("exp.yaml:10:20: error: the environment variable 'ONE' is not set"));
  EXPECT_THAT(text, HasSubstr("exp.yaml:10:37: error: the environment variable 'TWO' is not set"));
  EXPECT_THAT(text, HasSubstr("modules.pre_trainer.overrides.b.c"));
}

// B014, B015
TEST_F(ExperimentPlaceholder, KeepsNamesOfRunsTextAndRefusesEmptyOnes) {
  const std::string text =
      "work_group: ${TEAM:research}\nuser_name: ${U}\nexp_name: ${RUN}\nworkspace: 12\n"
      "modules: {pre_trainer: {framework: megatron, config: mod, model: model, overrides: {hidden_size: "
      "\"${HS:1024}\"}}}\n";
  const auto loaded = load_text(text, {}, {{"U", "123"}, {"RUN", "007"}, {"HS", "4096"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(loaded->meta.work_group, "research");
  EXPECT_EQ(loaded->meta.user_name, "123");
  EXPECT_EQ(loaded->meta.exp_name, "007");
  EXPECT_EQ(loaded->meta.workspace, "12");
  EXPECT_EQ(loaded->meta.folder(), fs::path("12/research/123/007"));
  EXPECT_EQ(describe_param(*loaded, "hidden_size"), "4096");
  const auto empty = load_text(text, {}, {{"U", "x"}, {"RUN", "y"}, {"TEAM", ""}});
  EXPECT_THAT(messages(empty.diagnostics()), HasSubstr("work_group is empty"));
  const auto outside = load_text(text, {}, {{"U", "../x"}, {"RUN", "/y"}});
  EXPECT_THAT(messages(outside.diagnostics()), HasSubstr("user_name must name a folder below the workspace"));
  EXPECT_THAT(messages(outside.diagnostics()), HasSubstr("exp_name must name a folder below the workspace"));
}

TEST_F(ExperimentPlaceholder, RemembersWhatWasWrittenAndWhoGaveTheValue) {
  const auto loaded = load_text(experiment("    overrides: {a: \"${A:1}\", b: \"${B:1}\"}\n"), {}, {{"A", "2"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const Origin& a = loaded->modules[0].params.find("a")->origin();
  const Origin& b = loaded->modules[0].params.find("b")->origin();
  EXPECT_EQ(a.placeholder, "${A:1}");
  EXPECT_EQ(a.raw, "2");
  EXPECT_EQ(a.substitution, Substitution::Variable);
  EXPECT_EQ(b.substitution, Substitution::Default);
}

TEST_F(ExperimentPlaceholder, ExpandsTheEnvBlockInOrder) {
  const auto loaded = load_text(
      experiment(
          "",
          "env:\n  A: $BASE/lib:$PATH\n  B: ${A}/x\n  C: true\n  D: 1.50\n  E: $NOPE\n  F: ${NOPE:dflt}\n  G: 010\n"),
      {}, {{"BASE", "/opt"}, {"PATH", "/bin"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const auto env = [&](const char* name) { return loaded->env.find(name)->as_string(); };
  EXPECT_EQ(env("A"), "/opt/lib:/bin");
  EXPECT_EQ(env("B"), "/opt/lib:/bin/x");
  EXPECT_EQ(env("C"), "True");
  EXPECT_EQ(env("D"), "1.5");
  EXPECT_EQ(env("E"), "$NOPE");
  EXPECT_EQ(env("F"), "dflt");
  EXPECT_EQ(env("G"), "8");
  EXPECT_EQ(loaded->modules[0].params.find("A"), nullptr);
  EXPECT_THAT(messages(load_text(experiment("", "env: [A]\n")).diagnostics()), HasSubstr("'env' must be a map"));
  EXPECT_THAT(messages(load_text(experiment("", "env: {A: [1]}\n")).diagnostics()), HasSubstr("env.A must be a text"));
}

}  // namespace
}  // namespace primus::config
