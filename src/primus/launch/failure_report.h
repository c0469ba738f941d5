// Which rank failed first, and the one report about it. Pure.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "primus/launch/rank_process.h"

namespace primus::launch {

// The last lines of a stream. Long lines are cut, so that memory stays bounded.
class LineTail {
 public:
  void add(std::string_view bytes);
  // Whole lines, and the unfinished one when there is any.
  std::vector<std::string> lines() const;

 private:
  std::deque<std::string> finished_;
  std::string open_;
};

struct RankStory {
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  ProcessEnd end;
  double ended_after_s = 0;             // since the start of the job
  bool stopped_by_us = false;           // ended after the launcher had begun to stop the job
  std::vector<std::string> last_lines;  // of standard error, or of standard output when that is empty
  std::string log_file;
};

// "exit code 7", "signal 11 (SIGSEGV)".
std::string describe(const ProcessEnd& end);

// The index of the rank that caused the failure, or -1 when all are good: the first that ended badly by itself. Of
// several that did so, one that says no more than that its peer went away (lost connections) counts only when there is
// no other.
int find_cause(const std::vector<RankStory>& stories);

// First line: the cause. Then its last lines, then one line for each other rank that did not end well.
std::string failure_report(const std::vector<RankStory>& stories, int cause);

}  // namespace primus::launch
