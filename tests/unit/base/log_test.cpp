#include "primus/base/log.h"

#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

namespace primus {
namespace {

TEST(ParseLogLevel, ReadsEveryNameInAnyCase) {
  for (const std::string& name : log_level_names()) {
    ASSERT_TRUE(parse_log_level(name)) << name;
    EXPECT_EQ(to_string(*parse_log_level(name)), name);
  }
  EXPECT_EQ(parse_log_level("debug"), LogLevel::Debug);
  EXPECT_EQ(parse_log_level("Warning"), LogLevel::Warning);
  EXPECT_EQ(parse_log_level("SUCCESS"), LogLevel::Success);
}

TEST(ParseLogLevel, IsNothingForOtherWords) {
  for (const char* word : {"", "DEBUGG", "warn ", "10", "verbose", "OFF"}) EXPECT_FALSE(parse_log_level(word)) << word;
}

TEST(Logger, WritesToTheFileFromItsOwnLevelOn) {
  const test::TempFolder folder;
  const fs::path file = folder / "logs/rank-0.log";
  {
    Logger log({.console_level = LogLevel::Off, .file_level = LogLevel::Warning, .file = file});
    log.info("quiet");
    log.warning("loud");
  }
  const std::string text = *read_text_file(file);
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("WARNING  loud\n"), std::string::npos);
  {
    Logger({.console_level = LogLevel::Off, .file = file}).info("later");
  }
  EXPECT_EQ(read_text_file(file)->find(text), 0U) << "a second start appends";
}

TEST(Logger, PutsPrefixAndLevelOnTheConsole) {
  testing::internal::CaptureStderr();
  {
    Logger log({.console_level = LogLevel::Info, .prefix = "rank 1"});
    log.debug("hidden");
    log.info("plain");
    log.error("broken");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[rank 1] plain\n[rank 1] error: broken\n");
}

TEST(Logger, LetsOnlyErrorsOfOtherRanksThrough) {
  testing::internal::CaptureStderr();
  {
    Logger log({.console_level = LogLevel::Debug, .console = false});
    log.warning("mine alone");
    log.error("for all");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: for all\n");
}

}  // namespace
}  // namespace primus
