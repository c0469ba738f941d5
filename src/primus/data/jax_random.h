// jax.random.randint, bit for bit: Threefry-2x32 with counters per element ("partitionable", JAX's default since 0.5).
#pragma once

#include <array>
#include <cstdint>

namespace primus::data {

using ThreefryWords = std::array<uint32_t, 2>;

// 20 rounds. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
ThreefryWords threefry2x32(ThreefryWords key, ThreefryWords counter);

// Elements of jax.random.randint(jax.random.PRNGKey(seed), shape, 0, high, int32), by their flat index.
class JaxIntegers {
 public:
  // high: at least 1.
  JaxIntegers(uint32_t seed, int32_t high);
  int32_t at(int64_t index) const;

 private:
  uint32_t span_, multiplier_;
  ThreefryWords high_key_, low_key_;
};

}  // namespace primus::data
