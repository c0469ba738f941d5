// The tile kernels in AVX-512: float words by fused multiply-add, bf16 pairs by vdpbf16ps.
#include "primus/kernels/attention_tile.h"

#if defined(__x86_64__)
#include <algorithm>
#include <immintrin.h>
#include <limits>

#include "primus/kernels/turn_words.h"

#define PRIMUS_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))
#define PRIMUS_AVX512_BF16_INLINE PRIMUS_AVX512_BF16 inline __attribute__((always_inline))

namespace primus::kernels::tile {
namespace {

constexpr int kLanes = 16;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// The float table runs on CPUs without bf16 instructions: it must contain none, although it shares this target
// attribute. Only code under `if constexpr (pairs)` uses them, and a compiler never makes vdpbf16ps out of float
// arithmetic.
template <bool pairs>
PRIMUS_AVX512_BF16_INLINE __m512 multiply_add(__m512 c, __m512i a, __m512i b) {
  if constexpr (pairs) {
    return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  } else {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), c);
  }
}

// c [rows, 16 vectors] (+)= a [rows, depth] b [depth, 16 vectors], held in registers.
template <bool pairs, int rows, int vectors>
PRIMUS_AVX512_BF16 void block(const Word* a, int64_t a_stride, const Word* b, int64_t b_stride, float* c,
                              int64_t c_stride, int depth, bool accumulate) {
  __m512 sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      sum[r][v] = accumulate ? _mm512_loadu_ps(c + r * c_stride + v * kLanes) : _mm512_setzero_ps();
    }
  }
  for (int k = 0; k < depth; ++k) {
    __m512i right[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) right[v] = _mm512_loadu_si512(b + k * b_stride + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a[r * a_stride + k]));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = multiply_add<pairs>(sum[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) _mm512_storeu_ps(c + r * c_stride + v * kLanes, sum[r][v]);
  }
}

// All rows of one group of columns: as many rows at once as the 32 registers hold, then 4, 2, 1.
template <bool pairs, int most_rows, int vectors>
PRIMUS_AVX512_BF16 void columns(const Word* a, int64_t a_stride, const Word* b, int64_t b_stride, float* c,
                                int64_t c_stride, int m, int depth, bool accumulate) {
  int r = 0;
  const auto run = [&](auto kernel, int count) {
    kernel(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, depth, accumulate);
    r += count;
  };
  while (m - r >= most_rows) run(&block<pairs, most_rows, vectors>, most_rows);
  while (m - r >= 4) run(&block<pairs, 4, vectors>, 4);
  if (m - r >= 2) run(&block<pairs, 2, vectors>, 2);
  if (m - r >= 1) run(&block<pairs, 1, vectors>, 1);
}

template <bool pairs>
void product(const Word* a, int64_t a_stride, const Word* b, int64_t b_stride, float* c, int64_t c_stride, int m, int n,
             int depth, bool accumulate) {
  int j = 0;
  for (; j + 64 <= n; j += 64)
    columns<pairs, 6, 4>(a, a_stride, b + j, b_stride, c + j, c_stride, m, depth, accumulate);
  if (n - j >= 48) {
    columns<pairs, 8, 3>(a, a_stride, b + j, b_stride, c + j, c_stride, m, depth, accumulate);
    j += 48;
  }
  if (n - j >= 32) {
    columns<pairs, 12, 2>(a, a_stride, b + j, b_stride, c + j, c_stride, m, depth, accumulate);
    j += 32;
  }
  if (n - j >= 16) columns<pairs, 12, 1>(a, a_stride, b + j, b_stride, c + j, c_stride, m, depth, accumulate);
}

// 2^x, relative error 7.5e-8 (float words) or 2.6e-6 (rounded to bf16 anyway); 0 far below, NaN stays NaN.
// Coefficients: least maximum relative error on [-0.5, 0.5].
template <bool pairs>
PRIMUS_AVX512_BF16_INLINE __m512 exp2(__m512 x) {
  const __m512 bounded = _mm512_max_ps(_mm512_set1_ps(-200.0f), x);
  const __m512 whole = _mm512_roundscale_ps(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(bounded, whole);
  __m512 p;
  if constexpr (pairs) {
    p = _mm512_set1_ps(0.009570101276f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.055917862803f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240247443318f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693121790886f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.999999284744f));
  } else {
    p = _mm512_set1_ps(0.001327647129f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.009675541893f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.055507130921f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240221202374f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693146944046f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.000000119209f));
  }
  return _mm512_scalef_ps(p, whole);
}

