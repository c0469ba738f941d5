// Internal, compiled once per instruction set (see loops.h): 64 random words to 64 standard normals.
#pragma once

#include "primus/kernels/normal_tables.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// Stream elements are made in aligned groups of this many: sixteen counters, four words each.
constexpr int64_t kGroup = 64;

template <size_t kSize>
PRIMUS_INLINE D8 polynomial(const double (&c)[kSize], D8 x) {
  f64x8 sum = f64x8{} + c[kSize - 1];
#pragma GCC unroll 16
  for (size_t i = 1; i < kSize; ++i) sum = sum * x.v + c[kSize - 1 - i];
  return {sum};
}

PRIMUS_INLINE D8 centred(const uint32_t* words) {
  u32x8 w;
  std::memcpy(&w, words, sizeof w);
  return {(__builtin_convertvector(w, f64x8) + 0.5) * 0x1p-32 - 0.5};
}

// fixed_log of philox_ref.cpp, lane by lane the same operations.
PRIMUS_INLINE D8 fixed_log(D8 x) {
  u64x8 bits;
  std::memcpy(&bits, &x.v, sizeof bits);
  const i64x8 exponent_bits = __builtin_convertvector(bits >> 52, i64x8) - 1023;
  f64x8 exponent = __builtin_convertvector(exponent_bits, f64x8);
  bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
  f64x8 m;
  std::memcpy(&m, &bits, sizeof m);
  const i64x8 high = m > 1.4142135623730951;
  exponent = high ? exponent + 1.0 : exponent;
  m = high ? m * 0.5 : m;
  const f64x8 s = (m - 1.0) / (m + 1.0);
  return {exponent * 0.6931471805599453 + 2.0 * s * polynomial(kLogSeries, D8{s * s}).v};
}

// |z| for eight tail words; r stays below 4.8 for 32-bit words, so the far tail is never needed.
PRIMUS_INLINE D8 tail(D8 q) {
  const f64x8 p = q.v + 0.5;
  const f64x8 smaller = q.v < 0.0 ? p : 1.0 - p;
  const f64x8 square = -fixed_log({smaller}).v;
  const f64x8 r = square_root(D8{square}).v;
  const D8 t = {r - 1.6};
  return {polynomial(kQuantileC, t).v / polynomial(kQuantileD, t).v};
}

// The words beyond the centre, |q| > 0.425, and their places. Room for a whole vector past the end of each list.
struct Tails {
  alignas(64) uint32_t words[kGroup + kLanes];
  alignas(64) uint32_t places[kGroup + kLanes];
  int64_t count;
};
PRIMUS_INLINE void find_tails(const uint32_t* words, Tails& tails) {
  // In whole numbers: word + 0.5 < 0.075 2^32 or > 0.925 2^32, with 0.425 as rounded to double.
  constexpr uint32_t kLow = 322122547;
  constexpr uint32_t kCentre = 3972844749 - kLow;  // words kLow .. kLow + kCentre - 1 are no tails
  int64_t count = 0;
#if defined(__AVX512F__)
  __m512i place = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t i = 0; i < kGroup; i += kLanes) {
    const __m512i w = _mm512_loadu_si512(words + i);
    const __mmask16 is_tail = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(w, _mm512_set1_epi32(kLow)),
                                                      _mm512_set1_epi32(static_cast<int32_t>(kCentre)));
    _mm512_storeu_si512(tails.words + count, _mm512_maskz_compress_epi32(is_tail, w));
    _mm512_storeu_si512(tails.places + count, _mm512_maskz_compress_epi32(is_tail, place));
    count += __builtin_popcount(is_tail);
    place = _mm512_add_epi32(place, _mm512_set1_epi32(kLanes));
  }
#else
  for (uint32_t i = 0; i < kGroup; ++i) {
    tails.words[count] = words[i];
    tails.places[count] = i;
    count += words[i] - kLow >= kCentre ? 1 : 0;
  }
  std::memset(tails.words + count, 0, kLanes * sizeof(uint32_t));
#endif
  tails.count = count;
}

// normal_from_word of 64 words: the centre of the distribution for all, then the tails (one word in seven), gathered
// into vectors.
PRIMUS_INLINE void normals(const uint32_t* words, double* z) {
  for (int64_t i = 0; i < kGroup; i += 8) {
    const f64x8 q = centred(words + i).v;
    const D8 r = {0.180625 - q * q};
    const f64x8 value = q * polynomial(kQuantileA, r).v / polynomial(kQuantileB, r).v;
    std::memcpy(z + i, &value, sizeof value);
  }
  Tails tails;
  find_tails(words, tails);
  for (int64_t i = 0; i < tails.count; i += 8) {
    const D8 q = centred(tails.words + i);
    const f64x8 size = tail(q).v;
    const f64x8 value = q.v < 0.0 ? -size : size;
    alignas(64) double lanes[8];
    std::memcpy(lanes, &value, sizeof lanes);
    for (int64_t j = 0; j < 8 && i + j < tails.count; ++j) z[tails.places[i + j]] = lanes[j];
  }
}

}  // namespace

}  // namespace primus::kernels::simd
