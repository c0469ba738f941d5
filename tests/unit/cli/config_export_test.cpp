// config export: the form that is printed, files, another dialect, and what is refused.
#include "config_fixture.h"

#include "primus/base/fs.h"

namespace primus::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTitanFp8 = "examples/torchtitan/configs/MI300X/llama3.1_8B-FP8-pretrain.yaml";

constexpr const char* kExportedLlama = "examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml";

class ConfigExport : public ConfigFixture {};

TEST_F(ConfigExport, PrintsTheLaunchForm) {
  const Outcome outcome = run({"export", "--config", kExperiment, "--to", "megatron", "--lr", "3e-5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("python pretrain_gpt.py"));
  EXPECT_THAT(outcome.out, HasSubstr("--num-layers 22"));
  EXPECT_THAT(outcome.out, HasSubstr("--lr 3.0e-05"));
}

TEST_F(ConfigExport, AsJsonHoldsArgumentsAndWhatIsLost) {
  const Json json = json_of(run({"export", "--config", kTitanFp8, "--to", "torchtitan", "--format", "json"}));
  EXPECT_EQ(json["framework"], "torchtitan");
  EXPECT_EQ(json["program"], Json({"-m", "torchtitan.train"}));
  EXPECT_EQ(json["files"].size(), 1U);
  EXPECT_GT(json["not_carried"].size(), 3U);
}

TEST_F(ConfigExport, WritesAFolderWithFilesAndTheCommand) {
  const std::string folder = (folder_ / "out").string();
  const std::vector<std::string> words = {"export",     "--config", kTitanFp8,   "--to",
                                          "torchtitan", "--output", folder + "/"};
  ASSERT_EQ(run(words).code, 0);
  EXPECT_THAT(value_or_throw(read_text_file(folder + "/llama3.1_8B-pretrain.toml")), HasSubstr("flavor = \"8B\""));
  EXPECT_THAT(value_or_throw(read_text_file(folder + "/start.sh")), HasSubstr("-m torchtitan.train"));
  const Outcome again = run(words);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("is there already"));
}

TEST_F(ConfigExport, AnExperimentOfAnotherDialectLoadsAgain) {
  const std::string file = (folder_ / "titan.yaml").string();
  const Outcome outcome =
      run({"export", "--config", kExportedLlama, "--to", "torchtitan", "--as", "experiment", "--output", file});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Outcome check = run({"check", "--config", file});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
  EXPECT_THAT(value_or_throw(read_text_file(file)),
              HasSubstr("# Not carried from the other dialect:\n#   model.init: "));
}

TEST_F(ConfigExport, RefusesAnUnknownTargetWithTheNearest) {
  const Outcome outcome = run({"export", "--config", kExperiment, "--to", "torchtian"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'torchtitan'?"));
  EXPECT_THAT(run({"export", "--config", kExperiment}).err, HasSubstr("--to is missing"));
}

TEST_F(ConfigExport, MasksSecrets) {
  const Outcome outcome = run({"export", "--config", kTitanFp8, "--to", "torchtitan", "job.api_key=geheim"});
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("geheim")));
}

}  // namespace
}  // namespace primus::cli
