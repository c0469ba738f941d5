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
  static void run(PhiloxKey key, uint64_t group, uint32_t* words) {
    const uint64_t first = group * kLanes;  // counter of lane 0; a group never crosses a 2^32 border
    PhiloxLanes c;
    c.word[0] = lane_numbers() + static_cast<uint32_t>(first);
    c.word[1] = u32x16{} + static_cast<uint32_t>(first >> 32);
    c.word[2] = u32x16{};
    c.word[3] = u32x16{};
    store_interleaved(words, philox_lanes(key, c));
  }
};

template <size_t kSize>
PRIMUS_INLINE D8 polynomial(const double (&c)[kSize], D8 x) {
  f64x8 sum = f64x8{} + c[kSize - 1];
  for (size_t i = kSize - 1; i-- > 0;) sum = sum * x.v + c[i];
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
  alignas(64) double lanes[8];
  std::memcpy(lanes, &square, sizeof lanes);
  for (double& lane : lanes) lane = __builtin_sqrt(lane);
  f64x8 r;
  std::memcpy(&r, lanes, sizeof r);
  const D8 t = {r - 1.6};
  return {polynomial(kQuantileC, t).v / polynomial(kQuantileD, t).v};
}

// normal_from_word of 64 words: the centre of the distribution for all, then the tails (one word in seven), gathered
// into vectors.
struct NormalBody {
  static void run(const uint32_t* words, double* z) {
    alignas(64) uint32_t tail_words[kGroup] = {};
    uint8_t place[kGroup];
    int64_t num_tails = 0;
    for (int64_t i = 0; i < kGroup; i += 8) {
      const f64x8 q = centred(words + i).v;
      const D8 r = {0.180625 - q * q};
      const f64x8 value = q * polynomial(kQuantileA, r).v / polynomial(kQuantileB, r).v;
      std::memcpy(z + i, &value, sizeof value);
    }
    for (int64_t i = 0; i < kGroup; ++i) {
      const double q = (static_cast<double>(words[i]) + 0.5) * 0x1p-32 - 0.5;
      tail_words[num_tails] = words[i];
      place[num_tails] = static_cast<uint8_t>(i);
      num_tails += q < -0.425 || q > 0.425 ? 1 : 0;
    }
    for (int64_t i = 0; i < num_tails; i += 8) {
      const D8 q = centred(tail_words + i);
      const f64x8 size = tail(q).v;
      const f64x8 value = q.v < 0.0 ? -size : size;
      for (int64_t j = 0; j < 8 && i + j < num_tails; ++j) z[place[i + j]] = value[j];
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
