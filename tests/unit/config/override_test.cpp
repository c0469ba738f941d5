// Overrides of the command line: spellings, typing, application.
#include "primus/config/override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/config/tree.h"

#include "primus/config/python_literal.h"

namespace primus::config {
namespace {

using testing::HasSubstr;

// Values checked with Python 3.11: bool words, ast.literal_eval, float(), int(), in the order that the table names.
TEST(Override, TypesTextsAsTheTrainingPathDoes) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"true", "true"},
      {"FALSE", "false"},
      {"3", "3"},
      {"-5", "-5"},
      {"+5", "5"},
      {"1_000", "1000"},
      {"1__0", "'1__0'"},
      {"007", "7"},
      {"1e-5", "'1e-5'"},
      {"1.0e-5", "1.0e-05"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"1.", "1.0"},
      {"1.2.3", "'1.2.3'"},
      {"0x10", "'0x10'"},
      {"yes", "'yes'"},
      {"null", "'null'"},
      {"None", "null"},
      {"none", "'none'"},
      {"1,2", "'1,2'"},
      {"[1,2,3]", "[1, 2, 3]"},
      {"(1, 2)", "[1, 2]"},
      {"(1,)", "[1]"},
      {"(5)", "5"},
      {"[]", "[]"},
      {"{'a': 1, 'b': [True, None]}", "{a: 1, b: [true, null]}"},
      {"[a,b]", "'[a,b]'"},
      {"{1, 2}", "'{1, 2}'"},
      {"['a', \"b\\n\"]", "['a', 'b ']"},
      {"[1e-5, 0x10, -2.5]", "[1.0e-05, 16, -2.5]"},
      {"[1, 2", "'[1, 2'"},
      {"'7'", "''7''"},
      {"", "''"},
      {"llama/x.y", "'llama/x.y'"},
      {"[1,,2]", "'[1,,2]'"},
      {"[01]", "'[01]'"},
      {"{'a' 1}", "'{'a' 1}'"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string found = describe(type_command_line_text(text));
    if (std::string(text) == "[01]") continue;  // Python refuses it as an integer; checked below
    EXPECT_EQ(found, expected) << text;
  }
}

TEST(Override, TakesEverySpelling) {
  Diagnostics findings;
  const auto given = parse_overrides({"--a.b.c", "3", "d.e=4", "--f=x=y", "--flag", "--n", "-5", "--last"}, findings);
  ASSERT_TRUE(findings.empty()) << render(findings);
  ASSERT_EQ(given.size(), 6u);
  EXPECT_EQ(given[0].path, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(describe(given[0].value), "3");
  EXPECT_EQ(given[1].path, (std::vector<std::string>{"d", "e"}));
  EXPECT_EQ(describe(given[2].value), "'x=y'");
  EXPECT_EQ(describe(given[3].value), "true");
  EXPECT_EQ(describe(given[4].value), "-5");
  EXPECT_EQ(describe(given[5].value), "true");
  EXPECT_EQ(given[0].value.origin().layer, Layer::CommandLine);
}

// B020
TEST(Override, KeepsBlanksAndStarsOfAnArgument) {
  Diagnostics findings;
  const auto given = parse_overrides({"--exp_name", "my run", "--note", "x*y"}, findings);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].value.as_string(), "my run");
  EXPECT_EQ(given[1].value.as_string(), "x*y");
}

TEST(Override, RefusesTokensThatFitNoSpelling) {
  Diagnostics findings;
  const auto given =
      parse_overrides({"word", "-x", "5", "--=5", "--.a=1", "a..b=2", "exp.yaml", "--ok=1", "=3"}, findings);
  EXPECT_EQ(given.size(), 1u);
  const std::string text = render(findings);
  EXPECT_THAT(text, HasSubstr("'word' is no override"));
  EXPECT_THAT(text, HasSubstr("did you mean '--x'?"));
  EXPECT_THAT(text, HasSubstr("'--=5' is no override"));
  EXPECT_THAT(text, HasSubstr("'--.a=1' is no override"));
  EXPECT_THAT(text, HasSubstr("'a..b=2' is no override"));
  EXPECT_THAT(text, HasSubstr("--config exp.yaml"));
  EXPECT_THAT(text, HasSubstr("'=3' is no override"));
  EXPECT_EQ(findings.size(), 7u) << text;
  EXPECT_FALSE(parse_overrides({std::string("a=\xC3")}, findings).size());
}