struct LaneMask {
  __m512i low, high;
};
PRIMUS_AVX512_BF16_INLINE __mmask16 visible(const LaneMask& mask, int key) {
  const __m512i position = _mm512_set1_epi32(key);
  return _mm512_mask_cmpgt_epi32_mask(_mm512_cmple_epi32_mask(mask.low, position), mask.high, position);
}

// (low half: lane of `first`, high half: lane of `second`) for each lane.
PRIMUS_AVX512_BF16_INLINE __m512i interleave(__m512 first, __m512 second) {
  const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, both);
}

template <bool pairs>
PRIMUS_AVX512_BF16 void forward_step(const ForwardStep& s) {
  const __m512 scale = _mm512_set1_ps(s.scale);
  const bool masked = s.mask.low != nullptr;
  for (int lane = 0; lane < kQueries; lane += kLanes) {
    float* scores = s.scores + lane;
    LaneMask mask{};
    if (masked) mask = {_mm512_loadu_si512(s.mask.low + lane), _mm512_loadu_si512(s.mask.high + lane)};
    __m512 top = _mm512_set1_ps(kMinusInfinity);
    for (int key = 0; key < s.keys; ++key) {
      __m512 x = _mm512_loadu_ps(scores + key * kQueries);
      if (masked) {
        x = _mm512_mask_mov_ps(_mm512_set1_ps(kMinusInfinity), visible(mask, s.mask.first_key + key), x);
        _mm512_storeu_ps(scores + key * kQueries, x);
      }
      top = _mm512_max_ps(top, x);
    }
    const __m512 old_max = _mm512_loadu_ps(s.max + lane);
    const __m512 new_max = _mm512_max_ps(old_max, _mm512_mul_ps(top, scale));
    // A lane that has seen no key yet: any finite reference does, all its probabilities are 2^-inf.
    const __mmask16 nothing = _mm512_cmp_ps_mask(new_max, _mm512_set1_ps(kMinusInfinity), _CMP_EQ_OQ);
    const __m512 reference = _mm512_mask_mov_ps(new_max, nothing, _mm512_setzero_ps());
    const __m512 minus_reference = _mm512_sub_ps(_mm512_setzero_ps(), reference);
    __m512 sum = _mm512_loadu_ps(s.sum + lane);
    if (_mm512_cmp_ps_mask(new_max, old_max, _CMP_NEQ_UQ) != 0) {
      const __m512 shrink = exp2<false>(_mm512_sub_ps(old_max, reference));
      sum = _mm512_mul_ps(sum, shrink);
      for (int r = 0; r < s.out_rows; ++r) {
        float* out = s.out + r * kQueries + lane;
        _mm512_storeu_ps(out, _mm512_mul_ps(_mm512_loadu_ps(out), shrink));
      }
      _mm512_storeu_ps(s.max + lane, new_max);
    }
    const auto probability = [&](int key) PRIMUS_AVX512_BF16 {
      return exp2<pairs>(_mm512_fmadd_ps(_mm512_loadu_ps(scores + key * kQueries), scale, minus_reference));
    };
    const auto kept = [&](__m512 p, int key) PRIMUS_AVX512_BF16 {
      return s.keep_scale ? _mm512_mul_ps(p, _mm512_loadu_ps(s.keep_scale + key * kQueries + lane)) : p;
    };
    if constexpr (pairs) {
      for (int key = 0; key < s.keys; key += 2) {
        const bool has_second = key + 1 < s.keys;
        const __m512 first = probability(key);
        const __m512 second = has_second ? probability(key + 1) : _mm512_setzero_ps();
        sum = _mm512_add_ps(sum, _mm512_add_ps(first, second));
        const __m512i words = interleave(kept(first, key), has_second ? kept(second, key + 1) : second);
        _mm512_storeu_si512(s.probabilities + (key / 2) * kQueries + lane, words);
      }
    } else {
      for (int key = 0; key < s.keys; ++key) {
        const __m512 p = probability(key);
        sum = _mm512_add_ps(sum, p);
        _mm512_storeu_ps(reinterpret_cast<float*>(s.probabilities) + key * kQueries + lane, kept(p, key));
      }
    }
    _mm512_storeu_ps(s.sum + lane, sum);
  }
}

