// Internal, compiled once per instruction set (see loops.h): random words, normals, dropout.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/normal_body.h"
#include "primus/kernels/philox_words.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

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
