// The config command: what it prints, and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

namespace primus::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConfigCommand = ConfigFixture;

TEST_F(ConfigCommand, ShowPrintsAFileThatShowsTheSameAgain) {
  const Outcome first = run({"show", "--config", kExperiment, "--lr", "3e-5", "train_iters=7"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("      lr: 3e-5\n"), HasSubstr("      train_iters: 7\n")));
  const Outcome second = run({"show", "--config", write("resolved.yaml", first.out)});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST_F(ConfigCommand, ShowPrintsJsonAndSelectedParameters) {
  const Outcome json =
      run({"show", "--config", kExperiment, "--format", "json", "--only", "lr,train_iters", "--lr=1.0e-4"});
  ASSERT_EQ(json.code, 0) << json.err;
  const Json read = value_or_throw(parse_json(json.out, "out"));
  EXPECT_EQ(read["modules"]["pre_trainer"]["params"].dump(), R"({"lr":0.0001,"train_iters":50})");
  EXPECT_EQ(read["meta"]["exp_name"], "tinyllama_1.1B-pretrain");
  const Outcome unknown = run({"show", "--config", kExperiment, "--only", "train_iter"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'train_iters'?"));
  const Outcome origins = run({"show", "--config", kExperiment, "--origins"});
  EXPECT_EQ(value_or_throw(parse_json(origins.out, "out"))["pre_trainer.train_iters"]["line"], 16);
}

TEST_F(ConfigCommand, ExplainNamesEveryLayerAndTheTablesWords) {
  const Outcome text = run({"explain", "train_iters", "--config", kExperiment, "--train_iters", "9"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("set by command line    9"), HasSubstr("tinyllama_1.1B-pretrain.yaml:16:20"),
                              HasSubstr("primus/configs/modules/megatron/trainer_base.yaml:"), HasSubstr("here: ")));
  const Outcome json = run({"explain", "train_iters", "--config", kExperiment, "--format=json"});
  EXPECT_EQ(value_or_throw(parse_json(json.out, "out"))["layers"].size(), 3u);
  const Outcome unknown = run({"explain", "train_iter", "--config", kExperiment});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'train_iters'?"));
  EXPECT_EQ(run({"explain", "--config", kExperiment}).code, 2);
}

TEST_F(ConfigCommand, DiffExitsWithFourWhenTheFilesDiffer) {
  const std::string a = write("a.yaml", experiment("{lr: 1.0e-5, seq_length: 64}"));
  const std::string b = write("b.yaml", experiment("{lr: 2.0e-5, seq_length: 64, extra: [1]}"));
  const Outcome differ = run({"diff", a, b});
  EXPECT_EQ(differ.code, 4);
  EXPECT_EQ(differ.out, "pre_trainer: lr\n  ~ lr: 1.0e-05 -> 2.0e-05\npre_trainer: other keys\n  + extra: [1]\n");
  const Outcome same = run({"diff", a, write("r.yaml", run({"show", "--config", a}).out)});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_EQ(same.out, "no differences\n");
  EXPECT_EQ(run({"diff", a}).code, 2);
  EXPECT_EQ(run({"diff", a, b, "lr=1"}).code, 2);
}

// A framework without a table is composed like any other; that nothing more is known is a note.
TEST_F(ConfigCommand, CheckOfAFrameworkWithoutTableIsItsComposition) {
  write_tree("tree");
  write("tree/primus/configs/models/diffusion/flux.yaml", "width: 4\n");
  write("tree/primus/configs/modules/diffusion/pre_trainer.yaml", "rate: 5e-5\n");
  std::string text = experiment("{rate: 1.0}");
  for (const auto& [from, to] :
       {std::pair{"framework: megatron", "framework: diffusion"}, {"model: tinyllama_1.1B.yaml", "model: flux.yaml"}}) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, std::string(from).size(), to);
  }
  const std::string file = write("flux.yaml", text);
  const Outcome found = run({"check", file, "--presets", (folder_ / "tree").string()});
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  EXPECT_THAT(found.out, HasSubstr("only its composition is checked"));
}

// B013
TEST_F(ConfigCommand, CheckReportsEverythingAndExitsWithTwo) {
  const std::string bad =
      write("bad.yaml", experiment("{leraning_rate: 1.0e-4, train_iter: 10, micro_batch_size: two}"));
  const Outcome found = run({"check", "--config", bad});
  EXPECT_EQ(found.code, 2);
  EXPECT_THAT(found.out,
              AllOf(HasSubstr("bad.yaml:10:17"), HasSubstr("'leraning_rate'"), HasSubstr("did you mean 'lr'?"),
                    HasSubstr("'train_iter'"), HasSubstr("did you mean 'train_iters'"), HasSubstr("micro_batch_size")));
  const Json json = value_or_throw(parse_json(run({"check", bad, "--format", "json"}).out, "out"));
  EXPECT_EQ(json["ok"], false);
  EXPECT_GE(json["files"][0]["diagnostics"].size(), 3u);
}

TEST_F(ConfigCommand, CheckTakesFilesAndFoldersAndPassesTheShippedExample) {
  const Outcome good = run({"check", "--config", kExperiment});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  write("tree/x/one.yaml", experiment("{train_iter: 3}"));
  write("tree/two.yaml", experiment("{train_iters: 50, mock_data: true}"));
  write("tree/preset.yaml", "a: 1\n");
  const Outcome folder = run({"check", (folder_ / "tree").string()});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.out, AllOf(HasSubstr("failed " + (folder_ / "tree/x/one.yaml").string()),
                                HasSubstr("1 of 2 experiments ok; 1 other")));
  EXPECT_EQ(run({"check"}).code, 2);
  EXPECT_EQ(run({"check", "nothing.yaml"}).code, 2);
}

