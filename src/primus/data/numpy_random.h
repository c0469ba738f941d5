// The random sequences of NumPy and torch that fix the order of training data, bit for bit. Both seed MT19937 alike
// (init_genrand), which is also how the standard library seeds std::mt19937.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace primus::data {

// A number in [0, max], by masked rejection: 32-bit draws up to 2^32 - 1, 64-bit ones (high half first) above.
// Source: numpy/random/src/distributions/distributions.c, random_interval.
uint64_t numpy_interval(std::mt19937& engine, uint64_t max);

// numpy.random.RandomState.shuffle of a one-dimensional array: the same swaps for every element type.
template <class T>
void numpy_shuffle(std::mt19937& engine, std::span<T> values) {
  for (size_t i = values.size(); i-- > 1;) std::swap(values[i], values[numpy_interval(engine, i)]);
}

// torch.randperm(n, generator=Generator().manual_seed(seed)) on the CPU. n < 2^32; cost: n draws.
std::vector<uint32_t> torch_randperm(int64_t n, uint64_t seed);

// numpy.random.default_rng(seed) for one small seed word: SeedSequence, PCG64 (XSL-RR), buffered 32-bit halves.
class NumpyGenerator {
 public:
  explicit NumpyGenerator(uint32_t seed);

  uint64_t next_u64();
  uint32_t next_u32();
  // Generator.integers(low, high, size, dtype=int32): low <= value < high, Lemire's method on 32-bit draws.
  std::vector<int32_t> integers(int32_t low, int32_t high, int64_t size);

 private:
  using Word128 = unsigned __int128;
  Word128 state_ = 0, increment_ = 0;
  uint32_t spare_ = 0;
  bool has_spare_ = false;
};

// numpy.sum of doubles: pairwise, so that normalised weights carry the same last bit.
double numpy_sum(std::span<const double> values);

}  // namespace primus::data
