#include <algorithm>
#include <chrono>

#include "bench/bench.h"

#include "primus/kernels/probe.h"

namespace primus::bench {

std::span<const Group> groups() {
  static constexpr Group table[] = {
      {"a", "matrix products through the door", &gemm_rows},
      {"attention", "attention against torch", &attention_rows},
      {"cross-entropy", "loss head: memory and time", &cross_entropy_rows},
  };
  return table;
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