TEST_F(ConfigCommand, StrictFailsOnWarnings) {
  const std::string file = write("w.yaml", experiment("{seed: 0123, mock_data: true}"));
  const Outcome plain = run({"check", file});
  const Outcome strict = run({"check", file, "--strict"});
  EXPECT_THAT(plain.out, HasSubstr("0123 is read as 83"));
  EXPECT_EQ(strict.code, 2);
}

TEST_F(ConfigCommand, RefusesUnknownWordsWithTheNearest) {
  EXPECT_THAT(run({"shwo"}).err, HasSubstr("did you mean 'show'"));
  EXPECT_THAT(run({"show"}).err, HasSubstr("--config F"));
  EXPECT_THAT(run({"show", kExperiment}).err, HasSubstr("--config"));
  EXPECT_THAT(run({"show", "--config", kExperiment, "-x", "5"}).err, HasSubstr("did you mean '--x'?"));
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("config show"), HasSubstr("config explain"), HasSubstr("config diff"),
                              HasSubstr("config check"), HasSubstr("config schedule")));
  EXPECT_THAT(run({"explain", "--help"}).out, HasSubstr("KEY [--config F"));
}

TEST_F(ConfigCommand, PresetsNamesAnotherTree) {
  write_tree("other");
  // The tree, its primus folder, and its primus/configs mean the same.
  for (const char* part : {"other", "other/", "other/primus", "other/primus/configs", "other/primus/configs/"}) {
    const Outcome found = run({"show", "--config", kExperiment, "--presets", (folder_ / part).string()});
    EXPECT_EQ(found.code, 0) << part << found.err;
    EXPECT_THAT(found.out, AllOf(HasSubstr("      other_tree: 1\n"), HasSubstr("      num_layers: 1\n"),
                                 Not(HasSubstr("hidden_size"))));
  }
  const Outcome wrong = run({"show", "--config", kExperiment, "--presets", folder_.string()});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("holds no presets"), HasSubstr("primus/configs/models")));
}

TEST_F(ConfigCommand, AnExperimentInsideAnotherTreeTakesThatTreesPresets) {
  const std::string file = write_tree("upstream");
  const Outcome found = run({"show", "--config", file, "--only", "num_layers,train_iters"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("num_layers: 1\n"), HasSubstr("train_iters: 5\n")));
  const Outcome ours = run({"show", "--config", file, "--presets", ".", "--only", "num_layers"});
  EXPECT_THAT(ours.out, HasSubstr("num_layers: 22\n"));
}

// B148
TEST_F(ConfigCommand, NeverPrintsASecret) {
  const std::string file =
      write("s.yaml", "env: {DB_PASSWORD: s3cr3t-value}\n" +
                          experiment("{hf_token: \"${TEST_API_KEY}\", note: \"${TEST_API_KEY}\"}"));
  std::string all;
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"show", "--config", file, "--wandb_key", "s3cr3t-value"},
                                             {"show", "--config", file, "--format", "json"},
                                             {"show", "--config", file, "--origins"},
                                             {"explain", "hf_token", "--config", file},
                                             {"explain", "note", "--config", file, "--format", "json"},
                                             {"explain", "env.DB_PASSWORD", "--config", file},
                                             {"diff", file, kExperiment},
                                             {"check", file},
                                             {"show", "--config", file, "--changed", "--wandb_key=s3cr3t-value"},
                                             {"check", file, "--wandb_key", "s3cr3t-value"},
                                             {"check", file, "--format", "json", "wandb_key=s3cr3t-value"},
                                             {"check", file, "--hf_token", "[s3cr3t-value"}}) {
    const Outcome found = run(arguments, {{"TEST_API_KEY", "s3cr3t-value"}});
    EXPECT_FALSE(found.out.empty()) << arguments[0] << found.err;
    all += found.out + found.err;
  }
  EXPECT_THAT(all, Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(all, HasSubstr("***"));
}

// The run holds the value itself; what is printed of it does not.
TEST_F(ConfigCommand, NeverPrintsASecretThatWentIntoTheRun) {
  const std::string file =
      write("s.yaml", experiment("{tokenizer_type: HuggingFaceTokenizer, tokenizer_model: \"${REPO_TOKEN}/x\", "
                                 "train_data_path: a}"));
  const std::string plain = write("p.yaml", experiment("{tokenizer_type: HuggingFaceTokenizer, tokenizer_model: org/y, "
                                                       "train_data_path: a}"));
  const std::map<std::string, std::string> environment = {{"REPO_TOKEN", "s3cr3t-value"}};
  const Outcome spec = run({"show", "--config", file, "--as", "spec"}, environment);
  ASSERT_EQ(spec.code, 0) << spec.err;
  EXPECT_THAT(spec.out, AllOf(Not(HasSubstr("s3cr3t")), HasSubstr("***")));
  const Outcome diff = run({"diff", file, plain, "--as", "spec"}, environment);
  EXPECT_THAT(diff.out, AllOf(Not(HasSubstr("s3cr3t")), HasSubstr("org/y")));
  EXPECT_THAT(run({"explain", "tokenizer_model", "--config", file}, environment).out, Not(HasSubstr("s3cr3t")));
}

}  // namespace
}  // namespace primus::cli
