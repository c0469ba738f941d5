#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <map>
#include <sstream>
#include <thread>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/dist/gloo_transport.h"
#include "primus/dist/meeting_store.h"

namespace primus::dist {

namespace {

constexpr double kPatienceSeconds = 0.5;  // the watchdog looks about once a second
constexpr double kLeaveSeconds = 10;
constexpr std::chrono::hours kNoLimit{24};

std::string key_of(int rank) {
  return fmt::format("status/{}", rank);
}

std::string to_text(const RankStatus& status) {
  return fmt::format("{} {} {} {:d} {:d} {:d} {}", status.num_beats, status.step, status.sequence, status.waiting,
                     status.left, status.failed, status.operation);
}

RankStatus from_text(const std::string& text) {
  RankStatus status;
  std::istringstream in(text);
  in >> status.num_beats >> status.step >> status.sequence >> status.waiting >> status.left >> status.failed;
  in.get();
  std::getline(in, status.operation);
  return status;
}

bool is_ready(const std::future<std::string>& answer, double patience_seconds) {
  return answer.wait_for(std::chrono::duration<double>(patience_seconds)) == std::future_status::ready;
}

class StoreStatusBoard : public StatusBoard {
 public:
  explicit StoreStatusBoard(Meeting& meeting)
      : meeting_store_(meeting.store()),
        rank_(meeting_store_->endpoint.rank),
        num_ranks_(meeting_store_->endpoint.world_size),
        store_(meeting_store_->tcp) {
    meeting.set(key_of(rank_), to_text({}));
    // A look-up of a status that was never set waits for it. Afterwards all are there, and every look-up is short.
    for (int rank = 0; rank < num_ranks_; ++rank) meeting.get(key_of(rank));
    // c10d takes an answer that comes after its limit for that of the next question. The watchdog decides what is late.
    store_->setTimeout(kNoLimit);
  }

  ~StoreStatusBoard() override {
    if (rank_ != 0 || own_.failed) return;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLeaveSeconds);
    try {
      for (int rank = 1; rank < num_ranks_; ++rank) {
        while (!read(rank).value_or(RankStatus{}).left && std::chrono::steady_clock::now() < limit) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      }
    } catch (const std::exception&) {
      // Nobody is left to wait for.
    }
  }

  void publish(const RankStatus& own) override {
    own_ = own;
    if (server_left_) return;
    if (own.left) {
      if (pending_.answer.valid()) is_ready(pending_.answer, kLeaveSeconds);
      tell("left", kLeaveSeconds);
    } else {
      tell("status", kPatienceSeconds);
    }
  }

  std::optional<RankStatus> read(int rank) override {
    if (server_left_) return RankStatus{.left = true};
    const std::string key = key_of(rank);
    const auto answer = ask(key, [store = store_, key] { return store->get_to_str(key); }, kPatienceSeconds);
    if (!answer) return std::nullopt;
    const RankStatus status = from_text(*answer);
    if (rank == 0 && status.left) let_server_go();
    return status;
  }

  int keeper() const override { return 0; }

  bool ended(int) override { return false; }  // a lost connection tells

  std::vector<int> watched() const override {
    std::vector<int> ranks;
    const int next = (rank_ + 1) % num_ranks_;
    for (int rank = 0; rank < num_ranks_; ++rank) {
      if (rank != rank_ && (rank_ == 0 || rank == 0 || rank == next)) ranks.push_back(rank);
    }
    return ranks;
  }

 private:
  struct Question {
    std::string about;
    std::future<std::string> answer;
  };

  void tell(const std::string& about, double patience_seconds) {
    ask(
        about,
        [store = store_, key = key_of(rank_), text = to_text(own_)] {
          store->set(key, text);
          return std::string();
        },
        patience_seconds);
  }

  // Rank 0 waits until all know that it leaves. After it no rank waits for another: there is nothing to report any
  // more.
  void let_server_go() {
    if (rank_ == 0) return;
    own_.left = true;
    tell("left", kLeaveSeconds);
    server_left_ = true;
  }

  // Nothing: no answer yet. c10d waits without limit for an answer of a server that was stopped, so another thread
  // asks, one at a time. An answer that comes late is for the next call about the same.
  std::optional<std::string> ask(const std::string& about, std::function<std::string()> question,
                                 double patience_seconds) {
    if (pending_.answer.valid()) {
      if (!is_ready(pending_.answer, 0)) return std::nullopt;
      late_answers_[pending_.about] = take_answer();
    }
    if (auto late = late_answers_.extract(about)) return late.mapped();
    std::packaged_task<std::string()> task(std::move(question));
    pending_ = {.about = about, .answer = task.get_future()};
    std::thread(std::move(task)).detach();
    if (!is_ready(pending_.answer, patience_seconds)) return std::nullopt;
    return take_answer();
  }

  std::string take_answer() {
    try {
      return pending_.answer.get();
    } catch (const std::exception& error) {
      const std::string reason = first_ascii_line(error.what());
      if (rank_ == 0) throw RunError("rank 0 cannot reach the status of all ranks, which it keeps itself: " + reason);
      throw RunError("lost peer rank 0, which keeps the status of all ranks: " + reason);
    }
  }

  std::shared_ptr<Meeting::Store> meeting_store_;
  int rank_, num_ranks_;
  c10::intrusive_ptr<c10d::Store> store_;
  RankStatus own_;
  Question pending_;
  std::map<std::string, std::string> late_answers_;
  bool server_left_ = false;
};

}  // namespace

std::unique_ptr<StatusBoard> store_status_board(Meeting& meeting) {
  return std::make_unique<StoreStatusBoard>(meeting);
}

}  // namespace primus::dist
