// config proxy: prints what --proxy changes, and writes an experiment that says how it was made.
#include <fstream>

#include "config_fixture.h"

namespace primus::cli {
namespace {

using testing::HasSubstr;

class ConfigProxy : public ConfigFixture {};

TEST_F(ConfigProxy, PrintsEachChangeWithItsRule) {
  const Outcome shown = run({"proxy", "--config", kExperiment});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("22 -> 4"));
  const Json list = json_of(run({"proxy", "--config", kExperiment, "--format", "json", "--one-device", "--mock"}));
  EXPECT_EQ(list[0]["key"], "num_layers");
  EXPECT_EQ(list[0]["from"], 22);
  EXPECT_EQ(list[0]["to"], 4);
}

TEST_F(ConfigProxy, WritesAnExperimentThatLoadsAndNamesItsCommand) {
  for (const std::string& source : {std::string(kExperiment), fs::absolute(kExperiment).string()}) {
    const std::string output = (folder_ / (source == kExperiment ? "relative" : "absolute") / "small.yaml").string();
    const Outcome wrote = run({"proxy", "--config", source, "--output", output, "--mock", "lr=7.0e-3"});
    ASSERT_EQ(wrote.code, 0) << wrote.err;
    const std::string text = value_or_throw(read_text_file(output));
    EXPECT_THAT(text, HasSubstr("--mock lr=7.0e-3\n"));
    const Json shown = json_of(run({"show", "--config", output, "--format", "json"}));
    const Json& params = shown["modules"]["pre_trainer"]["params"];
    EXPECT_EQ(params["num_layers"], 4);
    EXPECT_EQ(params["lr"], 0.007);
    EXPECT_EQ(shown["meta"]["exp_name"], "small-megatron-cpu");
  }
}

TEST_F(ConfigProxy, WithoutAnExperimentSaysSo) {
  const Outcome outcome = run({"proxy"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--config"));
}

TEST_F(ConfigProxy, SaysWhatIsWrongWithTheExperiment) {
  const Outcome outcome = run({"proxy", "--config", kExperiment, "hidden_size=2049"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("2049"));
}

}  // namespace
}  // namespace primus::cli
