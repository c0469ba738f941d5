// Counter-based random numbers: a pure function of (key, counter), so that a weight or a dropout decision depends on
// what it belongs to and never on ranks, threads, batches or history. Everything here is integer arithmetic or single
// IEEE 754 additions, multiplications, divisions and square roots in a fixed order, without fused operations and
// without libm: the same bits on every machine, compiler and instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

using PhiloxCounter = std::array<uint32_t, 4>;

// Key of one stream.
struct PhiloxKey {
  uint32_t low = 0;
  uint32_t high = 0;
};

// The key of a stream: seed of the run, full name of the parameter or module, step (0 for initial weights). Mixed by
// splitmix64 over (seed, fnv1a64(name), step).
PhiloxKey philox_key(uint64_t seed, std::string_view name, uint64_t step);

// Philox4x32 with 10 rounds. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
PhiloxCounter philox4x32(PhiloxKey key, PhiloxCounter counter);

// The upper 24 bits as a number in [0, 1), exact in fp32.
constexpr float uniform_from_word(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0F / 16777216.0F);
}

// Standard normal by the inverse distribution function of (word + 0.5) / 2^32; |z| <= 6.34. Relative error of the
// inverse below 1e-15. Source: Wichura 1988, algorithm AS 241 (PPND16).
double normal_from_word(uint32_t word);
// The inverse of the standard normal distribution function, p in (0, 1).
double inverse_normal(double p);

// Random element i of a stream is word i % 4 of philox4x32(key, {low and high half of i / 4, 0, 0}).
// The fills write elements [begin, begin + target.numel()) of the stream into target (fp32 or bf16, contiguous, CPU):
// any shard of a tensor gets exactly what the whole fill would put there. bf16 gets the fp32 value rounded.

// mean + std * z.
void fill_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std);
// mean + std * z with z restricted to [low, high] (in units of std), by the inverse distribution function.
void fill_truncated_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std, double low,
                           double high);
// Uniform in [low, high).
void fill_uniform(at::Tensor target, PhiloxKey key, int64_t begin, double low, double high);

// The plain forms: one scalar call an element.
namespace reference {
void fill_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std);
}  // namespace reference

}  // namespace primus::kernels
