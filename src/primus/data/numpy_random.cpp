#include "primus/data/numpy_random.h"

#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "primus/base/check.h"

namespace primus::data {

uint64_t numpy_interval(std::mt19937& engine, uint64_t max) {
  if (max == 0) return 0;
  const uint64_t mask = std::numeric_limits<uint64_t>::max() >> std::countl_zero(max);
  uint64_t value = 0;
  if (max <= 0xffffffffULL) {
    do value = engine() & mask;
    while (value > max);
    return value;
  }
  do {
    const uint64_t high = engine();
    value = (high << 32 | engine()) & mask;
  } while (value > max);
  return value;
}

std::vector<uint32_t> torch_randperm(int64_t n, uint64_t seed) {
  PRIMUS_CHECK(n >= 0 && n <= std::numeric_limits<uint32_t>::max(), "randperm needs 0 <= n < 2^32");
  std::vector<uint32_t> permutation(static_cast<size_t>(n));
  std::iota(permutation.begin(), permutation.end(), 0U);
  std::mt19937 engine(static_cast<uint32_t>(seed));
  // torch takes 64-bit draws for long permutations, where the remainder of 32-bit ones would be uneven.
  const bool wide = static_cast<uint64_t>(n) >= std::numeric_limits<uint32_t>::max() / 20;
  for (int64_t i = 0; i + 1 < n; ++i) {
    uint64_t draw = engine();
    if (wide) draw = draw << 32 | engine();
    std::swap(permutation[static_cast<size_t>(i)],
              permutation[static_cast<size_t>(i) + draw % static_cast<uint64_t>(n - i)]);
  }
  return permutation;
}

namespace {

uint32_t xor_shift16(uint32_t value) {
  return value ^ value >> 16;
}

// numpy.random.SeedSequence(seed).generate_state(8), for an entropy of one word.
std::array<uint32_t, 8> seed_words(uint32_t seed) {
  constexpr uint32_t kMultA = 0x931e8875U, kMultB = 0x58f38dedU, kMixLeft = 0xca01f9ddU, kMixRight = 0x4973f715U;
  uint32_t constant = 0x43b0d7e5U;
  const auto hash = [&](uint32_t value) {
    value ^= constant;
    constant *= kMultA;
    return xor_shift16(value * constant);
  };
  std::array<uint32_t, 4> pool{};
  for (size_t i = 0; i < pool.size(); ++i) pool[i] = hash(i == 0 ? seed : 0);
  for (size_t from = 0; from < pool.size(); ++from) {
    for (size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = xor_shift16(kMixLeft * pool[to] - kMixRight * hash(pool[from]));
    }
  }
  constant = 0x8b51f9ddU;
  std::array<uint32_t, 8> words{};
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t value = pool[i % pool.size()] ^ constant;
    constant *= kMultB;
    words[i] = xor_shift16(value * constant);
  }
  return words;
}

}  // namespace

NumpyGenerator::NumpyGenerator(uint32_t seed) {
  const std::array<uint32_t, 8> words = seed_words(seed);
  const auto word64 = [&](size_t i) { return uint64_t{words[2 * i + 1]} << 32 | words[2 * i]; };
  const Word128 start = Word128{word64(0)} << 64 | word64(1);
  increment_ = (Word128{word64(2)} << 64 | word64(3)) << 1 | 1;
  next_u64();
  state_ += start;
  next_u64();
}

uint64_t NumpyGenerator::next_u64() {
  const Word128 multiplier = Word128{2549297995355413924ULL} << 64 | 4865540595714422341ULL;
  state_ = state_ * multiplier + increment_;
  const auto high = static_cast<uint64_t>(state_ >> 64);
  return std::rotr(high ^ static_cast<uint64_t>(state_), static_cast<int>(high >> 58));
}

uint32_t NumpyGenerator::next_u32() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const uint64_t draw = next_u64();
  spare_ = static_cast<uint32_t>(draw >> 32);
  has_spare_ = true;
  return static_cast<uint32_t>(draw);
}

std::vector<int32_t> NumpyGenerator::integers(int32_t low, int32_t high, int64_t size) {
  PRIMUS_CHECK(low < high, "an empty range of integers");
  const uint32_t width = static_cast<uint32_t>(high) - static_cast<uint32_t>(low);
  const uint32_t threshold = -width % width;
  std::vector<int32_t> values(static_cast<size_t>(size));
  for (int32_t& value : values) {
    uint64_t product = uint64_t{next_u32()} * width;
    while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next_u32()} * width;
    value = static_cast<int32_t>(static_cast<uint32_t>(low) + static_cast<uint32_t>(product >> 32));
  }
  return values;
}

double numpy_sum(std::span<const double> values) {
  const size_t n = values.size();
  if (n < 8) return std::accumulate(values.begin(), values.end(), 0.0);
  if (n <= 128) {
    std::array<double, 8> lanes{};
    for (size_t lane = 0; lane < 8; ++lane) lanes[lane] = values[lane];
    size_t i = 8;
    for (; i + 8 <= n; i += 8) {
      for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
    }
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  const size_t half = n / 2 - n / 2 % 8;
  return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
}

}  // namespace primus::data
