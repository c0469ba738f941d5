// What the watchdog concludes from the board, and what the board in the store says before a rank has spoken.
#include "primus/dist/watchdog.h"

#include <atomic>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include "support/ranks.h"

#include "primus/dist/gloo_transport.h"

namespace primus::dist {
namespace {

using ::testing::HasSubstr;

// Rank 0 of the test watches all other ranks, which beat at every look unless they are told to be silent.
class ScriptedBoard : public StatusBoard {
 public:
  ScriptedBoard(std::set<int> watched, int keeper) : watched_(std::move(watched)), keeper_(keeper) {}

  void publish(const RankStatus&) override { ++num_publishes; }
  std::optional<RankStatus> read(int rank) override {
    if (!answers) return std::nullopt;
    if (!silent.contains(rank)) ++beats_[rank];
    return RankStatus{.num_beats = beats_[rank], .step = 70 + rank};
  }
  int keeper() const override { return keeper_; }
  bool ended(int) override { return false; }
  std::vector<int> watched() const override { return {watched_.begin(), watched_.end()}; }

  bool answers = true;
  std::set<int> silent;
  std::atomic<int> num_publishes{0};

 private:
  std::set<int> watched_;
  int keeper_;
  std::map<int, uint64_t> beats_;
};

constexpr int kTwoLimits = 9;  // the watchdog looks four times a heartbeat limit
constexpr int kUntilReported = 1000;

std::string first_report(int rank, ScriptedBoard& board, int max_looks) {
  std::atomic<bool> is_reported = false;
  std::string report;
  const Watchdog watchdog("world", rank, 3, board, {.heartbeat_seconds = 0.4}, [&](const std::string& text) {
    if (!is_reported) report = text;
    is_reported = true;
  });
  while (!is_reported && board.num_publishes < max_looks) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return is_reported ? report : "";
}

TEST(Watchdog, NamesTheRankWithoutAHeartbeat) {
  ScriptedBoard board({1, 2}, -1);
  board.silent = {2};
  EXPECT_THAT(first_report(0, board, kUntilReported), HasSubstr("rank 2 is stuck: no heartbeat"));
}

TEST(Watchdog, LeavesRanksWithAHeartbeatAlone) {
  ScriptedBoard board({1, 2}, -1);
  EXPECT_EQ(first_report(0, board, kTwoLimits), "");
}

TEST(Watchdog, ABoardThatDoesNotAnswerAccusesNobodyOnTheRankThatKeepsIt) {
  ScriptedBoard board({1, 2}, 0);
  board.answers = false;
  EXPECT_EQ(first_report(0, board, kTwoLimits), "");
}

TEST(Watchdog, ABoardThatDoesNotAnswerAccusesItsKeeperOnTheOthers) {
  ScriptedBoard board({0, 2}, 0);
  board.answers = false;
  EXPECT_THAT(first_report(1, board, kUntilReported), HasSubstr("rank 0 is stuck: no heartbeat"));
}

TEST(StoreStatusBoard, HasAStatusOfEveryRankBeforeTheFirstLook) {
  test::expect_all_good(test::run_ranks(2, [](const Endpoint& endpoint) {
    Meeting meeting(endpoint);
    if (endpoint.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto board = store_status_board(meeting);
    const std::optional<RankStatus> other = board->read(1 - endpoint.rank);
    EXPECT_TRUE(other.has_value());
    board->publish({.left = true});
    return 0;
  }));
}

// A rank that goes on computing after rank 0 has left does not lose it.
TEST(StoreStatusBoard, Rank0WaitsUntilTheOthersKnowThatItLeaves) {
  test::expect_all_good(test::run_ranks(3, [](const Endpoint& endpoint) {
    Meeting meeting(endpoint);
    const auto board = store_status_board(meeting);
    if (endpoint.rank == 0) {
      board->publish({.left = true});
      return 0;
    }
    bool has_left = false;
    while (!has_left) has_left = board->read(0).value_or(RankStatus{}).left;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(board->read(3 - endpoint.rank).value_or(RankStatus{}).left);
    board->publish({.left = true});
    return 0;
  }));
}

}  // namespace
}  // namespace primus::dist
