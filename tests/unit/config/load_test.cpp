// Composition of an experiment: extends, presets, overrides, platform, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "unit/config/tree.h"

namespace primus::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Extends = PresetTree;

TEST_F(Extends, MergesParentsLeftToRightAndTheFileOverAll) {
  write("primus/configs/models/megatron/b1.yaml", "a: 1\nl: [1, 2]\nd: {x: 1, y: 2}\nz: 9\n");
  write("primus/configs/models/megatron/b2.yaml", "a: 2\nl: [3]\nd: {y: 5}\n");
  write("primus/configs/models/megatron/model.yaml", "extends: [b1.yaml, b2.yaml]\nd: {z: null}\n");
  const auto loaded = load_text(experiment());
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(describe_param(*loaded, "a"), "2");
  EXPECT_EQ(describe_param(*loaded, "l"), "[3]");
  EXPECT_EQ(describe_param(*loaded, "d"), "{x: 1, y: 5, z: null}");
  EXPECT_EQ(describe_param(*loaded, "z"), "9");
  EXPECT_EQ(describe_param(*loaded, "extends"), "absent");
  const Value& a = *loaded->modules[0].params.find("a");
  ASSERT_EQ(a.hidden().size(), 1u);
  EXPECT_THAT(a.hidden()[0].place().to_string(), HasSubstr("b1.yaml:1:4"));
  EXPECT_EQ(loaded->modules[0].model_chain.size(), 3u);
}

TEST_F(Extends, ReplacesEveryPairThatIsNotTwoMaps) {
  write("primus/configs/models/megatron/base.yaml", "d: {x: 1}\nl: [1, 2]\na: 1\ne: {x: 1}\n");
  write("primus/configs/models/megatron/model.yaml", "extends: base.yaml\nd: null\nl: null\na: {q: 1}\ne: 7\n");
  const auto loaded = load_text(experiment());
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(describe_param(*loaded, "d"), "null");
  EXPECT_EQ(describe_param(*loaded, "l"), "null");
  EXPECT_EQ(describe_param(*loaded, "a"), "{q: 1}");
  EXPECT_EQ(describe_param(*loaded, "e"), "7");
}

// B018
TEST_F(Extends, NamesTheChainOfACycleAndAllowsADiamond) {
  write("primus/configs/models/megatron/model.yaml", "extends: [b.yaml]\n");
  write("primus/configs/models/megatron/b.yaml", "extends: [../megatron/model.yaml]\n");
  EXPECT_THAT(messages(load_text(experiment()).diagnostics()),
              AllOf(HasSubstr("b.yaml:1:11: error: 'extends' goes in a circle"),
                    testing::ContainsRegex("model.yaml -> .*b.yaml -> .*model.yaml")));
  write("primus/configs/models/megatron/model.yaml", "extends: model.yaml\n");
  EXPECT_THAT(messages(load_text(experiment()).diagnostics()), HasSubstr("goes in a circle"));
  write("primus/configs/models/megatron/model.yaml", "extends: [b.yaml, c.yaml]\n");
  write("primus/configs/models/megatron/b.yaml", "extends: d.yaml\nv: b\n");
  write("primus/configs/models/megatron/c.yaml", "extends: d.yaml\nv: c\n");
  write("primus/configs/models/megatron/d.yaml", "v: d\nw: d\n");
  const auto diamond = load_text(experiment());
  ASSERT_TRUE(diamond.ok()) << messages(diamond.diagnostics());
  EXPECT_EQ(describe_param(*diamond, "v"), "'c'");
  EXPECT_EQ(describe_param(*diamond, "w"), "'d'");
}

TEST_F(Extends, RefusesWhatIsNoFileNameAndSuggestsNearOnes) {
  for (const char* wrong : {"null", "3", "[a: 1]", "[null]", "''"}) {
    write("primus/configs/models/megatron/model.yaml", std::string("extends: ") + wrong + "\n");
    EXPECT_THAT(messages(load_text(experiment()).diagnostics()), HasSubstr("'extends' takes a file name")) << wrong;
  }
  write("primus/configs/models/megatron/llama_base.yaml", "a: 1\n");
  write("primus/configs/models/megatron/model.yaml", "extends: llama_bse.yaml\n");
  EXPECT_THAT(messages(load_text(experiment()).diagnostics()),
              AllOf(HasSubstr("model.yaml:1:10: error: cannot read"), HasSubstr("did you mean 'llama_base.yaml'?")));
  write("primus/configs/models/megatron/model.yaml", "extends: []\nnum_layers: 3\n");
  EXPECT_TRUE(load_text(experiment()).ok());
  write("primus/configs/models/megatron/model.yaml", "extends: ${BASE:llama}_base.yaml\n");
  EXPECT_TRUE(load_text(experiment()).ok());
}

