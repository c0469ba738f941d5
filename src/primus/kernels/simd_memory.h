// Internal to the loops' bodies: lanes from and to memory, fp32 and bf16, whole vectors and tails.
#pragma once

#include "primus/kernels/simd.h"

namespace primus::kernels::simd {

inline namespace PRIMUS_LANES {

PRIMUS_INLINE F16 load(const float* p) {
  F16 r;
  std::memcpy(&r.v, p, sizeof r.v);
  return r;
}
PRIMUS_INLINE void store(float* p, F16 x) {
  std::memcpy(p, &x.v, sizeof x.v);
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
  const __m512i rounded =
      _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
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

}  // namespace PRIMUS_LANES

}  // namespace primus::kernels::simd
