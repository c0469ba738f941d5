// The scoreboard: rows of ratios, each measured next to what it is compared with. A group of rows is one function; the
// table in groups.cpp lists them all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace primus::bench {

struct Row {
  std::string id;       // "a.gemm.f32"
  std::string what;     // "matrix product, fp32, 1024 x 768 x 2048"
  std::string against;  // what the ratio is taken against: "FMA probe"
  double ratio = 0;
  double target = 0;
  bool at_least = true;   // target is a floor (speed) or a ceiling (memory, time)
  std::string detail;     // context, absolute numbers
  bool is_stable = true;  // probes before and after agree within 10 %
  bool reaches_target() const { return at_least ? ratio >= target : ratio <= target; }
};

struct Peaks {
  double f32_gflops = 0;
  std::optional<double> bf16_gflops;
};
Peaks measure_peaks();

struct Group {
  const char* id;  // what `bench/run ID` selects: "a"
  const char* title;
  std::vector<Row> (*measure)(const Peaks& peaks);
};
std::span<const Group> groups();

// Best wall seconds of each contender; they take turns, so that a disturbance hits all of them. The first turn is not
// counted.
std::vector<double> best_seconds(int rounds, const std::vector<std::function<void()>>& contenders);

std::vector<Row> gemm_rows(const Peaks& peaks);
std::vector<Row> attention_rows(const Peaks& peaks);
std::vector<Row> cross_entropy_rows(const Peaks& peaks);

}  // namespace primus::bench
