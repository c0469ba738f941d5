#include "primus/kernels/probe.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <vector>

#include "primus/kernels/parallel.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace {

// A loop runs `steps` rounds on independent accumulators (more than latency x units of any CPU so far) and returns a
// sum that depends on all of them, so that nothing can be left out.
struct Loop {
  float (*run)(int64_t steps, float seed) = nullptr;
  double flops_per_step = 0;
};

constexpr int kChains = 16;

float portable_fp32(int64_t steps, float seed) {
  float sums[kChains * 4];
  for (int i = 0; i < kChains * 4; ++i) sums[i] = seed + static_cast<float>(i);
  for (int64_t step = 0; step < steps; ++step) {
    for (float& sum : sums) sum = sum * seed + 0.5f;
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float avx2_fp32(int64_t steps, float seed) {
  const __m256 factor = _mm256_set1_ps(seed);
  __m256 a = factor, b = factor, c = factor, d = factor, e = factor, f = factor, g = factor, h = factor, i = factor,
         j = factor, k = factor, l = factor;
  const __m256 x = _mm256_set1_ps(0.5f);
  for (int64_t step = 0; step < steps; ++step) {
    a = _mm256_fmadd_ps(a, factor, x), b = _mm256_fmadd_ps(b, factor, x), c = _mm256_fmadd_ps(c, factor, x);
    d = _mm256_fmadd_ps(d, factor, x), e = _mm256_fmadd_ps(e, factor, x), f = _mm256_fmadd_ps(f, factor, x);
    g = _mm256_fmadd_ps(g, factor, x), h = _mm256_fmadd_ps(h, factor, x), i = _mm256_fmadd_ps(i, factor, x);
    j = _mm256_fmadd_ps(j, factor, x), k = _mm256_fmadd_ps(k, factor, x), l = _mm256_fmadd_ps(l, factor, x);
    // Keeps the chains apart: equal ones would be computed once.
    __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f));
    __asm__ volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
  }
  const __m256 sum = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)),
                                   _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(e, f), _mm256_add_ps(g, h)),
                                                 _mm256_add_ps(_mm256_add_ps(i, j), _mm256_add_ps(k, l))));
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) float first_of_sum(const __m512 (&chains)[12]) {
  __m512 sum = chains[0];
  for (int i = 1; i < 12; ++i) sum = _mm512_add_ps(sum, chains[i]);
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) float avx512_fp32(int64_t steps, float seed) {
  const __m512 factor = _mm512_set1_ps(seed);
  const __m512 x = _mm512_set1_ps(0.5f);
  __m512 a = factor, b = factor, c = factor, d = factor, e = factor, f = factor, g = factor, h = factor, i = factor,
         j = factor, k = factor, l = factor;
  for (int64_t step = 0; step < steps; ++step) {
    a = _mm512_fmadd_ps(a, factor, x), b = _mm512_fmadd_ps(b, factor, x), c = _mm512_fmadd_ps(c, factor, x);
    d = _mm512_fmadd_ps(d, factor, x), e = _mm512_fmadd_ps(e, factor, x), f = _mm512_fmadd_ps(f, factor, x);
    g = _mm512_fmadd_ps(g, factor, x), h = _mm512_fmadd_ps(h, factor, x), i = _mm512_fmadd_ps(i, factor, x);
    j = _mm512_fmadd_ps(j, factor, x), k = _mm512_fmadd_ps(k, factor, x), l = _mm512_fmadd_ps(l, factor, x);
    __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f));
    __asm__ volatile("" : "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));
  }
  return first_of_sum({a, b, c, d, e, f, g, h, i, j, k, l});
}

__attribute__((target("avx512f,avx512bf16,avx512vl,avx512bw"))) float avx512_bf16(int64_t steps, float seed) {
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(seed), _mm512_set1_ps(seed));
  const __m512 x = _mm512_set1_ps(seed);
  __m512 a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;
  for (int64_t step = 0; step < steps; ++step) {
    a = _mm512_dpbf16_ps(a, factor, factor), b = _mm512_dpbf16_ps(b, factor, factor);
    c = _mm512_dpbf16_ps(c, factor, factor), d = _mm512_dpbf16_ps(d, factor, factor);
    e = _mm512_dpbf16_ps(e, factor, factor), f = _mm512_dpbf16_ps(f, factor, factor);
    g = _mm512_dpbf16_ps(g, factor, factor), h = _mm512_dpbf16_ps(h, factor, factor);
    i = _mm512_dpbf16_ps(i, factor, factor), j = _mm512_dpbf16_ps(j, factor, factor);
    k = _mm512_dpbf16_ps(k, factor, factor), l = _mm512_dpbf16_ps(l, factor, factor);
    __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f));
    __asm__ volatile("" : "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));
  }
  return first_of_sum({a, b, c, d, e, f, g, h, i, j, k, l});
}
#endif

Loop loop_for(ProbeType type) {
#if defined(__x86_64__)
  const tensor::CpuFeatures& cpu = tensor::cpu_features();
  if (type == ProbeType::BFloat16) return cpu.avx512_bf16 ? Loop{&avx512_bf16, 12 * 64.0} : Loop{};
  if (cpu.avx512) return {&avx512_fp32, 12 * 32.0};
  if (cpu.avx2_fma) return {&avx2_fp32, 12 * 16.0};
#endif
  return type == ProbeType::BFloat16 ? Loop{} : Loop{&portable_fp32, kChains * 4 * 2.0};
}

// Wall seconds of `steps` rounds on every thread at once.
double seconds(const Loop& loop, int num_threads, int64_t steps) {
  std::vector<float> sink(num_threads);
  const auto start = std::chrono::steady_clock::now();
  parallel_ranges(num_threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sink[i] = loop.run(steps, 0.25f);
  });
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  volatile float keep = sink[0];
  (void)keep;
  return passed.count();
}

}  // namespace

std::optional<double> measure_peak(ProbeType type, int num_threads, double round_ms) {
  const Loop loop = loop_for(type);
  if (loop.run == nullptr) return std::nullopt;
  const int threads = num_threads <= 0 ? tensor::num_threads() : std::min(num_threads, tensor::num_threads());
  // Calibrated by the best of a few short serial runs: a first wake-up of the team can take longer than a whole round.
  constexpr int64_t kTrialSteps = 50'000;
  double trial = 1e30;
  for (int i = 0; i < 3; ++i) trial = std::min(trial, seconds(loop, 1, kTrialSteps));
  const auto steps = static_cast<int64_t>(kTrialSteps * std::max(1.0, round_ms * 1e-3 / trial));
  double best = 1e30;
  for (int round = 0; round < 5; ++round) best = std::min(best, seconds(loop, threads, steps));
  return threads * loop.flops_per_step * static_cast<double>(steps) / best * 1e-9;
}

}  // namespace primus::kernels
