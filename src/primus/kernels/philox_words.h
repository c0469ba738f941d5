// Internal: sixteen Philox4x32-10 counters at a time.
#pragma once

#include "primus/kernels/philox.h"
#include "primus/kernels/simd.h"

namespace primus::kernels::simd {

using u32x8 = uint32_t __attribute__((vector_size(32)));
using u64x8 = uint64_t __attribute__((vector_size(64)));

// Sixteen counters, word by word; also sixteen results.
struct PhiloxLanes {
  u32x16 word[4];
};

struct HighLow {
  u32x16 high;
  u32x16 low;
};

PRIMUS_INLINE HighLow multiply_wide(uint32_t factor, const u32x16& x) {
  const u32x8 x0 = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  const u32x8 x1 = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const u64x8 p0 = __builtin_convertvector(x0, u64x8) * uint64_t{factor};
  const u64x8 p1 = __builtin_convertvector(x1, u64x8) * uint64_t{factor};
  const u64x8 h0 = p0 >> 32;
  const u64x8 h1 = p1 >> 32;
  const u32x8 high0 = __builtin_convertvector(h0, u32x8);
  const u32x8 high1 = __builtin_convertvector(h1, u32x8);
  return {__builtin_shufflevector(high0, high1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), x * factor};
}

PRIMUS_INLINE PhiloxLanes philox_lanes(PhiloxKey key, PhiloxLanes c) {
  uint32_t k0 = key.low;
  uint32_t k1 = key.high;
  for (int round = 0; round < 10; ++round) {
    const HighLow a = multiply_wide(0xD2511F53U, c.word[0]);
    const HighLow b = multiply_wide(0xCD9E8D57U, c.word[2]);
    c = {{b.high ^ c.word[1] ^ k0, b.low, a.high ^ c.word[3] ^ k1, a.low}};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

// Words of the counters in stream order: counter 0's four, counter 1's four, ...
PRIMUS_INLINE void store_interleaved(uint32_t* out, const PhiloxLanes& w) {
  alignas(64) uint32_t rows[4][kLanes];
  std::memcpy(rows, w.word, sizeof rows);
  for (int64_t i = 0; i < kLanes; ++i) {
    for (int64_t j = 0; j < 4; ++j) out[4 * i + j] = rows[j][i];
  }
}

PRIMUS_INLINE u32x16 lane_numbers() {
  return u32x16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

}  // namespace primus::kernels::simd
