// Internal to the loops' bodies: arithmetic on sixteen lanes by the compilers' vector extensions, and by intrinsics
// where those would give bad code. Included by the sources that are compiled once per instruction set (see loops.h).
// All compilations do the same operations in the same order, except that multiply_add rounds once where the machine has
// a fused instruction. bf16 conversions round to nearest even by integer arithmetic, as libtorch does.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12 warns about its own header (PR 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

#include "primus/kernels/loop_arguments.h"

#define PRIMUS_INLINE inline __attribute__((always_inline))
// Nothing compiled for one instruction set may be merged with its namesake of another by the linker.
#if defined(__AVX512F__)
#define PRIMUS_LANES avx512
#else
#define PRIMUS_LANES portable
#endif

namespace primus::kernels::simd {

inline namespace PRIMUS_LANES {

using f32x16 = float __attribute__((vector_size(64)));
using i32x16 = int32_t __attribute__((vector_size(64)));
using u32x16 = uint32_t __attribute__((vector_size(64)));
using u16x16 = uint16_t __attribute__((vector_size(32)));

using u32x8 = uint32_t __attribute__((vector_size(32)));
using i64x8 = int64_t __attribute__((vector_size(64)));
using u64x8 = uint64_t __attribute__((vector_size(64)));
using f32x8 = float __attribute__((vector_size(32)));
using f64x8 = double __attribute__((vector_size(64)));

// Vectors travel inside structs: bare 64-byte vectors as arguments would change the calling convention with the target.
struct F16 {
  f32x16 v;
};
struct D8 {
  f64x8 v;
};

constexpr int64_t kLanes = 16;

PRIMUS_INLINE int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

PRIMUS_INLINE F16 splat(float x) {
  return {x - f32x16{}};
}
PRIMUS_INLINE F16 operator+(F16 a, F16 b) {
  return {a.v + b.v};
}
PRIMUS_INLINE F16 operator-(F16 a, F16 b) {
  return {a.v - b.v};
}
PRIMUS_INLINE F16 operator*(F16 a, F16 b) {
  return {a.v * b.v};
}
PRIMUS_INLINE F16 operator/(F16 a, F16 b) {
  return {a.v / b.v};
}
PRIMUS_INLINE F16& operator+=(F16& a, F16 b) {
  return a = a + b;
}
// a*b + c, with one rounding where the machine can.
PRIMUS_INLINE F16 multiply_add(F16 a, F16 b, F16 c) {
#if defined(__AVX512F__)
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
#else
  return {a.v * b.v + c.v};
#endif
}
// Lane-wise a < b ? x : y.
PRIMUS_INLINE F16 select_less(F16 a, F16 b, F16 x, F16 y) {
  return {a.v < b.v ? x.v : y.v};
}
// Lanes from n on become zero.
PRIMUS_INLINE F16 keep_first(F16 x, int64_t n) {
  const i32x16 index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return {index < static_cast<int32_t>(n) ? x.v : f32x16{}};
}
// Bounds that let NaN through.
PRIMUS_INLINE F16 clamp(F16 x, float low, float high) {
  const F16 lo = splat(low);
  const F16 hi = splat(high);
  const F16 raised = select_less(x, lo, lo, x);
  return select_less(hi, raised, hi, raised);
}

}  // namespace PRIMUS_LANES

}  // namespace primus::kernels::simd