// Probabilities and score gradients of 16 queries at one key.
struct Point {
  __m512 p, ds;
};
template <bool pairs>
PRIMUS_AVX512_BF16_INLINE Point point(const BackwardStep& s, int key, int lane, const LaneMask& mask) {
  const int64_t at = key * kQueries + lane;
  const __m512 scale2 = _mm512_set1_ps(s.scale * 1.44269504f);
  const __m512 x = _mm512_loadu_ps(s.scores + at);
  __m512 p = exp2<pairs>(_mm512_fmsub_ps(x, scale2, _mm512_loadu_ps(s.lse2 + lane)));
  if (s.mask.low != nullptr) p = _mm512_maskz_mov_ps(visible(mask, s.mask.first_key + key), p);
  __m512 dp = _mm512_loadu_ps(s.dprobabilities + at);
  __m512 p_kept = p;
  if (s.keep_scale != nullptr) {
    const __m512 keep = _mm512_loadu_ps(s.keep_scale + at);
    dp = _mm512_mul_ps(dp, keep);
    p_kept = _mm512_mul_ps(p, keep);
  }
  const __m512 ds =
      _mm512_mul_ps(_mm512_mul_ps(p, _mm512_set1_ps(s.scale)), _mm512_sub_ps(dp, _mm512_loadu_ps(s.delta + lane)));
  return {p_kept, ds};
}

PRIMUS_AVX512_BF16 void backward_step_pairs(const BackwardStep& s) {
  constexpr int kRowWords = kQueries / 2;
  for (int lane = 0; lane < kQueries; lane += 2 * kLanes) {
    LaneMask left{}, right{};
    if (s.mask.low != nullptr) {
      left = {_mm512_loadu_si512(s.mask.low + lane), _mm512_loadu_si512(s.mask.high + lane)};
      right = {_mm512_loadu_si512(s.mask.low + lane + kLanes), _mm512_loadu_si512(s.mask.high + lane + kLanes)};
    }
    const auto store_row = [&](int key, const Point& l, const Point& r) PRIMUS_AVX512_BF16 {
      const int64_t at = key * kRowWords + lane / 2;
      _mm512_storeu_si512(s.p_rows + at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(r.p, l.p)));
      _mm512_storeu_si512(s.ds_rows + at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(r.ds, l.ds)));
    };
    for (int key = 0; key < s.keys; key += 2) {
      const Point l0 = point<true>(s, key, lane, left);
      const Point r0 = point<true>(s, key, lane + kLanes, right);
      store_row(key, l0, r0);
      Point l1{_mm512_setzero_ps(), _mm512_setzero_ps()};
      Point r1 = l1;
      if (key + 1 < s.keys) {
        l1 = point<true>(s, key + 1, lane, left);
        r1 = point<true>(s, key + 1, lane + kLanes, right);
        store_row(key + 1, l1, r1);
      }
      Word* words = s.ds_pairs + (key / 2) * kQueries + lane;
      _mm512_storeu_si512(words, interleave(l0.ds, l1.ds));
      _mm512_storeu_si512(words + kLanes, interleave(r0.ds, r1.ds));
    }
  }
}

PRIMUS_AVX512_BF16 void backward_step_floats(const BackwardStep& s) {
  for (int lane = 0; lane < kQueries; lane += kLanes) {
    LaneMask mask{};
    if (s.mask.low != nullptr) mask = {_mm512_loadu_si512(s.mask.low + lane), _mm512_loadu_si512(s.mask.high + lane)};
    for (int key = 0; key < s.keys; ++key) {
      const Point at = point<false>(s, key, lane, mask);
      const int64_t to = key * kQueries + lane;
      _mm512_storeu_ps(reinterpret_cast<float*>(s.p_rows) + to, at.p);
      _mm512_storeu_ps(reinterpret_cast<float*>(s.ds_rows) + to, at.ds);
      _mm512_storeu_ps(reinterpret_cast<float*>(s.ds_pairs) + to, at.ds);
    }
  }
}

PRIMUS_AVX512_BF16 void transpose_square(const Word* from, int64_t from_stride, Word* to, int64_t to_stride) {
  __m512i square[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) square[i] = _mm512_loadu_si512(from + i * from_stride);
  turn_words(square);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * to_stride, square[i]);
}

void transpose(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int rows, int columns) {
  const int whole_rows = rows / 16 * 16;
  const int whole_columns = columns / 16 * 16;
  for (int r = 0; r < whole_rows; r += 16) {
    for (int c = 0; c < whole_columns; c += 16) {
      transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace

const Kernels& avx512_float_kernels() {
  static constexpr Kernels table{1, &product<false>, &forward_step<false>, &backward_step_floats, &transpose};
  return table;
}

const Kernels& avx512_bf16_kernels() {
  static constexpr Kernels table{2, &product<true>, &forward_step<true>, &backward_step_pairs, &transpose};
  return table;
}

}  // namespace primus::kernels::tile
#endif
