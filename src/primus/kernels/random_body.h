// Internal, compiled once per instruction set (see loops.h): random words, normals, dropout.
#pragma once

#include "primus/kernels/normal_tables.h"
#include "primus/kernels/philox_words.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/simd.h"

namespace primus::kernels::simd {

namespace {

// Stream elements are made in aligned groups of this many: sixteen counters, four words each.
constexpr int64_t kGroup = 64;

using i64x8 = int64_t __attribute__((vector_size(64)));

struct GroupBody {
  static PRIMUS_INLINE void fill(PhiloxKey key, uint64_t group, uint32_t* words) {
    const uint64_t first = group * kLanes;  // counter of lane 0; a group never crosses a 2^32 border
    PhiloxLanes c;
    c.word[0] = lane_numbers() + static_cast<uint32_t>(first);
    c.word[1] = u32x16{} + static_cast<uint32_t>(first >> 32);
    c.word[2] = u32x16{};
    c.word[3] = u32x16{};
    store_interleaved(words, philox_lanes(key, c));
  }
  static void run(PhiloxKey key, uint64_t group, uint32_t* words) { fill(key, group, words); }
};

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

// Eight values of double arithmetic, rounded to fp32.
PRIMUS_INLINE void store_rounded(float* out, D8 x) {
  const f32x8 narrow = __builtin_convertvector(x.v, f32x8);
  std::memcpy(out, &narrow, sizeof narrow);
}

struct NormalGroupBody {
  static void run(PhiloxKey key, uint64_t group, double mean, double std, float* out) {
    alignas(64) uint32_t words[kGroup];
    alignas(64) double z[kGroup];
    GroupBody::fill(key, group, words);
    normals(words, z);
    for (int64_t i = 0; i < kGroup; i += 8) {
      f64x8 value;
      std::memcpy(&value, z + i, sizeof value);
      store_rounded(out + i, D8{mean + std * value});
    }
  }
};

// low + width * the word's upper 24 bits as a number in [0, 1).
struct UniformGroupBody {
  static void run(PhiloxKey key, uint64_t group, double low, double width, float* out) {
    alignas(64) uint32_t words[kGroup];
    GroupBody::fill(key, group, words);
    for (int64_t i = 0; i < kGroup; i += 8) {
      u32x8 w;
      std::memcpy(&w, words + i, sizeof w);
      store_rounded(out + i, D8{low + width * (__builtin_convertvector(w >> 8, f64x8) * 0x1p-24)});
    }
  }
};

// One row: y[f] = x[f] * scale where word(f) >= threshold, else 0; sixteen counters (64 features) at a time.
template <class X>
struct DropoutRowBody {
  static void run(const X* x, X* y, int64_t width, PhiloxKey key, const uint32_t* start, uint32_t threshold,
                                float scale) {
    alignas(64) uint32_t words[4 * kLanes];
    for (int64_t f = 0; f < width; f += 4 * kLanes) {
      PhiloxLanes c;
      c.word[0] = lane_numbers() + (start[0] + static_cast<uint32_t>(f / 4));
      for (int i = 1; i < 4; ++i) c.word[i] = u32x16{} + start[i];
      store_interleaved(words, philox_lanes(key, c));
      for (int64_t j = 0; j < 4 * kLanes && f + j < width; j += kLanes) {
        const int64_t n = smaller(kLanes, width - f - j);
        u32x16 w;
        std::memcpy(&w, words + j, sizeof w);
        const F16 value = read(x + f + j, n);
        const f32x16 scaled = value.v * scale;
        const F16 kept = {w >= (u32x16{} + threshold) ? scaled : f32x16{}};
        write(y + f + j, kept, n);
      }
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
