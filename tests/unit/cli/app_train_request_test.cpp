#include <gmock/gmock.h>

#include "unit/cli/request_fixture.h"

#include "primus/cli/train_request.h"

namespace primus::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TrainRequestTest : public RequestFixture<TrainRequest> {
 protected:
  TrainRequestTest() : RequestFixture(&read_train_request) {}
};

TEST_F(TrainRequestTest, TakesItsOwnOptionsWhereverTheyStand) {
  const auto request = read({"pretrain", "--lr", "3e-5", "--nproc=3", "seed=7", "--config", "my run.yaml",
                             "--resume=must", "--overwrite", "--flag"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->config, "my run.yaml");
  EXPECT_EQ(request->nproc, 3);
  EXPECT_EQ(request->resume, "must");
  EXPECT_TRUE(request->overwrite);
  EXPECT_FALSE(request->dry_run);
  EXPECT_THAT(request->overrides, ElementsAre("--lr", "3e-5", "seed=7", "--flag"));
}

TEST_F(TrainRequestTest, KeepsOverridesByteByByteAndInOrder) {
  const auto request = read({"pretrain", "--config", "f", "--a", "my run", "--b", "x*y", "--c=", "--d", "-1", "e.f=g=h",
                             "--i", "-1e-5", "--a", "", "--j=--k"});
  EXPECT_THAT(request->overrides, ElementsAre("--a", "my run", "--b", "x*y", "--c=", "--d", "-1", "e.f=g=h", "--i",
                                              "-1e-5", "--a", "", "--j=--k"));
}

TEST_F(TrainRequestTest, RanksGetEverythingButWhatOnlyTheLauncherReads) {
  const auto request = read({"pretrain", "--nproc", "2", "--config", "f", "--dry-run", "--format=json", "--resume",
                             "auto", "--proxy", "--lr", "1"});
  EXPECT_TRUE(request->dry_run);
  EXPECT_TRUE(request->proxy);
  EXPECT_EQ(request->format, "json");
  EXPECT_THAT(request->for_ranks, ElementsAre("--config", "f", "--resume", "auto", "--proxy", "--lr", "1"));
}

TEST_F(TrainRequestTest, InitFromIsTheLastOverrideAndAnAbsolutePath) {
  const auto request = read({"pretrain", "--init-from", "some/model", "--config", "f", "--flag"});
  const std::string folder = (fs::current_path() / "some/model").string();
  EXPECT_THAT(request->overrides, ElementsAre("--flag", "--init_from=" + folder));
  EXPECT_THAT(request->for_ranks, ElementsAre("--init-from", "some/model", "--config", "f", "--flag"));
  EXPECT_THAT(refusal({"pretrain", "--config", "f", "--engine", "upstream", "--init-from", "m"}),
              HasSubstr("--init-from is read by the native engine only"));
}

TEST_F(TrainRequestTest, WithoutOverridesThereAreNone) {
  EXPECT_THAT(read({"pretrain", "--config", "f"})->overrides, IsEmpty());
}

TEST_F(TrainRequestTest, RefusesWhatIsMissingOrWrong) {
  EXPECT_THAT(refusal({}), HasSubstr("the kind of training is missing"));
  EXPECT_THAT(refusal({"--config", "f"}), HasSubstr("the kind of training is missing"));
  EXPECT_THAT(refusal({"pretrian", "--config", "f"}), HasSubstr("did you mean 'pretrain'?"));
  EXPECT_THAT(refusal({"posttrain", "--config", "f"}), HasSubstr("not built yet"));
  EXPECT_THAT(refusal({"pretrain"}), HasSubstr("--config"));
  EXPECT_THAT(refusal({"pretrain", "--config", "f", "--nproc", "none"}), HasSubstr("--nproc"));
  EXPECT_THAT(refusal({"pretrain", "--config", "f", "--nproc", "0"}), HasSubstr("--nproc"));
  EXPECT_THAT(refusal({"pretrain", "--config", "f", "--resume", "yes"}), HasSubstr("--resume"));
}

TEST_F(TrainRequestTest, HelpNamesEveryOption) {
  EXPECT_FALSE(read({"--help"}));
  EXPECT_FALSE(read({"pretrain", "--help"}));
  for (const char* option :
       {"--config", "--nproc", "--resume", "--overwrite", "--proxy", "--presets", "--dry-run", "--init-from"}) {
    EXPECT_THAT(out_.str(), HasSubstr(option));
  }
}

}  // namespace
}  // namespace primus::cli
