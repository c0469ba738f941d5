// What is masked, and what only sounds like it.
#include "primus/config/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/tree.h"

#include "primus/config/dump.h"
#include "primus/config/explain.h"

namespace primus::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Secret = PresetTree;

TEST_F(Secret, ValuesFromTheEnvironmentAndTheCommandLineAreMaskedAndKept) {
  const auto loaded =
      load_text(experiment("    overrides:\n      hf_token: ${HF_TOKEN}\n      path: /a/${MY_SECRET}/b\n"
                           "      api_key: ${NAME_OF_ALICE}\n"),
                {"--wandb_key", "s3cr3t-c", "tracker.password=s3cr3t-d"},
                {{"HF_TOKEN", "s3cr3t-a"}, {"MY_SECRET", "s3cr3t-b"}, {"NAME_OF_ALICE", "s3cr3t-e"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  std::string all = dump_yaml(*loaded) + to_json(*loaded).dump() + origins_json(*loaded).dump();
  for (const char* key : {"hf_token", "path", "wandb_key", "tracker.password", "api_key"}) {
    const auto answers = explain(*loaded, key, {});
    ASSERT_TRUE(answers.ok()) << key;
    all += render((*answers)[0]) + to_json((*answers)[0]).dump();
  }
  EXPECT_THAT(all, Not(HasSubstr("s3cr3t")));
  const Value& params = loaded->modules[0].params;
  EXPECT_EQ(params.find_path("hf_token")->as_string(), "s3cr3t-a");
  EXPECT_EQ(params.find_path("path")->as_string(), "/a/s3cr3t-b/b");
  EXPECT_EQ(params.find_path("tracker.password")->as_string(), "s3cr3t-d");
}

TEST_F(Secret, WordsThatOnlySoundLikeItAreShown) {
  const auto loaded = load_text(
      experiment(
          "    overrides:\n      tokenizer_model: ${MODEL}\n      num_key_value_heads: ${HEADS}\n      keys: [a, b]\n"
          "      eod_token: 7\n      moe_token_dispatcher_type: ${KIND}\n      calculate_per_token_loss: true\n"),
      {"--num_key_value_heads", "8", "--tokenizer_type=Llama3Tokenizer", "num_nodes_env_key=NNODES"},
      {{"MODEL", "org/name-7"}, {"HEADS", "4"}, {"KIND", "alltoall"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const std::string all = dump_yaml(*loaded);
  EXPECT_THAT(all, Not(HasSubstr("***"))) << all;
  EXPECT_THAT(all, HasSubstr("org/name-7"));
  EXPECT_THAT(all, HasSubstr("num_key_value_heads: 8"));
}

TEST_F(Secret, TheSameKeysAreMaskedWhenASecretVariableFillsThem) {
  const auto loaded =
      load_text(experiment("    overrides:\n      tokenizer_model: ${REPO_TOKEN}\n      keys: [\"${API_KEY}\"]\n"), {},
                {{"REPO_TOKEN", "s3cr3t-1"}, {"API_KEY", "s3cr3t-2"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  EXPECT_THAT(dump_yaml(*loaded), Not(HasSubstr("s3cr3t")));
}

TEST_F(Secret, EmptyValuesAndDefaultsAreShown) {
  const auto loaded = load_text(experiment("    overrides:\n      hf_access_token: ${HF_TOKEN:\"\"}\n      a_token: "
                                           "${A_TOKEN}\n      b_token: ${B:none}\n"
                                           "      c_token: null\n      d_token: ''\n      use_key: true\n"),
                                {"--e_key="}, {{"A_TOKEN", ""}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const std::string shown = dump_yaml(*loaded);
  EXPECT_THAT(shown, Not(HasSubstr("***"))) << shown;
  EXPECT_THAT(shown, HasSubstr("b_token: none\n"));
  EXPECT_THAT(shown, HasSubstr("a_token: \"\"\n"));
}

TEST_F(Secret, APlaceholdersDefaultIsNotPrintedBesideAMaskedValue) {
  const auto loaded =
      load_text(experiment("    overrides: {hf_token: \"${HF_TOKEN:d3fault}\"}\n"), {}, {{"HF_TOKEN", "s3cr3t"}});
  EXPECT_THAT(render((*explain(*loaded, "hf_token", {}))[0]), Not(HasSubstr("s3cr3t")));
}

TEST_F(Secret, VariablesOfTheEnvBlockAreMaskedByWhereTheyComeFrom) {
  const auto loaded = load_text(
      "env:\n  SETTING: ${TEST_API_KEY}\n  AROUND: a-${TEST_API_KEY}-b\n  MY_TOKEN: plain\n  "
      "PLAIN: seen\n  EMPTY_KEY: ''\n" +
          experiment(""),
      {}, {{"TEST_API_KEY", "s3cr3t"}});
  ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics());
  const auto shown = [&loaded](const char* name) {
    return shown_variable(loaded->env, name, loaded->env.find(name)->as_string());
  };
  EXPECT_EQ(loaded->env.find("SETTING")->as_string(), "s3cr3t");
  EXPECT_EQ(shown("SETTING"), "***");
  EXPECT_EQ(shown("AROUND"), "***");
  EXPECT_EQ(shown("MY_TOKEN"), "***");
  EXPECT_EQ(shown("PLAIN"), "seen");
  EXPECT_EQ(shown("EMPTY_KEY"), "");
  EXPECT_EQ(shown_variable(Value(), "RANK", "0"), "0");
}

TEST(MaskArguments, HidesTheValueInEverySpelling) {
  EXPECT_THAT(mask_arguments({"train", "pretrain", "--config", "a.yaml", "--wandb_key", "s3cr3t", "--lr", "3e-5"}),
              ElementsAre("train", "pretrain", "--config", "a.yaml", "--wandb_key", "***", "--lr", "3e-5"));
  EXPECT_THAT(mask_arguments({"hf_token=s3cr3t", "--db.password=x", "--tokenizer_model=org/m", "HF_TOKEN="}),
              ElementsAre("hf_token=***", "--db.password=***", "--tokenizer_model=org/m", "HF_TOKEN="));
  EXPECT_THAT(mask_arguments({"--use_key", "--flag", "value"}), ElementsAre("--use_key", "--flag", "value"));
}

}  // namespace
}  // namespace primus::config
