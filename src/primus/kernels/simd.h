// Internal to the kernels' sources: sixteen-lane arithmetic by the compilers' vector extensions, and the choice between
// the AVX-512 and the portable compilation of one and the same kernel body.
//
//   struct Body { static PRIMUS_INLINE void run(args...) { ... F16 ... } };     // written once
//   run_best<Body>(args...);                                                     // compiled twice, chosen at run time
//
// Both compilations do the same operations in the same order (except that the compiler may contract a*b+c where the
// machine has fused multiply-add). bf16 conversions round to nearest even by integer arithmetic, as libtorch does.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno")  // lets sqrt loops become vector instructions
#endif

#define PRIMUS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define PRIMUS_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#else
#define PRIMUS_AVX512
#endif

namespace primus::kernels::simd {

using f32x16 = float __attribute__((vector_size(64)));
using i32x16 = int32_t __attribute__((vector_size(64)));
using u32x16 = uint32_t __attribute__((vector_size(64)));
using u16x16 = uint16_t __attribute__((vector_size(32)));

// The bits of a bfloat16: what kernels see in place of c10::BFloat16.
struct Bf16 {
  uint16_t bits;
};

// Vectors travel inside structs: bare 64-byte vectors as arguments would change the calling convention with the target.
struct F16 {
  f32x16 v;
};
struct U16 {
  u32x16 v;
};

inline constexpr int64_t kLanes = 16;

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
// a*b + c; fused where the compiler can.
PRIMUS_INLINE F16 multiply_add(F16 a, F16 b, F16 c) {
  return {a.v * b.v + c.v};
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
#if defined(__clang__)
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

PRIMUS_INLINE F16 load(const Bf16* p) {
  u16x16 half;
  std::memcpy(&half, p, sizeof half);
  const u32x16 wide = __builtin_convertvector(half, u32x16) << 16;
  F16 r;
  std::memcpy(&r.v, &wide, sizeof wide);
  return r;
}
PRIMUS_INLINE void store(Bf16* p, F16 x) {
  u32x16 bits;
  std::memcpy(&bits, &x.v, sizeof bits);
  const u32x16 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const i32x16 is_nan = x.v != x.v;
  const u32x16 result = is_nan ? u32x16{} + 0x7fc0 : rounded;
  const u16x16 half = __builtin_convertvector(result, u16x16);
  std::memcpy(p, &half, sizeof half);
}

// The first n lanes, the rest zero; n in 1..16. Tails go through the same arithmetic as whole vectors.
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
  alignas(64) float a[kLanes];
  store(a, x);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) a[i] += a[i + width];
  }
  return a[0];
}

// e^x, about 1 ulp in [-87.3, 88.3], clamped outside; NaN stays NaN. Cody-Waite reduction and a degree-6 polynomial.
PRIMUS_INLINE F16 exponential(F16 x) {
  const F16 t = clamp(x, -87.33654F, 88.37626F);
  const F16 magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to the nearest integer
  const F16 shifted = multiply_add(t, splat(1.44269504F), magic);
  const F16 n = shifted - magic;
  const F16 r = multiply_add(n, splat(2.12194440e-4F), multiply_add(n, splat(-0.693359375F), t));
  F16 p = splat(1.9875691500e-4F);
  p = multiply_add(p, r, splat(1.3981999507e-3F));
  p = multiply_add(p, r, splat(8.3334519073e-3F));
  p = multiply_add(p, r, splat(4.1665795894e-2F));
  p = multiply_add(p, r, splat(1.6666665459e-1F));
  p = multiply_add(p, r, splat(5.0000001201e-1F));
  p = multiply_add(p, r * r, r) + splat(1.0F);
  u32x16 bits;
  std::memcpy(&bits, &shifted.v, sizeof bits);
  bits = (bits - 0x4b400000 + 127) << 23;
  F16 scale;
  std::memcpy(&scale.v, &bits, sizeof bits);
  return p * scale;
}

// 1 / (1 + e^-x).
PRIMUS_INLINE F16 sigmoid(F16 x) {
  return splat(1.0F) / (splat(1.0F) + exponential(splat(0.0F) - x));
}

// PRIMUS_PORTABLE_KERNELS=1 in the environment: the portable compilation, to test it or to rule the other out.
inline bool has_avx512() {
#if defined(__x86_64__)
  static const bool has = std::getenv("PRIMUS_PORTABLE_KERNELS") == nullptr && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("avx512dq") != 0;
  return has;
#else
  return false;
#endif
}

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