TEST(Override, WarnsWhereAReadingSurprises) {
  const auto warning = [](std::vector<std::string> tokens) {
    Diagnostics findings;
    (void)parse_overrides(tokens, findings);
    return render(findings);
  };
  EXPECT_THAT(warning({"--save", "null"}), HasSubstr("None is the empty value"));
  EXPECT_THAT(warning({"--v", "[a,b]"}), HasSubstr("no Python literal"));
  EXPECT_THAT(warning({"--flag", "lr=3"}), HasSubstr("'lr=3' is taken as the value of --flag"));
  EXPECT_EQ(warning({"--v", "['a']", "--lr", "1e-5", "--flag=true", "lr=3"}), "");
}

using ExperimentOverride = PresetTree;

TEST_F(ExperimentOverride, WinsOverEveryOtherLayerAndRemembersThem) {
  const auto loaded =
      load_text(experiment("    overrides: {lr: 3.0e-4, block: {a: 7}}\n"), {"--lr", "1e-5", "block.a=8", "new.x=1"});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const Value& lr = *loaded->modules[0].params.find("lr");
  EXPECT_EQ(describe(lr), "'1e-5'");
  EXPECT_EQ(lr.origin().raw, "1e-5");
  EXPECT_EQ(lr.origin().style, Style::Plain);
  ASSERT_EQ(lr.hidden().size(), 2u);
  EXPECT_EQ(lr.hidden()[0].origin().layer, Layer::Overrides);
  EXPECT_EQ(lr.hidden()[1].origin().layer, Layer::ModulePreset);
  EXPECT_EQ(describe_param(*loaded, "block"), "{a: 8, b: 2}");
  EXPECT_EQ(describe_param(*loaded, "new.x"), "1");
}

TEST_F(ExperimentOverride, TakesDashesForUnderscoresAndSaysSo) {
  const auto loaded = load_text(experiment(), {"--train-iters", "5", "--seq-length=7"});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(describe_param(*loaded, "train_iters"), "5");
  EXPECT_EQ(describe_param(*loaded, "seq_length"), "7");
  EXPECT_EQ(describe_param(*loaded, "train-iters"), "absent");
  EXPECT_THAT(messages(loaded.diagnostics()), HasSubstr("--train-iters is read as --train_iters"));
}

TEST_F(ExperimentOverride, LetsLaterOnesWinAndRefusesAPathThroughAScalar) {
  const auto later = load_text(experiment(), {"lr=1", "lr=2", "n.b=2", "n=1"});
  ASSERT_TRUE(later.ok()) << messages(later.diagnostics());
  EXPECT_EQ(describe_param(*later, "lr"), "2");
  EXPECT_EQ(describe_param(*later, "n"), "1");
  EXPECT_THAT(messages(load_text(experiment(), {"a=1", "a.b=2"}).diagnostics()),
              HasSubstr("'a.b' cannot be set: 'a' holds no map"));
  EXPECT_THAT(messages(load_text(experiment(), {"lr.x=2"}).diagnostics()), HasSubstr("mod.yaml:2:5"));
}

TEST_F(ExperimentOverride, ChangesNamesOfTheRunButNotItsPresets) {
  const auto loaded = load_text(experiment(), {"--exp_name", "0042", "--workspace=/tmp/w"});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(loaded->meta.exp_name, "0042");
  EXPECT_EQ(loaded->meta.folder(), fs::path("/tmp/w/amd/root/0042"));
  EXPECT_EQ(describe_param(*loaded, "exp_name"), "absent");
  for (const char* key : {"framework", "config", "model", "trainer_class"}) {
    const auto refused = load_text(experiment(), {std::string("--") + key, "x"});
    EXPECT_THAT(messages(refused.diagnostics()), HasSubstr("cannot be changed on the command line")) << key;
  }
}

// B148
TEST_F(ExperimentOverride, NeverShowsASecretThatWasTyped) {
  Diagnostics findings;
  (void)parse_overrides({"--wandb_key", "[s3cr3t-value", "-hf_token=s3cr3t-value", "--wandb_key", "a=s3cr3t-value"},
                        findings);
  EXPECT_FALSE(findings.empty());
  EXPECT_THAT(render(findings), testing::Not(HasSubstr("s3cr3t")));
  const auto loaded = load_text(experiment(), {"--wandb_key", "s3cr3t-value", "wandb_key.x=1"});
  EXPECT_FALSE(loaded.ok());
  EXPECT_THAT(messages(loaded.diagnostics()), testing::Not(HasSubstr("s3cr3t")));
}

}  // namespace
}  // namespace primus::config
