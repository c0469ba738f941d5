// config explain: layers, chains of presets, the table's words and the field of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

namespace primus::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kLlama = "examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml";
constexpr const char* kTitan = "examples/torchtitan/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml";

using ConfigExplain = ConfigFixture;

TEST_F(ConfigExplain, PrintsTheChainOfPresets) {
  const Outcome text = run({"explain", "rotary_base", "--config", kLlama});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("model preset:  llama3.1_8B -> llama3_8B -> llama3_base -> llama_base"),
                              HasSubstr("module preset: pre_trainer -> trainer_base"),
                              HasSubstr("primus/configs/models/megatron/llama3_base.yaml:"),
                              HasSubstr("RunSpec field: model.layers.attention.rope.base = 500000.0")));
  const Json json = json_of(run({"explain", "rotary_base", "--config", kLlama, "--format", "json"}));
  EXPECT_GE(json["model_chain"].size(), 4U) << json["model_chain"];
  EXPECT_THAT(json["parameter"]["spec_field"].get<std::string>(), HasSubstr("rope.base"));
}

TEST_F(ConfigExplain, TellsWhatAKeyNeedsAndSwitchesOn) {
  EXPECT_THAT(run({"explain", "lr_decay_style", "--config", kLlama}).out,
              HasSubstr("one of: constant, linear, cosine"));
  EXPECT_THAT(run({"explain", "num_experts", "--config", kLlama}).out, HasSubstr("switches on the reading of: "));
}

TEST_F(ConfigExplain, FindsDottedKeys) {
  const Outcome text = run({"explain", "training.steps", "--config", kTitan, "training.steps=9"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("pre_trainer.training.steps: 9"), HasSubstr("hides  overrides       50")));
  EXPECT_THAT(run({"explain", "training.step", "--config", kTitan}).err, HasSubstr("did you mean 'training.steps'"));
}

TEST_F(ConfigExplain, AnswersFromTheTablesWithoutAnExperiment) {
  const Outcome text = run({"explain", "lr"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("megatron lr:\n"), HasSubstr("Highest learning rate")));
  const Outcome wrong = run({"explain", "train_iter"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'train_iters'"));
  EXPECT_EQ(run({"explain", "lr", "--lr", "3"}).code, 2);
}

}  // namespace
}  // namespace primus::cli
