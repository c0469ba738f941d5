#include "primus/data/jax_random.h"

#include <bit>

#include "primus/base/check.h"

namespace primus::data {

namespace {

ThreefryWords words_of(uint64_t index) {
  return {static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(index)};
}

uint32_t random_bits(ThreefryWords key, int64_t index) {
  const ThreefryWords words = threefry2x32(key, words_of(static_cast<uint64_t>(index)));
  return words[0] ^ words[1];
}

}  // namespace

ThreefryWords threefry2x32(ThreefryWords key, ThreefryWords counter) {
  constexpr std::array<std::array<int, 4>, 2> kRotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const std::array<uint32_t, 3> keys = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAU};
  uint32_t a = counter[0] + keys[0], b = counter[1] + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      a += b;
      b = std::rotl(b, rotation) ^ a;
    }
    a += keys[(group + 1) % 3];
    b += keys[(group + 2) % 3] + group + 1;
  }
  return {a, b};
}

JaxIntegers::JaxIntegers(uint32_t seed, int32_t high) : span_(static_cast<uint32_t>(high)) {
  PRIMUS_CHECK(high >= 1, "an empty range of integers");
  const ThreefryWords key = {0, seed};
  high_key_ = threefry2x32(key, {0, 0});  // jax.random.split(key): one new key a counter
  low_key_ = threefry2x32(key, {0, 1});
  multiplier_ = 65536 % span_;
  multiplier_ = multiplier_ * multiplier_ % span_;
}

// 64 random bits modulo span, by halves, in arithmetic modulo 2^32.
int32_t JaxIntegers::at(int64_t index) const {
  const uint32_t upper = random_bits(high_key_, index) % span_, lower = random_bits(low_key_, index) % span_;
  return static_cast<int32_t>((upper * multiplier_ + lower) % span_);
}

}  // namespace primus::data
