// config list and config new.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

#include "primus/cli/model_catalogue.h"
#include "primus/dialect/dialects.h"

namespace primus::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConfigList = ConfigFixture;

TEST_F(ConfigList, SearchesKeysOfAllTables) {
  const Outcome found = run({"list", "keys", "LR_", "warm-up", "--framework", "megatron"});
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("lr_warmup_iters"), Not(HasSubstr("num_layers "))));
  const Json json = json_of(run({"list", "keys", "lr_warmup_iters", "--framework", "megatron", "--format", "json"}));
  EXPECT_EQ(json["keys"][0]["key"], "lr_warmup_iters");
  EXPECT_EQ(json["keys"][0]["status"], "honoured");
  EXPECT_EQ(run({"list", "keys", "no_such_word_anywhere"}).out, "nothing found\n");
}

TEST_F(ConfigList, FindsModelsExamplesAndPresets) {
  const Json models = json_of(run({"list", "models", "tinyllama_1.1B", "--framework", "megatron", "--format", "json"}));
  ASSERT_GE(models["models"].size(), 1U);
  EXPECT_EQ(models["models"][0]["family"], "TinyLlama");
  EXPECT_EQ(models["models"][0]["layers"], 22);
  const Outcome examples = run({"list", "examples", "tinyllama", "MI300X"});
  EXPECT_THAT(examples.out, HasSubstr(kExperiment));
  EXPECT_THAT(run({"list", "modules", "megatron"}).out, HasSubstr("pre_trainer"));
  EXPECT_THAT(run({"list", "flavors", "llama3", "8B"}).out, HasSubstr("torchtitan"));
  EXPECT_THAT(run({"list"}).out, AllOf(HasSubstr("megatron"), HasSubstr("torchtitan"), HasSubstr("WORDS")));
}

TEST_F(ConfigList, CountsTheRowsOfAVocabularyThatAPresetGivesPadded) {
  const Json models =
      json_of(run({"list", "models", "qwen3_30B_A3B-hf", "moe", "--framework", "megatron", "--format", "json"}));
  ASSERT_EQ(models["models"].size(), 1U);
  EXPECT_EQ(models["models"][0]["parameters"], 30'532'122'624);
  EXPECT_EQ(models["models"][0]["active parameters"], 3'353'032'704);
  EXPECT_EQ(models["models"][0]["with vocabulary"], true);
  EXPECT_EQ(run({"list", "models", "qwen3_30B_A3B-hf", "dense"}).out, "nothing found\n");
}

TEST_F(ConfigList, FindsExperimentsThatBuildOnOthers) {
  const Outcome found = run({"list", "examples", "CPU", "llama3.2_1B-pretrain", "--framework", "megatron"});
  EXPECT_THAT(found.out, AllOf(HasSubstr("examples/megatron/configs/CPU/llama3.2_1B-pretrain.yaml"),
                               HasSubstr("megatron   CPU     llama3.2_1B")));
}

TEST_F(ConfigList, RefusesUnknownTopicsWithTheNearest) {
  EXPECT_THAT(run({"list", "model"}).err, HasSubstr("did you mean 'models'"));
  EXPECT_THAT(run({"list", "keys", "--framework", "megatorn"}).err, HasSubstr("did you mean 'megatron'"));
  EXPECT_THAT(run({"list", "keys", "--framwork", "megatron"}).err, HasSubstr("did you mean '--framework'"));
}

TEST(FamilyOf, KnowsTheNamesOfPresets) {
  EXPECT_EQ(family_of("llama3.1_8B"), "LLaMA 3.1");
  EXPECT_EQ(family_of("llama3_70B"), "LLaMA 3");
  EXPECT_EQ(family_of("qwen3_5_35B_A3B"), "Qwen 3.5");
  EXPECT_EQ(family_of("something"), "");
}

using ConfigNew = ConfigFixture;

TEST_F(ConfigNew, WritesAnExperimentThatPassesTheCheckForEveryFramework) {
  for (const auto& [framework, model] : {std::pair{"megatron", "llama3.1_8B"},
                                         {"torchtitan", "llama3.1_8B"},
                                         {"maxtext", "llama3_8B"},
                                         {"megatron_bridge", "qwen3_8b"}}) {
    for (const char* device : {"MI355X", "CPU"}) {
      const std::string file = (folder_ / (std::string(framework) + device + ".yaml")).string();
      const Outcome made =
          run({"new", "--framework", framework, "--model", model, "--device", device, "--output", file});
      ASSERT_EQ(made.code, 0) << made.err;
      EXPECT_EQ(made.out, "wrote " + file + "\n");
      const Outcome checked = run({"check", file, "--strict"});
      EXPECT_EQ(checked.code, 0) << framework << checked.out << checked.err;
    }
  }
}

TEST_F(ConfigNew, CommentsComeFromTheTable) {
  const Outcome made = run({"new", "--framework", "megatron", "--model", "llama3.1_8B.yaml", "--output", "-"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("    model: llama3.1_8B.yaml"), HasSubstr("      lr: 1.0e-4 "),
                              HasSubstr("# Highest learning rate"),
                              HasSubstr("exp_name: ${PRIMUS_EXP_NAME:llama3.1_8B-pretrain}")));
}

TEST_F(ConfigNew, RefusesUnknownNamesAndAFileThatIsThere) {
  const Outcome wrong = run({"new", "--framework", "megatron", "--model", "llama3.1_8", "--output", "-"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'llama3.1_8B'"));
  EXPECT_THAT(run({"new", "--framework", "megatrn", "--model", "x"}).err, HasSubstr("did you mean 'megatron'"));
  EXPECT_THAT(run({"new", "--framework", "megatron", "--model", "llama3.1_8B", "--name", "../x"}).err,
              HasSubstr("--name"));
  EXPECT_EQ(run({"new"}).code, 2);
  const std::string file = write("x.yaml", "kept\n");
  EXPECT_EQ(run({"new", "--framework", "megatron", "--model", "llama3.1_8B", "--output", file}).code, 2);
  EXPECT_EQ(value_or_throw(read_text_file(file)), "kept\n");
  EXPECT_EQ(run({"new", "--framework", "megatron", "--model", "llama3.1_8B", "--output", file, "--overwrite"}).code, 0);
}

}  // namespace
}  // namespace primus::cli
