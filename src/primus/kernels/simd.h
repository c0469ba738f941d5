// Internal to the loops' bodies: arithmetic on sixteen lanes by the compilers' vector extensions, and by intrinsics where
// those would give bad code. Included by the sources that are compiled once per instruction set (see loops.h).
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

namespace primus::kernels::simd {

// Nothing compiled for one instruction set may be merged with its namesake of another by the linker.
#if defined(__AVX512F__)
inline namespace avx512 {
#else
inline namespace portable {
#endif

using f32x16 = float __attribute__((vector_size(64)));
using i32x16 = int32_t __attribute__((vector_size(64)));
using u32x16 = uint32_t __attribute__((vector_size(64)));
using u16x16 = uint16_t __attribute__((vector_size(32)));

using f32x8 = float __attribute__((vector_size(32)));
using f64x8 = double __attribute__((vector_size(64)));

// Vectors travel inside structs: bare 64-byte vectors as arguments would change the calling convention with the target.
struct F16 {
  f32x16 v;
};
struct U16 {
  u32x16 v;
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

PRIMUS_INLINE F16 square_root(F16 x) {
#if defined(__AVX512F__)
  return {_mm512_sqrt_ps(x.v)};
#elif defined(__clang__)
  return {__builtin_elementwise_sqrt(x.v)};
#else
  alignas(64) float lanes[kLanes];
  std::memcpy(lanes, &x.v, sizeof lanes);
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = __builtin_sqrtf(lanes[i]);
  F16 root;
  std::memcpy(&root.v, lanes, sizeof lanes);
  return root;
#endif
}

PRIMUS_INLINE F16 load(const float* p) {
  F16 r;
  std::memcpy(&r.v, p, sizeof r.v);
  return r;
}
PRIMUS_INLINE void store(float* p, F16 x) {
  std::memcpy(p, &x.v, sizeof x.v);
}

PRIMUS_INLINE D8 square_root(D8 x) {
#if defined(__AVX512F__)
  return {_mm512_sqrt_pd(x.v)};
#else
  alignas(64) double lanes[8];
  std::memcpy(lanes, &x.v, sizeof lanes);
  for (double& lane : lanes) lane = __builtin_sqrt(lane);
  D8 root;
  std::memcpy(&root.v, lanes, sizeof lanes);
  return root;
#endif
}

PRIMUS_INLINE F16 from_bf16(u16x16 half) {
#if defined(__AVX512F__)
  __m256i bits;
  std::memcpy(&bits, &half, sizeof bits);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
#else
  const u32x16 wide = __builtin_convertvector(half, u32x16) << 16;
  F16 r;
  std::memcpy(&r.v, &wide, sizeof wide);
  return r;
#endif
}
PRIMUS_INLINE u16x16 to_bf16(F16 x) {
  u32x16 bits;
  std::memcpy(&bits, &x.v, sizeof bits);
  u16x16 half;
#if defined(__AVX512F__)
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(_mm512_castps_si512(x.v), 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_castps_si512(x.v), _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i rounded = _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
  const __m256i narrow = _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
  std::memcpy(&half, &narrow, sizeof half);
#else
  const u32x16 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const i32x16 is_nan = x.v != x.v;
  const u32x16 result = is_nan ? u32x16{} + 0x7fc0 : rounded;
  half = __builtin_convertvector(result, u16x16);
#endif
  return half;
}

PRIMUS_INLINE F16 load(const Bf16* p) {
  u16x16 half;
  std::memcpy(&half, p, sizeof half);
  return from_bf16(half);
}
PRIMUS_INLINE void store(Bf16* p, F16 x) {
  const u16x16 half = to_bf16(x);
  std::memcpy(p, &half, sizeof half);
}

// The first n lanes, the rest zero; n in 1..16. Tails go through the same arithmetic as whole vectors.
#if defined(__AVX512F__)
PRIMUS_INLINE __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>((1U << n) - 1U);
}
PRIMUS_INLINE F16 load_first(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
PRIMUS_INLINE void store_first(float* p, F16 x, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x.v);
}
PRIMUS_INLINE F16 load_first(const Bf16* p, int64_t n) {
  const __m256i half = _mm256_maskz_loadu_epi16(first_lanes(n), p);
  u16x16 lanes;
  std::memcpy(&lanes, &half, sizeof lanes);
  return from_bf16(lanes);
}
PRIMUS_INLINE void store_first(Bf16* p, F16 x, int64_t n) {
  const u16x16 lanes = to_bf16(x);
  __m256i half;
  std::memcpy(&half, &lanes, sizeof half);
  _mm256_mask_storeu_epi16(p, first_lanes(n), half);
}
#else
template <class T>
PRIMUS_INLINE F16 load_first(const T* p, int64_t n) {
  alignas(64) T lanes[kLanes] = {};
  __builtin_memcpy(lanes, p, static_cast<size_t>(n) * sizeof(T));
  return load(lanes);
}
template <class T>
PRIMUS_INLINE void store_first(T* p, F16 x, int64_t n) {
  alignas(64) T lanes[kLanes];
  store(lanes, x);
  __builtin_memcpy(p, lanes, static_cast<size_t>(n) * sizeof(T));
}
#endif

// The first n lanes, n in 1..16: whole vectors where the compiler sees that n is 16.
template <class T>
PRIMUS_INLINE F16 read(const T* p, int64_t n) {
  return n == kLanes ? load(p) : load_first(p, n);
}
template <class T>
PRIMUS_INLINE void write(T* p, F16 x, int64_t n) {
  if (n == kLanes) {
    store(p, x);
  } else {
    store_first(p, x, n);
  }
}

PRIMUS_INLINE float to_float(float x) {
  return x;
}
PRIMUS_INLINE float to_float(Bf16 x) {
  const uint32_t wide = uint32_t{x.bits} << 16;
  float r;
  std::memcpy(&r, &wide, sizeof r);
  return r;
}

// Sum over lanes in one fixed tree.
PRIMUS_INLINE float sum_lanes(F16 x) {
#if defined(__AVX512F__)
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
  alignas(64) float a[kLanes];
  store(a, x);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) a[i] += a[i + width];
  }
  return a[0];
#endif
}

// e^x within 1.2 ulp in [-87.3, 88.3], clamped outside; NaN stays NaN. x = n ln 2 + r by Cody and Waite; the polynomial
// has the least maximum relative error on |r| <= ln(2) / 2 among those of degree 6 that start with 1 + r.
PRIMUS_INLINE F16 exponential(F16 x) {
#if defined(__AVX512F__)
  const F16 t = {_mm512_min_ps(_mm512_set1_ps(88.37626F), _mm512_max_ps(_mm512_set1_ps(-87.33654F), x.v))};
#else
  const F16 t = clamp(x, -87.33654F, 88.37626F);
#endif
  const F16 magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to the nearest integer
  const F16 shifted = multiply_add(t, splat(1.44269504F), magic);
  const F16 n = shifted - magic;
  const F16 r = multiply_add(n, splat(2.12194440e-4F), multiply_add(n, splat(-0.693359375F), t));
  F16 p = splat(1.38206338e-3F);
  p = multiply_add(p, r, splat(8.36867373e-3F));
  p = multiply_add(p, r, splat(4.16682661e-2F));
  p = multiply_add(p, r, splat(1.66665211e-1F));
  p = multiply_add(p, r, splat(4.99999940e-1F));
  p = multiply_add(p, r, splat(1.0F));
  p = multiply_add(p, r, splat(1.0F));
#if defined(__AVX512F__)
  return {_mm512_scalef_ps(p.v, n.v)};
#else
  u32x16 bits;
  std::memcpy(&bits, &shifted.v, sizeof bits);
  bits = (bits - 0x4b400000 + 127) << 23;
  F16 scale;
  std::memcpy(&scale.v, &bits, sizeof bits);
  return p * scale;
#endif
}

// 1 / (1 + e^-x).
PRIMUS_INLINE F16 sigmoid(F16 x) {
  return splat(1.0F) / (splat(1.0F) + exponential(splat(0.0F) - x));
}

}  // namespace avx512, portable

#if defined(__x86_64__)
#define PRIMUS_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#else
#define PRIMUS_AVX512
#endif
bool has_avx512();
template <class Body, class... Args>
PRIMUS_AVX512 void run_avx512(Args... args) {
  Body::run(args...);
}
template <class Body, class... Args>
void run_portable(Args... args) {
  Body::run(args...);
}
template <class Body, class... Args>
void run_best(Args... args) {
  if (has_avx512()) {
    run_avx512<Body>(args...);
  } else {
    run_portable<Body>(args...);
  }
}

}  // namespace primus::kernels::simd
