#include "primus/cli/app.h"

#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/build_facts.h"

namespace primus::cli {
namespace {

using testing::HasSubstr;

class AppTest : public testing::Test {
 protected:
  Context context() {
    Context context;
    context.environment = environment_of({{"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}});
    context.out = &out_;
    context.err = &err_;
    context.program_folder = "/nonexistent/bin";
    context.install_root = fs::current_path();
    return context;
  }
  ExitCode run(const std::vector<std::string>& arguments) { return run_app(context(), arguments); }
  std::string refusal(const std::vector<std::string>& arguments) {
    try {
      run(arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::BadInput);
      return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return "";
  }

  std::ostringstream out_, err_;
};

TEST_F(AppTest, HelpListsEveryCommand) {
  EXPECT_EQ(run({"--help"}), ExitCode::Ok);
  for (const Command& command : command_table()) EXPECT_THAT(out_.str(), HasSubstr(std::string("\n  ") + command.name));
}

TEST_F(AppTest, NoArgumentsShowTheHelp) {
  EXPECT_EQ(run({}), ExitCode::Ok);
  EXPECT_THAT(out_.str(), HasSubstr("usage: primus-cli"));
}

TEST_F(AppTest, CommandNamesAreUnique) {
  std::set<std::string> names;
  for (const Command& command : command_table()) EXPECT_TRUE(names.insert(command.name).second) << command.name;
}

TEST_F(AppTest, VersionNamesTheCompilerAndTheTorch) {
  EXPECT_EQ(run({"--version"}), ExitCode::Ok);
  EXPECT_THAT(out_.str(), HasSubstr(std::string("primus ") + version()));
  EXPECT_THAT(out_.str(), HasSubstr("compiler "));
  EXPECT_THAT(out_.str(), HasSubstr("libtorch "));
}

TEST_F(AppTest, AMisspeltCommandIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal({"trian"}), HasSubstr("did you mean 'train'?"));
  EXPECT_THAT(refusal({"direct", "--", "docter"}), HasSubstr("did you mean 'doctor'?"));
}

TEST_F(AppTest, AMisspeltGlobalOptionIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal({"--versoin"}), HasSubstr("did you mean '--version'?"));
}

TEST_F(AppTest, ModesThatAreNotBuiltAreRefusedAndNameDirect) {
  EXPECT_THAT(refusal({"slurm", "srun", "--", "train"}), HasSubstr("primus-cli direct"));
  EXPECT_THAT(refusal({"container", "--", "train"}), HasSubstr("'container' is not built yet"));
}

TEST_F(AppTest, DirectIsTheSameAsNoMode) {
  const ExitCode plain = run({"doctor", "--format", "json"});
  const std::string first = out_.str();
  out_.str("");
  EXPECT_EQ(run({"direct", "--", "doctor", "--format", "json"}), plain);
  EXPECT_EQ(value_or_throw(parse_json(first, "first"))["checks"].size(),
            value_or_throw(parse_json(out_.str(), "second"))["checks"].size());
}

TEST_F(AppTest, DirectTakesItsOwnOptionsInFrontOfTheCommand) {
  EXPECT_EQ(run({"direct", "--env", "PRIMUS_APP_TEST=a=b c", "--", "--help"}), ExitCode::Ok);
  EXPECT_STREQ(std::getenv("PRIMUS_APP_TEST"), "a=b c");
  EXPECT_THAT(refusal({"direct", "--env", "NOTHING", "--", "doctor"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal({"direct", "--numa", "--", "doctor"}), HasSubstr("not built yet"));
  EXPECT_THAT(refusal({"direct", "--"}), HasSubstr("no command"));
}

TEST_F(AppTest, DoctorSaysWhatToDoAboutWhatIsMissing) {
  EXPECT_EQ(run({"doctor", "--format", "json"}), ExitCode::MissingPart);
  const Json report = value_or_throw(parse_json(out_.str(), "doctor"));
  EXPECT_FALSE(report["ready"].get<bool>());
  bool engine_is_missing = false;
  for (const Json& check : report["checks"]) {
    EXPECT_TRUE(check["status"] == "ok" || !check["advice"].get<std::string>().empty()) << dump_json(check);
    engine_is_missing = engine_is_missing || (check["name"] == "primus-train" && check["status"] == "missing");
  }
  EXPECT_TRUE(engine_is_missing);
}

TEST_F(AppTest, AnUnknownOptionOfACommandIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal({"doctor", "--fromat", "json"}), HasSubstr("did you mean '--format'?"));
  EXPECT_THAT(refusal({"doctor", "--format", "xml"}), HasSubstr("xml"));
}

TEST(BuildFacts, TheVersionOfAFolderWithoutTorchIsNotKnown) {
  EXPECT_FALSE(torch_version("/nonexistent"));
}

}  // namespace
}  // namespace primus::cli
