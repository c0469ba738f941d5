#include "primus/track/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "unit/hub/temp_folder.h"

namespace primus::track {
namespace {

TEST(Console, ShowsNoSignOfWhatIsNoNumber) {
  const test::TempFolder folder;
  Logger log({.file = folder / "log", .console = false});
  const auto console = open_console(log, {.num_steps = 2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  console->on_step({.step = 1, .loss = -nan, .grad_norm = -nan});
  log.flush();
  const std::string text = *read_text_file(folder / "log");
  EXPECT_THAT(text, testing::HasSubstr(" nan "));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("-nan")));
}

}  // namespace
}  // namespace primus::track
