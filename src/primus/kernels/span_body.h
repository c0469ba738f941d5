// Internal, compiled once per instruction set (see loops.h): flat spans: casts, sums, products, sums of squares.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

struct Copy {
  PRIMUS_INLINE F16 operator()(F16 /*old*/, F16 x) const { return x; }
};
struct Add {
  PRIMUS_INLINE F16 operator()(F16 old, F16 x) const { return old + x; }
};
struct Scale {
  float factor;
  PRIMUS_INLINE F16 operator()(F16 /*old*/, F16 x) const { return x * splat(factor); }
};

// target[i] = op(target[i], source[i]).
template <class T, class S, class Op>
PRIMUS_INLINE void map(T* target, const S* source, int64_t count, Op op) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(target + i, op(load(target + i), load(source + i)));
  const int64_t n = count - i;
  if (n > 0) store_first(target + i, op(load_first(target + i, n), load_first(source + i, n)), n);
}
template <class T, class S>
void convert(T* target, const S* source, int64_t count) {
  map(target, source, count, Copy{});
}
template <class S>
void add_to_float(float* target, const S* source, int64_t count) {
  map(target, source, count, Add{});
}
template <class X>
void scale(X* target, float factor, int64_t count) {
  map(target, static_cast<const X*>(target), count, Scale{factor});
}

template <class X>
float dot(const X* a, const X* b, int64_t n) {
  F16 sum = splat(0);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum = multiply_add(load(a + i), load(b + i), sum);
  if (i < n) sum = multiply_add(load_first(a + i, n - i), load_first(b + i, n - i), sum);
  return sum_lanes(sum);
}

PRIMUS_INLINE u32x16 pair_words(u16x16 low, u16x16 high) {
#if defined(__AVX512F__)
  __m256i halves[2];
  std::memcpy(halves, &low, sizeof low);
  std::memcpy(halves + 1, &high, sizeof high);
  const __m512i pairs =
      _mm512_or_si512(_mm512_cvtepu16_epi32(halves[0]), _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves[1]), 16));
  u32x16 words;
  std::memcpy(&words, &pairs, sizeof words);
  return words;
#else
  return __builtin_convertvector(low, u32x16) | (__builtin_convertvector(high, u32x16) << 16);
#endif
}
inline void pair_rows(const Bf16* low, const Bf16* high, uint32_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto num_bytes = static_cast<size_t>(smaller(kLanes, n - i)) * sizeof(Bf16);
    u16x16 a{};
    u16x16 b{};
    if (num_bytes == sizeof a) {
      std::memcpy(&a, low + i, sizeof a);
      if (high != nullptr) std::memcpy(&b, high + i, sizeof b);
    } else {
      std::memcpy(&a, low + i, num_bytes);
      if (high != nullptr) std::memcpy(&b, high + i, num_bytes);
    }
    const u32x16 words = pair_words(a, b);
    std::memcpy(to + i, &words, sizeof words);
  }
}

PRIMUS_INLINE D8 add_squares(D8 sum, F16 x, bool upper) {
  const f32x8 half = upper ? __builtin_shufflevector(x.v, x.v, 8, 9, 10, 11, 12, 13, 14, 15)
                           : __builtin_shufflevector(x.v, x.v, 0, 1, 2, 3, 4, 5, 6, 7);
  const f64x8 wide = __builtin_convertvector(half, f64x8);
  return {sum.v + wide * wide};
}

PRIMUS_INLINE double sum_lanes(D8 x) {
  alignas(64) double a[8];
  std::memcpy(a, &x.v, sizeof a);
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

// out[block] for blocks first..last. A square of an fp32 value is exact in double, so fused arithmetic changes nothing.
template <class X>
struct SquareSumBody {
  static void run(const X* x, int64_t numel, int64_t block_size, double* out, int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t end = smaller(numel, (block + 1) * block_size);
      D8 low0 = {f64x8{}};
      D8 high0 = low0;
      D8 low1 = low0;
      D8 high1 = low0;
      int64_t i = block * block_size;
      for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
        const F16 a = load(x + i);
        const F16 b = load(x + i + kLanes);
        low0 = add_squares(low0, a, false);
        high0 = add_squares(high0, a, true);
        low1 = add_squares(low1, b, false);
        high1 = add_squares(high1, b, true);
      }
      for (; i < end; i += kLanes) {
        const F16 a = load_first(x + i, smaller(kLanes, end - i));
        low0 = add_squares(low0, a, false);
        high0 = add_squares(high0, a, true);
      }
      out[block] = sum_lanes(D8{(low0.v + high0.v) + (low1.v + high1.v)});
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
