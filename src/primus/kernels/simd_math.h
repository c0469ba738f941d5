// Internal to the loops' bodies: roots, exponentials, sums over lanes.
#pragma once

#include "primus/kernels/simd_memory.h"

namespace primus::kernels::simd {

inline namespace PRIMUS_LANES {

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

}  // namespace PRIMUS_LANES

}  // namespace primus::kernels::simd
