// Internal: sixteen Philox4x32-10 counters at a time.
#pragma once

#include "primus/kernels/philox.h"
#include "primus/kernels/simd.h"

namespace primus::kernels::simd {

namespace {

// Sixteen counters, word by word; also sixteen results.
struct PhiloxLanes {
  u32x16 word[4];
};

struct HighLow {
  u32x16 high;
  u32x16 low;
};

PRIMUS_INLINE HighLow multiply_wide(uint32_t factor, const u32x16& x) {
#if defined(__AVX512F__)
  const __m512i factors = _mm512_set1_epi32(static_cast<int32_t>(factor));
  __m512i words;
  std::memcpy(&words, &x, sizeof words);
  const __m512i even = _mm512_mul_epu32(words, factors);  // 64-bit products of every second lane
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(words, 32), factors);
  const __m512i high = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xAAAA, odd);
  const __m512i low = _mm512_mask_mov_epi32(even, 0xAAAA, _mm512_slli_epi64(odd, 32));
  HighLow result;
  std::memcpy(&result.high, &high, sizeof high);
  std::memcpy(&result.low, &low, sizeof low);
  return result;
#else
  const u32x8 x0 = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  const u32x8 x1 = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const u64x8 p0 = __builtin_convertvector(x0, u64x8) * uint64_t{factor};
  const u64x8 p1 = __builtin_convertvector(x1, u64x8) * uint64_t{factor};
  const u64x8 h0 = p0 >> 32;
  const u64x8 h1 = p1 >> 32;
  const u32x8 high0 = __builtin_convertvector(h0, u32x8);
  const u32x8 high1 = __builtin_convertvector(h1, u32x8);
  return {__builtin_shufflevector(high0, high1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), x * factor};
#endif
}

PRIMUS_INLINE PhiloxLanes philox_lanes(PhiloxKey key, PhiloxLanes c) {
  uint32_t k0 = key.low;
  uint32_t k1 = key.high;
#pragma GCC unroll 10
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
#if defined(__AVX512F__)
  __m512i in[4];
  std::memcpy(in, w.word, sizeof in);
  const __m512i low01 = _mm512_unpacklo_epi32(in[0], in[1]);
  const __m512i high01 = _mm512_unpackhi_epi32(in[0], in[1]);
  const __m512i low23 = _mm512_unpacklo_epi32(in[2], in[3]);
  const __m512i high23 = _mm512_unpackhi_epi32(in[2], in[3]);
  // Quarter q of c<k>: the four words of counter 4q + k.
  const __m512i c0 = _mm512_unpacklo_epi64(low01, low23);
  const __m512i c1 = _mm512_unpackhi_epi64(low01, low23);
  const __m512i c2 = _mm512_unpacklo_epi64(high01, high23);
  const __m512i c3 = _mm512_unpackhi_epi64(high01, high23);
  const __m512i first01 = _mm512_shuffle_i32x4(c0, c1, 0x44);
  const __m512i first23 = _mm512_shuffle_i32x4(c2, c3, 0x44);
  const __m512i last01 = _mm512_shuffle_i32x4(c0, c1, 0xEE);
  const __m512i last23 = _mm512_shuffle_i32x4(c2, c3, 0xEE);
  _mm512_storeu_si512(out, _mm512_shuffle_i32x4(first01, first23, 0x88));
  _mm512_storeu_si512(out + kLanes, _mm512_shuffle_i32x4(first01, first23, 0xDD));
  _mm512_storeu_si512(out + 2 * kLanes, _mm512_shuffle_i32x4(last01, last23, 0x88));
  _mm512_storeu_si512(out + 3 * kLanes, _mm512_shuffle_i32x4(last01, last23, 0xDD));
#else
  alignas(64) uint32_t rows[4][kLanes];
  std::memcpy(rows, w.word, sizeof rows);
  for (int64_t i = 0; i < kLanes; ++i) {
    for (int64_t j = 0; j < 4; ++j) out[4 * i + j] = rows[j][i];
  }
#endif
}

PRIMUS_INLINE u32x16 lane_numbers() {
  return u32x16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

}  // namespace

}  // namespace primus::kernels::simd