TEST_F(Extends, WorksForExperimentsAndIsDataBelowTheTop) {
  write("base.yaml", experiment("    overrides: {lr: 1.0, m: {extends: b.yaml}}\n"));
  const auto loaded =
      load_text("extends: base.yaml\nexp_name: other\nmodules: {pre_trainer: {overrides: {lr: 2.0}}}\n");
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(loaded->meta.exp_name, "other");
  EXPECT_EQ(describe_param(*loaded, "lr"), "2.0");
  EXPECT_EQ(describe_param(*loaded, "m"), "{extends: 'b.yaml'}");
  EXPECT_EQ(loaded->chain.size(), 2u);
}

using Compose = PresetTree;

TEST_F(Compose, ModulePresetBeatsModelPresetWholeAndANoteSaysSo) {
  const auto loaded = load_text(experiment());
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(describe_param(*loaded, "seq_length"), "1024");
  EXPECT_EQ(describe_param(*loaded, "block"), "{a: 1, b: 2}");
  EXPECT_EQ(describe_param(*loaded, "num_layers"), "32");
  EXPECT_EQ(describe_param(*loaded, "model"), "'model.yaml'");
  EXPECT_THAT(messages(loaded.diagnostics()),
              AllOf(HasSubstr("model.yaml:2:13: note: 'seq_length' of the model preset is not used"),
                    HasSubstr("4096 here, 1024 at")));
  const auto overridden = load_text(experiment("    overrides: {seq_length: 2048, block: {c: 9}}\n"));
  EXPECT_THAT(messages(overridden.diagnostics()), Not(HasSubstr("'seq_length'")));
  EXPECT_EQ(describe_param(*overridden, "block"), "{a: 1, b: 2, c: 9}");
}

TEST_F(Compose, KeysBesideOverridesAreParametersUnlessTheModulePresetHasThem) {
  const auto loaded =
      load_text(experiment("    trainer_class: Foo\n    train_iters: 77\n    num_layers: 5\n    extra: 1\n"
                           "    overrides: {brand_new: 1, train_iters: null}\n"));
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(describe_param(*loaded, "train_iters"), "null");
  EXPECT_EQ(describe_param(*loaded, "num_layers"), "5");
  EXPECT_EQ(describe_param(*loaded, "extra"), "1");
  EXPECT_EQ(describe_param(*loaded, "brand_new"), "1");
  EXPECT_EQ(describe_param(*loaded, "trainer_class"), "absent");
  EXPECT_EQ(loaded->modules[0].extras.find("trainer_class")->as_string(), "Foo");
  EXPECT_THAT(messages(loaded.diagnostics()),
              HasSubstr("exp.yaml:11:5: warning: 'train_iters' beside 'overrides' has no effect"));
}

TEST_F(Compose, TheTextNullBecomesNullWhereTheReferenceMakesItNull) {
  EXPECT_EQ(value_of("tokenizer_model", "tokenizer_model: \"null\""), "null");
  EXPECT_EQ(value_of("nested_new.a", "nested_new: {a: \"null\"}"), "'null'");
  EXPECT_EQ(value_of("block.a", "block: {a: \"null\"}"), "null");
  EXPECT_EQ(value_of("save", "save: ${PATH_TO_SAVE:null}"), "null");
  EXPECT_EQ(value_of("save", "save: \"None\""), "'None'");
}

TEST_F(Compose, ReadsOverridesThatAreNullAndRefusesLists) {
  EXPECT_TRUE(load_text(experiment("    overrides:\n")).ok());
  EXPECT_THAT(messages(load_text(experiment("    overrides: [lr]\n")).diagnostics()),
              HasSubstr("overrides must be a map"));
}

TEST_F(Compose, KeepsBasesAsPlainData) {
  write("primus/configs/models/megatron/model.yaml", "bases: [other.yaml]\nnum_layers: 2\n");
  const auto loaded = load_text(experiment());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(describe_param(*loaded, "bases"), "['other.yaml']");
}

TEST_F(Compose, TheModelPresetsOwnModelKeyStandsInForTheFileName) {
  write("primus/configs/models/megatron/model.yaml", "model: {name: llama3, flavor: 8B}\n");
  const auto loaded = load_text(experiment(), {"--model.flavor", "70B"});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_EQ(describe_param(*loaded, "model"), "{name: 'llama3', flavor: '70B'}");
  EXPECT_EQ(loaded->modules[0].model, "model.yaml");
}

TEST_F(Compose, FindsPresetsWithoutSuffixAndRefusesPathsThatLeave) {
  std::string text = experiment();
  text.replace(text.find("model.yaml"), 10, "model");
  const auto loaded = load_text(text);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->modules[0].model, "model");
  for (const char* name : {"../../../../etc/passwd", "/etc/passwd", "../../../exp.yaml"}) {
    std::string other = experiment();
    other.replace(other.find("model.yaml"), 10, name);
    EXPECT_THAT(messages(load_text(other).diagnostics()), HasSubstr("leaves the folder of presets")) << name;
  }
  write("primus/configs/models/other/m.yaml", "num_layers: 8\n");
  std::string across = experiment();
  across.replace(across.find("model.yaml"), 10, "../other/m.yaml");
  EXPECT_TRUE(load_text(across).ok());
}

