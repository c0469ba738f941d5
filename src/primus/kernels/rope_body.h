// Internal, compiled once per instruction set (see loops.h): rotary embeddings of one token.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// All heads of one token. sign: +1 forward, -1 backward.
template <class X>
struct HalfRotateBody {
  static void run(const RopeHeads<X>& a, const float* cos, const float* sin, float sign) {
    for (int64_t i = 0; i < a.half; i += kLanes) {
      const int64_t n = smaller(kLanes, a.half - i);
      const F16 c = read(cos + i, n);
      const F16 s = read(sin + i, n) * splat(sign);
      for (int64_t h = 0; h < a.num_heads; ++h) {
        const X* x = a.x + h * a.x_stride;
        X* y = a.y + h * a.y_stride;
        const F16 x1 = read(x + i, n);
        const F16 x2 = read(x + a.half + i, n);
        write(y + i, x1 * c - x2 * s, n);
        write(y + a.half + i, x2 * c + x1 * s, n);
      }
    }
  }
};

// Eight table entries, each twice.
PRIMUS_INLINE F16 twice(F16 t) {
  return {__builtin_shufflevector(t.v, t.v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)};
}
PRIMUS_INLINE F16 swap_pairs(F16 t) {
  return {__builtin_shufflevector(t.v, t.v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)};
}

template <class X>
struct InterleavedBody {
  static void run(const RopeHeads<X>& a, const float* cos, const float* sin, float sign) {
    const F16 alternate = {f32x16{-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1}};
    for (int64_t i = 0; i < a.half; i += kLanes / 2) {
      const int64_t n = smaller(kLanes / 2, a.half - i);
      const F16 c = twice(load_first(cos + i, n));
      const F16 s = twice(load_first(sin + i, n)) * alternate * splat(sign);
      for (int64_t h = 0; h < a.num_heads; ++h) {
        const F16 x = read(a.x + h * a.x_stride + 2 * i, 2 * n);
        write(a.y + h * a.y_stride + 2 * i, x * c + swap_pairs(x) * s, 2 * n);
      }
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
