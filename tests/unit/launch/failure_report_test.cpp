#include "primus/launch/failure_report.h"

#include <csignal>
#include <gmock/gmock.h>

namespace primus::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

RankStory story_of(int rank, ProcessEnd end, double after_s, std::vector<std::string> lines = {},
                   bool stopped = false) {
  return {.rank = rank,
          .local_rank = rank,
          .pid = 100 + rank,
          .end = end,
          .ended_after_s = after_s,
          .stopped_by_us = stopped,
          .last_lines = std::move(lines)};
}

TEST(LineTail, KeepsTheLastLinesAndTheUnfinishedOne) {
  LineTail tail;
  for (int i = 0; i < 50; ++i) tail.add("line " + std::to_string(i) + "\n");
  tail.add("cut ");
  tail.add("here");
  const auto lines = tail.lines();
  EXPECT_EQ(lines.size(), 21u);
  EXPECT_EQ(lines.front(), "line 30");
  EXPECT_EQ(lines.back(), "cut here");
}

TEST(LineTail, ReadsAProgressLineAsItsLastState) {
  LineTail tail;
  tail.add("10 %\r20 %\r\nend\n");
  EXPECT_THAT(tail.lines(), ElementsAre("10 %", "20 %", "", "end"));
}

TEST(FindCause, IsNobodyWhenAllAreGood) {
  EXPECT_EQ(find_cause({story_of(0, {}, 1), story_of(1, {}, 2)}), -1);
}

TEST(FindCause, IsTheFirstByTime) {
  EXPECT_EQ(find_cause({story_of(0, {.exit_code = 1}, 2.0), story_of(1, {.exit_code = 7}, 1.9)}), 1);
}

TEST(FindCause, PassesOverRanksThatOnlyLostTheirPeer) {
  EXPECT_EQ(find_cause({story_of(0, {.exit_code = 1}, 1.0, {"all_reduce: Connection reset by peer"}),
                        story_of(1, {.exit_code = 1}, 1.1, {"no space left on device"})}),
            1);
  // When every rank says so, the first one is all there is.
  EXPECT_EQ(find_cause({story_of(0, {.exit_code = 1}, 1.1, {"Connection closed by peer"}),
                        story_of(1, {.exit_code = 1}, 1.0, {"Connection closed by peer"})}),
            1);
}

TEST(FindCause, PassesOverRanksThatTheLauncherStopped) {
  EXPECT_EQ(find_cause({story_of(0, {.signal = SIGKILL}, 0.5, {}, true), story_of(1, {.exit_code = 3}, 0.9)}), 1);
}

TEST(FailureReport, NamesTheCauseFirst) {
  const std::vector<RankStory> stories = {story_of(0, {.signal = SIGTERM}, 2.5, {}, true),
                                          story_of(1, {.signal = SIGSEGV}, 2.04, {"about to jump"}),
                                          story_of(2, {}, 1)};
  const std::string text = failure_report(stories, find_cause(stories));
  EXPECT_THAT(text, StartsWith("rank 1 failed first: signal 11 (SIGSEGV) after 2.0 s"));
  EXPECT_THAT(text, HasSubstr("[rank 1] about to jump"));
  EXPECT_THAT(text, HasSubstr("rank 0: signal 15 (SIGTERM), stopped by the launcher"));
  EXPECT_THAT(text, testing::Not(HasSubstr("rank 2")));
}

TEST(ProcessEnd, ASignalIs128More) {
  EXPECT_EQ((ProcessEnd{.signal = SIGSEGV}.as_exit_code()), 139);
  EXPECT_EQ((ProcessEnd{.exit_code = 7}.as_exit_code()), 7);
}

}  // namespace
}  // namespace primus::launch
