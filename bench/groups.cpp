#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/bench.h"

#include "primus/kernels/probe.h"

namespace primus::bench {

std::span<const Group> groups() {
  static const std::vector<Group> table = {
      {{"a"}, "matrix products through the door", &gemm_rows},
      {{"attention"}, "attention against torch", &attention_rows},
      {{"cross-entropy"}, "loss head: memory and time", &cross_entropy_rows},
      {{"moe"}, "mixtures of experts against dense products and steps", &moe_rows},
      {{"load"}, "weights from disk", &load_rows},
      {{"b", "f"}, "llama_124M, 1 x 1,024 tokens a step: speed (b) and memory (f)", &llama_rows},
      {{"c"}, "configuration", &config_rows},
      {{"d"}, "start of the programs", &start_rows},
      {{"e"}, "tokenizer, one thread", &tokenizer_rows},
      {{"g"}, "small recipe: 4 x 128, 64 characters, batch 12, 2,000 steps", &small_recipe_rows},
      {{"quickstart"}, "quickstart: 4 x 192, 128 characters, batch 16, 2,000 steps", &quickstart_rows},
  };
  return table;
}

std::string Row::verdict() const {
  if (!ratio) return "not measured";
  if (!is_stable) return "*unstable*";
  if (!target) return "-";
  return reaches_target() ? "reached" : "missed";
}

bool differ(double before, double after) {
  return std::fabs(before - after) > 0.1 * std::max(before, after);
}

Peaks measure_peaks() {
  Peaks peaks;
  peaks.f32_gflops = kernels::measure_peak(kernels::ProbeType::Float32).value_or(0);
  peaks.bf16_gflops = kernels::measure_peak(kernels::ProbeType::BFloat16);
  return peaks;
}

std::vector<double> best_seconds(int rounds, const std::vector<std::function<void()>>& contenders) {
  std::vector<double> best(contenders.size(), 1e30);
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      contenders[i]();
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (round > 0) best[i] = std::min(best[i], passed.count());
    }
  }
  return best;
}

}  // namespace primus::bench
