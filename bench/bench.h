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
  std::string id;                // "a.gemm.f32"
  std::string what;              // "matrix product, fp32, 1024 x 768 x 2048"
  std::string against;           // what the ratio is taken against: "FMA probe"
  std::optional<double> ratio;   // nothing: could not be measured, the detail says why
  std::optional<double> target;  // nothing: shown for comparison only
  bool at_least = true;          // target is a floor (speed) or a ceiling (memory, time)
  std::string detail;            // context, absolute numbers
  bool is_stable = true;         // probes before and after, and the turns of one contender, agree within 10 %

  bool reaches_target() const { return ratio && target && (at_least ? *ratio >= *target : *ratio <= *target); }
  std::string verdict() const;  // "reached", "missed", "*unstable*", "not measured", or "-" without a target
};

struct Peaks {
  double f32_gflops = 0;
  std::optional<double> bf16_gflops;
};
Peaks measure_peaks();

struct Setup {
  Peaks peaks;  // measured just before the group
  int threads = 2;
  bool is_smoke = false;  // only to see whether everything runs: few steps, one turn, numbers without meaning
  int turns() const { return is_smoke ? 1 : 2; }
};

struct Group {
  std::vector<std::string> ids;  // what `bench/run ID` selects; row ids begin with one of them
  std::string title;
  std::vector<Row> (*measure)(const Setup& setup);
};
std::span<const Group> groups();

// Whether two measurements of the same thing are more than 10 % apart.
bool differ(double before, double after);

// Best wall seconds of each contender; they take turns, so that a disturbance hits all of them. The first turn is not
// counted.
std::vector<double> best_seconds(int rounds, const std::vector<std::function<void()>>& contenders);

// In this process, on the kernels room (kernel_rows.cpp).
std::vector<Row> gemm_rows(const Setup& setup);
std::vector<Row> attention_rows(const Setup& setup);
std::vector<Row> cross_entropy_rows(const Setup& setup);

// In this process, on layers and files (moe_rows.cpp).
std::vector<Row> moe_rows(const Setup& setup);
std::vector<Row> load_rows(const Setup& setup);

// Whole programs, ours and the peers' (llama_rows.cpp, char_rows.cpp, tool_rows.cpp).
std::vector<Row> llama_rows(const Setup& setup);
std::vector<Row> small_recipe_rows(const Setup& setup);
std::vector<Row> quickstart_rows(const Setup& setup);
std::vector<Row> config_rows(const Setup& setup);
std::vector<Row> start_rows(const Setup& setup);
std::vector<Row> tokenizer_rows(const Setup& setup);

}  // namespace primus::bench
