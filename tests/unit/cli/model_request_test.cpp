// The command line of model logits | grads | generate.
#include "primus/cli/model_request.h"

#include <gmock/gmock.h>

#include "unit/cli/request_fixture.h"

namespace primus::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelRequestTest : public RequestFixture<ModelRequest> {
 protected:
  ModelRequestTest() : RequestFixture(&read_model_request) {}
  std::string refused_option(const std::string& option, const std::string& value) {
    return refusal({"generate", "--hf", "DIR", option, value});
  }
};

TEST_F(ModelRequestTest, ReadsWhatEachActionTakes) {
  auto request = read({"logits", "--hf", "my model", "--tokens", "t.json", "--output=o", "--dtype", "bf16"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->action, "logits");
  EXPECT_EQ(request->source.hf, "my model");
  EXPECT_EQ(request->tokens, "t.json");
  EXPECT_EQ(request->output, "o");
  EXPECT_EQ(request->dtype, "bf16");
  request = read({"grads", "--config", "f.yaml", "--tokens", "t.json", "--output", "o", "--lr", "1", "seed=3"});
  EXPECT_EQ(request->source.config.config, "f.yaml");
  EXPECT_EQ(request->dtype, "fp32");
  EXPECT_THAT(request->source.config.overrides, ElementsAre("--lr", "1", "seed=3"));
  request =
      read({"generate", "--run",   "r",           "--prompt", "Hello there", "--temperature",    "0", "--top-k",
            "0",        "--top-p", "0.5",         "--seed",   "7",           "--max-new-tokens", "3", "--no-cache",
            "--format", "json",    "--tokenizer", "T"});
  EXPECT_EQ(request->source.run, "r");
  EXPECT_EQ(request->prompt, "Hello there");
  EXPECT_EQ(request->tokenizer, "T");
  EXPECT_EQ(request->temperature, 0);
  EXPECT_EQ(request->top_k, 0);
  EXPECT_EQ(request->top_p, 0.5);
  EXPECT_EQ(request->seed, 7);
  EXPECT_EQ(request->max_new_tokens, 3);
  EXPECT_FALSE(request->cache);
  EXPECT_TRUE(request->json);
}

TEST_F(ModelRequestTest, GenerateHasTheDefaultsThatItsHelpNames) {
  const auto request = read({"generate", "--hf", "DIR"});
  EXPECT_EQ(request->temperature, 0.8);
  EXPECT_EQ(request->top_k, 50);
  EXPECT_EQ(request->top_p, 1);
  EXPECT_EQ(request->seed, 0);
  EXPECT_EQ(request->max_new_tokens, 200);
  EXPECT_TRUE(request->cache);
  EXPECT_FALSE(request->json);
}

TEST_F(ModelRequestTest, WantsExactlyOneModel) {
  const std::vector<std::string> none = {"logits", "--tokens", "t", "--output", "o"};
  EXPECT_THAT(refusal(none), HasSubstr("model logits needs one model"));
  for (const std::vector<std::string>& two : std::vector<std::vector<std::string>>{
           {"--hf", "a", "--run", "b"}, {"--hf", "a", "--config", "c"}, {"--run", "b", "--config", "c"}}) {
    std::vector<std::string> words = none;
    words.insert(words.end(), two.begin(), two.end());
    EXPECT_THAT(refusal(words), HasSubstr("needs one model")) << two[0] << two[2];
  }
  EXPECT_THAT(refusal({"generate", "--prompt", "x"}), HasSubstr("--run DIR a run folder"));
}

TEST_F(ModelRequestTest, WantsTokensAndAPlaceForTheResult) {
  EXPECT_THAT(refusal({"logits", "--hf", "a", "--output", "o"}), HasSubstr("model logits needs --tokens FILE.json"));
  EXPECT_THAT(refusal({"grads", "--hf", "a", "--tokens", "t"}),
              HasSubstr("model grads needs --output OUT.safetensors"));
}

TEST_F(ModelRequestTest, NamesTheNearestOptionToAnUnknownOne) {
  EXPECT_THAT(refusal({"generate", "--hf", "a", "--temprature", "1"}), HasSubstr("did you mean '--temperature'?"));
  EXPECT_THAT(refusal({"generate", "--hf", "a", "--max-tokens", "1"}), HasSubstr("--max-new-tokens"));
  EXPECT_THAT(refusal({"logits", "--hf", "a", "--tokens", "t", "--output", "no_folder/o"}),
              HasSubstr("there is no folder 'no_folder'"));
  EXPECT_THAT(refusal({"grads", "--hf", "a", "--tokens", "t", "--output", "/"}), HasSubstr("wants a file"));
  EXPECT_THAT(refusal({"logits", "--hf", "a", "--token", "t"}), HasSubstr("--tokens"));
  EXPECT_THAT(refusal({"logits", "--hf", "a", "--tokens", "t", "--output", "o", "--dtype", "fp8"}), HasSubstr("fp8"));
  EXPECT_THAT(refusal({"logits", "--run", "r", "--tokens", "t", "--output", "o", "lr=1"}),
              HasSubstr("keys are changed with --config F only"));
}

TEST_F(ModelRequestTest, RefusesNumbersThatAreNone) {
  for (const char* value : {"-0.1", "warm", "nan", "inf"})
    EXPECT_THAT(refused_option("--temperature", value), HasSubstr("--temperature is not usable")) << value;
  for (const char* value : {"0", "-1", "1.01", "most"})
    EXPECT_THAT(refused_option("--top-p", value), HasSubstr("a number above 0, up to 1")) << value;
  for (const char* value : {"-1", "1.5", "few", "99999999999999999999"})
    EXPECT_THAT(refused_option("--top-k", value), HasSubstr("--top-k is not usable")) << value;
  for (const char* value : {"0", "-4", "2.5"})
    EXPECT_THAT(refused_option("--max-new-tokens", value), HasSubstr("a whole number, 1 or more")) << value;
  EXPECT_THAT(refused_option("--seed", "-1"), HasSubstr("--seed is not usable"));
}

TEST_F(ModelRequestTest, HelpNamesEveryOption) {
  EXPECT_FALSE(read({"generate", "--help"}));
  for (const char* option : {"--hf", "--run", "--config", "--prompt", "--tokenizer", "--temperature", "--top-k",
                             "--top-p", "--seed", "--max-new-tokens", "--no-cache", "--dtype", "--format"})
    EXPECT_THAT(out_.str(), HasSubstr(option));
  out_.str("");
  EXPECT_FALSE(read({"grads", "--help"}));
  for (const char* option : {"--hf", "--run", "--config", "--tokens", "--output", "--dtype"})
    EXPECT_THAT(out_.str(), HasSubstr(option));
}

}  // namespace
}  // namespace primus::cli
