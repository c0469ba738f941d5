// Panels and tiles of the tiled products in AVX-512: float words by fused multiply-add, bf16 pairs by vdpbf16ps.
#include "primus/kernels/gemm_panels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "primus/kernels/turn_words.h"

#define PRIMUS_PANELS_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))
#define PRIMUS_PANELS_INLINE PRIMUS_PANELS_TARGET inline __attribute__((always_inline))

namespace primus::kernels::panels {
namespace {

constexpr int64_t kLanes = 16;

// The float table runs on CPUs without bf16 instructions: only code under `if constexpr (pairs)` uses them.
template <bool pairs>
PRIMUS_PANELS_INLINE __m512 multiply_add(__m512 sum, __m512i a, __m512i b) {
  if constexpr (pairs) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  } else {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
  }
}

PRIMUS_PANELS_INLINE __mmask16 first_lanes(int64_t count) {
  return count >= kLanes ? 0xffff : static_cast<__mmask16>((1u << std::max<int64_t>(0, count)) - 1);
}

template <bool pairs>
PRIMUS_PANELS_INLINE void store(__m512 value, const Target& to, int64_t row, int64_t column, int64_t columns) {
  const __mmask16 mask = first_lanes(columns - column);
  const int64_t at = row * to.stride + column;
  if (to.add != nullptr) {
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, to.add + row * to.add_stride + column));
  }
  if (to.sum != nullptr) {
    // Whole vectors without a mask: masked stores are slow on some CPUs.
    if (mask == 0xffff) {
      _mm512_storeu_ps(to.sum + at, value);
    } else {
      _mm512_mask_storeu_ps(to.sum + at, mask, value);
    }
  } else if constexpr (pairs) {
    const __m256i rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
    _mm256_mask_storeu_epi16(static_cast<uint16_t*>(to.rounded) + at, mask, rounded);
  }
}

PRIMUS_PANELS_INLINE __m512i broadcast(const char* word) {
  int value;  // rows of bf16 need not start at whole words
  std::memcpy(&value, word, sizeof value);
  return _mm512_set1_epi32(value);
}

template <bool pairs, bool from_panel, int rows, int vectors>
PRIMUS_PANELS_TARGET void multiply_tile(const char* a, int64_t a_bytes, const Word* b, int64_t words, const Target& to,
                                        int64_t columns) {
  __m512 sum[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      sum[r][v] = _mm512_setzero_ps();
      if (to.sum != nullptr) __builtin_prefetch(to.sum + r * to.stride + v * kLanes, 1);
    }
  }
  const int64_t row_step = from_panel ? sizeof(Word) : a_bytes;
  const int64_t word_step = (from_panel ? kRowPanel : 1) * sizeof(Word);
  for (int64_t k = 0; k < words; ++k, a += word_step, b += kTileColumns) {
    __m512i right[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) right[v] = _mm512_load_si512(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const __m512i left = broadcast(a + r * row_step);
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sum[r][v] = multiply_add<pairs>(sum[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) store<pairs>(sum[r][v], to, r, v * kLanes, columns);
  }
}

using Tile = void (*)(const char* a, int64_t a_bytes, const Word* b, int64_t words, const Target& to, int64_t columns);

template <bool pairs, bool from_panel, int... r>
Tile tile_for(std::integer_sequence<int, r...>, int64_t rows, int64_t vectors) {
  static constexpr Tile tiles[][3] = {{&multiply_tile<pairs, from_panel, r + 1, 1>,
                                       &multiply_tile<pairs, from_panel, r + 1, 2>,
                                       &multiply_tile<pairs, from_panel, r + 1, 3>}...};
  return tiles[rows - 1][vectors - 1];
}

template <bool pairs>
void multiply(const void* a, int64_t a_bytes, const Word* b, int64_t words, const Target& to, int64_t rows,
              int64_t columns) {
  constexpr std::make_integer_sequence<int, kTileRows> kAllRows;
  const int64_t vectors = (columns + kLanes - 1) / kLanes;
  const Tile tile =
      a_bytes == 0 ? tile_for<pairs, true>(kAllRows, rows, vectors) : tile_for<pairs, false>(kAllRows, rows, vectors);
  tile(static_cast<const char*>(a), a_bytes, b, words, to, columns);
}

// Loads `count` elements, zeros behind them; what lies behind is not read.
template <bool pairs>
PRIMUS_PANELS_INLINE __m512i load_first(const void* from, int64_t count) {
  if (count >= (pairs ? 32 : 16)) return _mm512_loadu_si512(from);
  const auto mask = static_cast<uint32_t>((uint64_t{1} << std::max<int64_t>(0, count)) - 1);
  if constexpr (pairs) return _mm512_maskz_loadu_epi16(mask, from);
  return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from);
}

