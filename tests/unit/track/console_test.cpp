#include "primus/track/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "unit/hub/temp_folder.h"

#include "primus/base/strings.h"

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

std::vector<std::string> lines_of(const ConsoleOptions& options, const std::vector<StepRow>& rows) {
  const test::TempFolder folder;
  Logger log({.file = folder / "log", .console = false});
  const auto console = open_console(log, options);
  for (const StepRow& row : rows) console->on_step(row);
  log.flush();
  return split(*read_text_file(folder / "log"), '\n');
}

// Case B127: the first step pays for allocation.
TEST(Console, LeavesTheFirstStepOutOfTheMeans) {
  std::vector<StepRow> rows;
  for (const double seconds : {10.0, 1.0, 1.0, 4.0})
    rows.push_back(
        {.step = static_cast<int64_t>(rows.size()) + 1, .step_ms = seconds * 1e3, .tokens_per_s = 600 / seconds});
  const auto lines = lines_of({.num_steps = 4, .interval_steps = 4}, rows);
  EXPECT_THAT(lines, testing::Contains(testing::ContainsRegex("^.* 1 .* 10000.0 +60 ")));
  EXPECT_THAT(lines, testing::Contains(testing::ContainsRegex("^.* 4 .* 2000.0 +300 ")));
}

// Case B124: no share of a peak that nobody knows.
TEST(Console, ShowsAShareOfThePeakOnlyWhereItIsKnown) {
  const auto share_in = [](std::optional<double> mfu) {
    return lines_of({.num_steps = 1}, {{.step = 1, .step_ms = 5, .tokens_per_s = 7, .model_flops = 3e9, .mfu = mfu}});
  };
  EXPECT_THAT(share_in(0.125), testing::Contains(testing::HasSubstr(" 3.0  12.5% ")));
  EXPECT_THAT(share_in({}), testing::Contains(testing::HasSubstr(" 3.0      - ")));
  EXPECT_THAT(share_in({}), testing::Not(testing::Contains(testing::HasSubstr("%"))));
}

}  // namespace
}  // namespace primus::track
