#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <sstream>
#include <thread>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/dist/gloo_transport.h"
#include "primus/dist/meeting_store.h"

namespace primus::dist {

namespace {

constexpr double kLeaveSeconds = 2.5;  // the others look about once a second

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

class StoreStatusBoard : public StatusBoard {
 public:
  StoreStatusBoard(const Meeting& meeting, double silence_seconds)
      : silence_seconds_(silence_seconds),
        meeting_store_(meeting.store()),
        rank_(meeting_store_->endpoint.rank),
        num_ranks_(meeting_store_->endpoint.world_size) {
    // A connection of its own: a long wait of the group must not hold the heartbeat up.
    store_ = meeting_store_->tcp->clone();
    store_->setTimeout(std::chrono::milliseconds(static_cast<int64_t>(silence_seconds * 1e3)));
    publish({});
  }

  ~StoreStatusBoard() override {
    if (rank_ != 0 || failed_) return;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLeaveSeconds);
    try {
      for (int rank = 1; rank < num_ranks_; ++rank) {
        while (!read(rank).left && std::chrono::steady_clock::now() < limit) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      }
    } catch (const std::exception&) {
      // Nobody is left to wait for.
    }
  }

  void publish(const RankStatus& own) override {
    failed_ = own.failed;
    if (server_left_) return;
    speak([store = store_, key = key_of(rank_), text = to_text(own)] {
      store->set(key, text);
      return std::string();
    });
  }

  RankStatus read(int rank) override {
    if (server_left_) return {.left = true};
    const RankStatus status = from_text(speak([store = store_, key = key_of(rank)] { return store->get_to_str(key); }));
    if (rank == 0 && status.left) server_left_ = true;
    return status;
  }

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
  // c10d waits without limit for an answer of a server that was stopped, so another thread asks. It is left behind when
  // no answer comes; this process ends soon after.
  std::string speak(const std::function<std::string()>& ask) {
    const auto fail = [](const std::string& reason) {
      return RunError("lost peer rank 0, which keeps the status of all ranks: " + reason);
    };
    if (silent_) throw fail("it does not answer");
    auto answer = std::make_shared<std::promise<std::string>>();
    std::future<std::string> pending = answer->get_future();
    std::thread([answer, ask] {
      try {
        answer->set_value(ask());
      } catch (const std::exception&) {
        answer->set_exception(std::current_exception());
      }
    }).detach();
    if (pending.wait_for(std::chrono::duration<double>(silence_seconds_)) != std::future_status::ready) {
      silent_ = true;
      throw fail(fmt::format("no answer for {:.0f} s", silence_seconds_));
    }
    try {
      return pending.get();
    } catch (const std::exception& error) {
      const std::string_view text = error.what();
      throw fail(printable_ascii(text.substr(0, text.find('\n'))));
    }
  }

  const double silence_seconds_;
  std::shared_ptr<Meeting::Store> meeting_store_;
  int rank_, num_ranks_;
  c10::intrusive_ptr<c10d::Store> store_;
  bool server_left_ = false;  // after it no rank waits for another: there is nothing to report any more
  bool failed_ = false;
  bool silent_ = false;
};

}  // namespace

std::unique_ptr<StatusBoard> store_status_board(const Meeting& meeting, double silence_seconds) {
  return std::make_unique<StoreStatusBoard>(meeting, silence_seconds);
}

}  // namespace primus::dist
