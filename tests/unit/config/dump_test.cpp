// Writing values back: quotes, round trips, secrets, JSON.
#include "primus/config/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "unit/config/tree.h"

#include "primus/config/diff.h"
#include "primus/config/explain.h"

namespace primus::config {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(YamlScalarText, QuotesWhateverWouldReadAsSomethingElse) {
  const auto written = [](const std::string& text, Style style) {
    Value value(text);
    value.origin().style = style;
    return yaml_scalar(value);
  };
  EXPECT_EQ(written("true", Style::Quoted), "\"true\"");
  EXPECT_EQ(written("1e-3", Style::Quoted), "\"1e-3\"");
  EXPECT_EQ(written("1e-3", Style::Plain), "1e-3");
  EXPECT_EQ(written("1_000", Style::Plain), "\"1_000\"");
  EXPECT_EQ(written("2024-01-02", Style::Plain), "\"2024-01-02\"");
  EXPECT_EQ(written("a: b", Style::Quoted), "\"a: b\"");
  EXPECT_EQ(written("\"x\" 'y'", Style::Quoted), "'\"x\" ''y'''");
  EXPECT_EQ(written("a\nb\t\\", Style::Quoted), "\"a\\nb\\t\\\\\"");
  EXPECT_EQ(written("llama3.1_8B.yaml", Style::Plain), "llama3.1_8B.yaml");
  EXPECT_EQ(written("#x", Style::Plain), "\"#x\"");
  EXPECT_EQ(yaml_scalar(Value(1e-5)), "1.0e-05");
  EXPECT_EQ(yaml_scalar(Value(3.0)), "3.0");
}

using Dump = PresetTree;

// B003
TEST_F(Dump, ReadsBackToTheSameBytes) {
  const auto loaded =
      load_text(experiment("    trainer_class: Foo\n    overrides:\n"
                           "      a: \"true\"\n      b: \"3\"\n      c: 'x: y'\n      d: \"1e-3\"\n      e: ''\n      "
                           "f: 1e-5\n      g: [1, [a, 'b,c'], {}]\n"
                           "      h: [{x: 1, y: [2]}, {}]\n      i: {}\n      j: []\n      k: 2024-01-02\n      l: "
                           ".inf\n      m: 1.0e+20\n"
                           "      n: |\n        two\n        lines\n      o: \"\\u00e9\\u2028\"\n      'p q': "
                           "\"${}\"\n      \"yes\": 1\n      q: -0.0\n",
                           "env: {A: \"1\", PATH: /x}\nplatform: {config: platform_azure.yaml, overrides: {z: 1}}\n"),
                {"--s", "null"});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const std::string first = dump_yaml(*loaded);
  write("resolved.yaml", first);
  const auto again = load("resolved.yaml");
  ASSERT_TRUE(again.ok()) << messages(again.diagnostics()) << first;
  EXPECT_EQ(dump_yaml(*again), first);
  EXPECT_TRUE(again->modules[0].params.same_data(loaded->modules[0].params));
  EXPECT_TRUE(again->env.same_data(loaded->env));
  EXPECT_EQ(to_json(*again), to_json(*loaded));
  for (const char* key : {"a", "b", "d", "e", "s"}) EXPECT_TRUE(again->modules[0].params.find(key)->is_string()) << key;
  EXPECT_TRUE(compare(*loaded, *again).empty()) << render(compare(*loaded, *again));
}

TEST_F(Dump, WritesTheDocumentedJson) {
  const auto loaded = load_text(experiment("    overrides: {nan: .nan, l: [1, a]}\n"));
  const Json json = to_json(*loaded);
  EXPECT_EQ(json["meta"].dump(), R"({"work_group":"amd","user_name":"root","exp_name":"run","workspace":"./output"})");
  const Json& module = json["modules"]["pre_trainer"];
  EXPECT_EQ(module["framework"], "megatron");
  EXPECT_EQ(module["config"], "mod.yaml");
  EXPECT_EQ(module["model"], "model.yaml");
  EXPECT_EQ(module["params"]["train_iters"], 1000);
  EXPECT_EQ(module["params"]["lr"].dump(), "2e-05");
  EXPECT_EQ(module["params"]["nan"], "NaN");
  EXPECT_EQ(module["params"]["l"].dump(), R"([1,"a"])");
  EXPECT_EQ(module["params"]["save"], nullptr);
  EXPECT_EQ(module.size(), 4u);
  EXPECT_EQ(json.size(), 2u);
}

TEST_F(Dump, SelectsParametersByName) {
  const auto loaded = load_text(experiment());
  const Json json = to_json(*loaded, {"lr", "block.a"});
  EXPECT_EQ(json["modules"]["pre_trainer"]["params"].dump(), R"({"lr":2e-05,"block.a":1})");
  EXPECT_THAT(messages(select_params(loaded->modules[0].params, {"train_iter"}).diagnostics()),
              HasSubstr("did you mean 'train_iters'?"));
}

// B148
TEST_F(Dump, MasksSecretsEverywhere) {
  const auto loaded =
      load_text(experiment("    overrides:\n      hf_token: ${TEST_API_KEY}\n      note: x-${TEST_API_KEY}-y\n"
                           "      db: {password: s3cr3t-value, keys: [a]}\n      wandb_key: 77123\n",
                           "env: {HF_TOKEN: s3cr3t-value, URL: $TEST_API_KEY}\n"),
                {"--wandb_key", "s3cr3t-value"}, {{"TEST_API_KEY", "s3cr3t-value"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  std::string all =
      messages(loaded.diagnostics()) + dump_yaml(*loaded) + to_json(*loaded).dump() + origins_json(*loaded).dump();
  for (const char* key : {"hf_token", "note", "db", "db.password", "wandb_key", "env.HF_TOKEN", "env.URL"}) {
    const auto answers = explain(*loaded, key, {});
    ASSERT_TRUE(answers.ok()) << key;
    for (const Explanation& one : *answers) all += render(one) + to_json(one).dump();
  }
  const auto other = load_text(experiment("    overrides: {hf_token: other-s3cr3t}\n"));
  all += render(compare(*loaded, *other)) + to_json(compare(*loaded, *other)).dump();
  EXPECT_THAT(all, Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(all, Not(HasSubstr("77123")));
  EXPECT_THAT(dump_yaml(*loaded), HasSubstr("hf_token: \"***\""));
  EXPECT_EQ(loaded->modules[0].params.find("hf_token")->as_string(), "s3cr3t-value");
}

using Explain = PresetTree;

TEST_F(Explain, ListsEveryLayerNewestFirst) {
  write("primus/configs/modules/megatron/mod.yaml", "extends: base.yaml\nlr: 2.0e-05\n");
  write("primus/configs/modules/megatron/base.yaml", "lr: ${BASE_LR:0.1}\n");
  write("primus/configs/models/megatron/model.yaml", "lr: 5\n");
  const auto loaded = load_text(experiment("    overrides: {lr: 0.0003}\n"), {"lr=1e-5"});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  for (const char* key : {"lr", "pre_trainer.lr", "modules.pre_trainer.overrides.lr", "modules.pre_trainer.lr"}) {
    const auto answers = explain(*loaded, key, {});
    ASSERT_TRUE(answers.ok()) << key;
    ASSERT_EQ(answers->size(), 1u);
    const Json json = to_json((*answers)[0]);
    ASSERT_EQ(json["layers"].size(), 5u);
    EXPECT_EQ(json["layers"][0]["layer"], "command line");
    EXPECT_EQ(json["layers"][1]["line"], 10);
    EXPECT_EQ(json["layers"][1]["column"], 21);
    EXPECT_EQ(json["layers"][2]["layer"], "module preset");
    EXPECT_EQ(json["layers"][3]["placeholder"], "${BASE_LR:0.1}");
    EXPECT_EQ(json["layers"][3]["from"], "default");
    EXPECT_EQ(json["layers"][4]["layer"], "model preset");
  }
  const std::string text = render((*explain(*loaded, "lr", {}))[0]);
  EXPECT_THAT(text, testing::ContainsRegex("set by command line +1e-5"));
  EXPECT_THAT(text, testing::ContainsRegex("hides  model preset +5  at .*model.yaml:1:5"));
}

TEST_F(Explain, AddsWhatTheTableKnowsAndSuggestsNearNames) {
  const auto loaded = load_text(experiment());
  const FactsLookup lookup = [](std::string_view framework, std::string_view key) -> std::optional<ParameterFacts> {
    if (framework != "megatron" || (key != "lr" && key != "clip_grad")) return std::nullopt;
    return ParameterFacts{.type = "number",
                          .unit = "1/step",
                          .default_text = "null",
                          .status = "honoured",
                          .doc = "Highest learning rate."};
  };
  EXPECT_THAT(render((*explain(*loaded, "lr", lookup))[0]),
              HasSubstr("number in 1/step, default null: Highest learning rate."));
  EXPECT_THAT(render((*explain(*loaded, "clip_grad", lookup))[0]), HasSubstr("set nowhere"));
  EXPECT_THAT(render((*explain(*loaded, "exp_name", lookup))[0]), HasSubstr("exp.yaml:3:11"));
  EXPECT_THAT(render((*explain(*loaded, "platform.name", lookup))[0]), HasSubstr("platform preset"));
  EXPECT_THAT(messages(explain(*loaded, "train_iter", lookup).diagnostics()), HasSubstr("did you mean 'train_iters'?"));
}

using Diff = PresetTree;

TEST_F(Diff, GroupsChangedAddedAndRemoved) {
  const auto a = load_text(experiment("    overrides: {lr: 1.0e-5, gone: 1, block: {a: 7}, n: 1, t: \"1e-5\"}\n"));
  const auto b = load_text(experiment("    overrides: {lr: 1e-5, new: [1], block: {a: 8}, n: 1.0, t: x}\n"));
  const Json json = to_json(compare(*a, *b));
  EXPECT_EQ(json["changed"].dump(),
            R"({"pre_trainer.block.a":{"before":7,"after":8},"pre_trainer.t":{"before":"1e-5","after":"x"}})");
  EXPECT_EQ(json["added"].dump(), R"({"pre_trainer.new":[1]})");
  EXPECT_EQ(json["removed"].dump(), R"({"pre_trainer.gone":1})");
  EXPECT_THAT(render(compare(*a, *b)), HasSubstr("changed:\n  pre_trainer.block.a: 7 -> 8\n"));
  EXPECT_TRUE(compare(*a, *a).empty());
}

}  // namespace
}  // namespace primus::config