// One to 16 lanes whose elements lie side by side along the summed dim: blocks of 16 words are turned. The same place
// of the next panel, `ahead` bytes away, is fetched meanwhile.
template <bool pairs>
PRIMUS_PANELS_TARGET void pack_turned(const char* from, int64_t lane_bytes, int64_t lanes, int64_t depth, int64_t width,
                                      int64_t ahead, Word* to) {
  constexpr int64_t kPerWord = pairs ? 2 : 1;
  const int64_t words = (depth + kPerWord - 1) / kPerWord;
  for (int64_t w = 0; w < words; w += kLanes) {
    __m512i block[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      block[i] = _mm512_setzero_si512();
      if (i >= lanes) continue;
      const char* at = from + i * lane_bytes + w * 4;
      block[i] = load_first<pairs>(at, depth - w * kPerWord);
      __builtin_prefetch(at + ahead);
    }
    turn_words(block);
    if (words - w >= kLanes) {
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) _mm512_store_si512(to + (w + i) * width, block[i]);
    } else {
      for (int i = 0; i < words - w; ++i) _mm512_store_si512(to + (w + i) * width, block[i]);
    }
  }
}

// One to 16 lanes that lie side by side. The elements `ahead` bytes away are fetched meanwhile.
template <bool pairs>
PRIMUS_PANELS_TARGET void pack_rows(const char* from, int64_t depth_bytes, int64_t lanes, int64_t depth, int64_t width,
                                    int64_t ahead, Word* to) {
  const __mmask16 mask = first_lanes(lanes);
  for (int64_t k = 0; k < depth; k += pairs ? 2 : 1, to += width) {
    const char* at = from + k * depth_bytes;
    __builtin_prefetch(at + ahead);
    if constexpr (pairs) {
      __m512i words = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at));
      if (k + 1 < depth) {
        __builtin_prefetch(at + depth_bytes + ahead);
        const __m512i second = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at + depth_bytes));
        words = _mm512_or_si512(words, _mm512_slli_epi32(second, 16));
      }
      _mm512_store_si512(to, words);
    } else {
      _mm512_store_si512(to, _mm512_maskz_loadu_epi32(mask, at));
    }
  }
}

template <bool pairs>
void pack(const Source& from, int64_t lanes, int64_t width, int64_t depth, Word* to) {
  constexpr int64_t kPerWord = pairs ? 2 : 1, kBytes = 4 / kPerWord;
  const bool turned = from.depth_stride == 1;
  const int64_t words = (depth + kPerWord - 1) / kPerWord;
  const int64_t lane_bytes = from.lane_stride * kBytes, depth_bytes = from.depth_stride * kBytes;
  // Rows are walked a few at a time along all panels: their pages stay known and their lines are used whole.
  const int64_t chunk = turned ? words : 16;
  for (int64_t w = 0; w < words; w += chunk) {
    const int64_t count = std::min(chunk * kPerWord, depth - w * kPerWord);
    for (int64_t lane = 0; lane < lanes; lane += kLanes) {
      const char* at = static_cast<const char*>(from.data) + lane * lane_bytes + w * kPerWord * depth_bytes;
      Word* out = to + lane / width * width * words + w * width + lane % width;
      const int64_t held = std::min(kLanes, lanes - lane);
      if (turned) {
        pack_turned<pairs>(at, lane_bytes, held, count, width, kLanes * lane_bytes, out);
      } else {
        pack_rows<pairs>(at, depth_bytes, held, count, width, chunk * kPerWord * depth_bytes, out);
      }
    }
  }
}

}  // namespace

const Kernels& avx512_float_kernels() {
  static constexpr Kernels table{1, &pack<false>, &multiply<false>};
  return table;
}

const Kernels& avx512_bf16_kernels() {
  static constexpr Kernels table{2, &pack<true>, &multiply<true>};
  return table;
}

}  // namespace primus::kernels::panels
#endif
