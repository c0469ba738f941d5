#include "primus/launch/failure_report.h"

#include <array>
#include <csignal>
#include <cstring>
#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::launch {
namespace {

constexpr size_t kMaxLines = 20;
constexpr size_t kMaxLineBytes = 2000;

// What a rank says whose peer is gone: it is a victim, not the cause.
bool speaks_of_a_lost_peer(const RankStory& story) {
  static constexpr std::array<std::string_view, 6> kSigns = {"onnection reset by peer",
                                                             "onnection closed by peer",
                                                             "onnection refused",
                                                             "Broken pipe",
                                                             "lost peer",
                                                             "peer is lost"};
  for (const auto& line : story.last_lines) {
    for (const auto sign : kSigns) {
      if (line.find(sign) != std::string::npos) return true;
    }
  }
  return false;
}

// Smaller is more likely the cause.
int suspicion(const RankStory& story) {
  if (story.stopped_by_us) return 2;
  return story.end.signal == 0 && speaks_of_a_lost_peer(story) ? 1 : 0;
}

}  // namespace

void LineTail::add(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      if (c == '\n' || !open_.empty()) finished_.push_back(std::move(open_));
      open_.clear();
      if (finished_.size() > kMaxLines) finished_.pop_front();
    } else if (open_.size() < kMaxLineBytes) {
      open_ += c;
    }
  }
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> result(finished_.begin(), finished_.end());
  if (!open_.empty()) result.push_back(open_);
  return result;
}

std::string describe(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  const char* name = ::sigabbrev_np(end.signal);
  return fmt::format("signal {} (SIG{})", end.signal, name != nullptr ? name : "?");
}

int find_cause(const std::vector<RankStory>& stories) {
  int cause = -1;
  for (size_t i = 0; i < stories.size(); ++i) {
    const RankStory& story = stories[i];
    if (story.end.good()) continue;
    if (cause < 0) {
      cause = static_cast<int>(i);
      continue;
    }
    const RankStory& best = stories[static_cast<size_t>(cause)];
    const int order = suspicion(story) - suspicion(best);
    if (order < 0 || (order == 0 && story.ended_after_s < best.ended_after_s)) cause = static_cast<int>(i);
  }
  return cause;
}

std::string failure_report(const std::vector<RankStory>& stories, int cause) {
  const RankStory& first = stories[static_cast<size_t>(cause)];
  std::string text = fmt::format("rank {} failed first: {} after {:.1f} s (local rank {}, process {})\n", first.rank,
                                 describe(first.end), first.ended_after_s, first.local_rank, first.pid);
  if (first.end.signal == SIGKILL && !first.stopped_by_us) {
    text += "  nobody here sent SIGKILL: the system may have run out of memory (dmesg tells)\n";
  }
  if (first.last_lines.empty()) {
    text += "  it printed nothing\n";
  } else {
    text += "  its last lines:\n";
    for (const auto& line : first.last_lines) text += "    [rank " + std::to_string(first.rank) + "] " + line + "\n";
  }
  if (!first.log_file.empty()) text += "  all it printed: " + first.log_file + "\n";
  for (size_t i = 0; i < stories.size(); ++i) {
    const RankStory& story = stories[i];
    if (static_cast<int>(i) == cause || story.end.good()) continue;
    text += fmt::format(
        "  rank {}: {}{}\n", story.rank, describe(story.end),
        story.stopped_by_us ? ", stopped by the launcher" : fmt::format(" after {:.1f} s", story.ended_after_s));
  }
  return text;
}

}  // namespace primus::launch