// B013
TEST_F(Compose, ReportsEverythingOfAFileTogether) {
  const auto loaded = load_text(
      "work_grup: a\nuser_name: ''\nexp_name: [1]\nworkspace: .\nlora: {}\n"
      "platform: {overrides: {}}\n"
      "modules:\n  pre_trainer: {framework: megatorn, config: mod.yaml, model: model.yaml}\n"
      "  post_trainer: {framework: megatron, config: mdo.yaml, model: modle, overides: {}}\n  foo: {}\n  a_trainer: "
      "{model: x}\n");
  const std::string text = messages(loaded.diagnostics());
  for (const char* part :
       {"exp.yaml:1:1: error: unknown top-level key 'work_grup'", "did you mean 'work_group'?",
        "the key 'work_group' is missing", "user_name is empty", "exp_name must be a text",
        "unknown top-level key 'lora'", "parameters belong under", "'platform' has no 'config'",
        "unknown framework 'megatorn'", "did you mean 'megatron'?", "no module preset 'mdo.yaml'",
        "did you mean 'mod.yaml'?", "no model preset 'modle'", "unknown key 'overides'", "did you mean 'overrides'?",
        "unknown module 'foo'", "a_trainer has no 'framework'", "a_trainer has no 'config'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(Compose, RefusesExperimentsWithoutModules) {
  EXPECT_THAT(messages(load_text("work_group: a\nuser_name: b\nexp_name: c\nworkspace: d\n").diagnostics()),
              HasSubstr("'modules' is missing"));
  EXPECT_THAT(
      messages(load_text("work_group: a\nuser_name: b\nexp_name: c\nworkspace: d\nmodules: {}\n").diagnostics()),
      HasSubstr("at least one module"));
  EXPECT_THAT(messages(load("nothing.yaml").diagnostics()), HasSubstr("no such file"));
}

TEST_F(Compose, ReadsThePlatform) {
  const auto plain = load_text(experiment());
  EXPECT_EQ(plain->platform_config, "platform_azure.yaml");
  EXPECT_EQ(plain->platform.find("num_nodes_env_key")->as_string(), "NNODES");
  EXPECT_FALSE(plain->platform.find("num_nodes_env_key")->origin().is_secret);
  const auto changed =
      load_text(experiment("", "platform: {config: platform_azure.yaml, overrides: {name: mine, x: 1}}\n"));
  ASSERT_TRUE(changed.ok()) << messages(changed.diagnostics());
  EXPECT_EQ(changed->platform.find("name")->as_string(), "mine");
  write("primus/configs/platforms/short.yaml", "name: short\n");
  EXPECT_THAT(messages(load_text(experiment("", "platform: {config: short.yaml}\n")).diagnostics()),
              HasSubstr("lacks the key 'workspace'"));
}

TEST_F(Compose, FindsTheModuleOfACommand) {
  std::string text = experiment();
  text.replace(text.find("pre_trainer:"), 12, "post_trainer:");
  const auto loaded = load_text(text);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->find_module("pre_trainer"), &loaded->modules[0]);
  EXPECT_EQ(loaded->find_module("other_trainer"), nullptr);
  EXPECT_EQ(loaded->main_module().name, "post_trainer");
}

// B004, B006
TEST_F(Compose, WarnsAboutOctalAndSexagesimalNumbers) {
  const auto loaded = load_text(
      experiment("    overrides: {seed: 0123, t: 12:30, port: 08, o: 0o17, z: 0, s: '0123', flash: off, of: of}\n"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(describe_param(*loaded, "seed"), "83");
  EXPECT_EQ(describe_param(*loaded, "t"), "750");
  EXPECT_EQ(describe_param(*loaded, "port"), "'08'");
  EXPECT_EQ(describe_param(*loaded, "o"), "'0o17'");
  EXPECT_EQ(describe_param(*loaded, "flash"), "false");
  EXPECT_EQ(describe_param(*loaded, "of"), "'of'");
  const std::string text = messages(loaded.diagnostics());
  EXPECT_THAT(text, HasSubstr("warning: 0123 is read as 83: YAML 1.1 takes it as octal"));
  EXPECT_THAT(text, HasSubstr("12:30 is read as 750"));
  EXPECT_THAT(text, HasSubstr("2 warnings"));
}

TEST_F(Compose, CreatesNothingOnDisk) {
  std::string text = experiment();
  text.replace(text.find("./output"), 8, (root_ / "out").string());
  ASSERT_TRUE(load_text(text).ok());
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

}  // namespace
}  // namespace primus::config
