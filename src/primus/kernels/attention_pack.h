// Internal to attention: rows of strided tensors to packed words and back.
#pragma once

#include <algorithm>
#include <cstring>

#include "primus/kernels/attention_tiled.h"
#include "primus/kernels/loops.h"

namespace primus::kernels {

// One head of a [B, T, H, D] tensor seen as rows of t.
template <class Element>
struct HeadRows {
  Element* data = nullptr;
  int64_t stride = 0;
  Element* row(int64_t t) const { return data + t * stride; }
};

template <class Element>
HeadRows<const Element> head_rows(const at::Tensor& t, int64_t b, int64_t h) {
  return {static_cast<const Element*>(t.const_data_ptr()) + b * t.stride(0) + h * t.stride(2), t.stride(1)};
}
template <class Element>
HeadRows<Element> mutable_head_rows(const at::Tensor& t, int64_t b, int64_t h) {
  return {static_cast<Element*>(t.mutable_data_ptr()) + b * t.stride(0) + h * t.stride(2), t.stride(1)};
}

inline tile::Word float_word(float x) {
  tile::Word word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

// to [tile rows, words]: neighbours within a row share a word. Rows past `rows` are zero.
template <class Element>
void pack_rows(HeadRows<const Element> from, int64_t first, int64_t rows, const AttentionShape& s, tile::Word* to) {
  for (int64_t r = 0; r < rows; ++r) {
    const Element* row = from.row(first + r);
    tile::Word* words = to + r * s.d_words;
    if constexpr (std::is_same_v<Element, float>) {
      std::memcpy(words, row, static_cast<size_t>(s.d) * 4);
    } else if (s.per_word == 2) {
      words[s.d_words - 1] = 0;
      std::memcpy(words, row, static_cast<size_t>(s.d) * 2);
    } else {
      for (int64_t i = 0; i < s.d; ++i) words[i] = tile::Word{row[i].bits} << 16;
    }
  }
  std::fill_n(to + rows * s.d_words, (tile::kKeys - rows) * s.d_words, 0);
}

// to [row words, d_lanes]: neighbouring rows share a word; lanes past d and rows past `rows` are zero.
template <class Element>
void pack_pairs(HeadRows<const Element> from, int64_t first, int64_t rows, const AttentionShape& s, tile::Word* to) {
  const int64_t used = (rows + s.per_word - 1) / s.per_word;
  for (int64_t w = 0; w < used; ++w) {
    tile::Word* words = to + w * s.d_lanes;
    const Element* row = from.row(first + w * s.per_word);
    if constexpr (std::is_same_v<Element, float>) {
      std::memcpy(words, row, static_cast<size_t>(s.d) * 4);
      std::fill(words + s.d, words + s.d_lanes, 0);
    } else if (s.per_word == 2) {
      const bool has_second = w * 2 + 1 < rows;
      simd::best_loops().pair_rows(row, has_second ? from.row(first + w * 2 + 1) : nullptr, words, s.d);
    } else {
      for (int64_t i = 0; i < s.d; ++i) words[i] = tile::Word{row[i].bits} << 16;
      std::fill(words + s.d, words + s.d_lanes, 0);
    }
  }
  std::fill_n(to + used * s.d_lanes, (tile::kKeys / s.per_word - used) * s.d_lanes, 0);
}

// Rows of floats to the tensor's type.
inline void narrow_row(const float* from, float* to, int64_t n) {
  std::memcpy(to, from, static_cast<size_t>(n) * 4);
}
inline void narrow_row(const float* from, simd::Bf16* to, int64_t n) {
  simd::loops<float>().to_bf16(to, from, n);
}

// Dropout factors of one tile, [keys, queries].
inline void fill_keep_scale(const AttentionDropout& dropout, int64_t b, int64_t h, int64_t first_query, int64_t queries,
                            int64_t first_key, int64_t keys, float* factors) {
  const float survivor = static_cast<float>(1.0 / (1.0 - dropout.p));
  uint8_t keep[tile::kKeys];
  // Backward multiplies the padding of a tile too, and garbage times zero need not be zero.
  std::fill_n(factors, tile::kKeys * tile::kQueries, 0.0f);
  for (int64_t q = 0; q < queries; ++q) {
    dropout.keep(dropout.context, b, h, first_query + q, first_key, keys, keep);
    for (int64_t key = 0; key < keys; ++key) factors[key * tile::kQueries + q] = keep[key] ? survivor : 0.0f;
  }
}

// Bounds of the keys that the queries of one tile see.
struct TileBounds {
  int32_t least_low, most_low, least_high, most_high;

  TileBounds(const VisibleKeys& keys, int64_t b, int64_t query_tile) {
    const int32_t* low = keys.low.data() + b * keys.batch_stride + query_tile * tile::kQueries;
    const int32_t* high = keys.high.data() + b * keys.batch_stride + query_tile * tile::kQueries;
    least_low = *std::min_element(low, low + tile::kQueries);
    most_low = *std::max_element(low, low + tile::kQueries);
    least_high = *std::min_element(high, high + tile::kQueries);
    most_high = *std::max_element(high, high + tile::kQueries);
  }
  bool sees_none(int64_t first, int64_t count) const { return most_high <= first || least_low >= first + count; }
  bool sees_all(int64_t first, int64_t count) const { return most_low <= first && least_high >= first + count; }
};

inline tile::Mask tile_mask(const VisibleKeys& keys, int64_t b, int64_t query_tile, int64_t first_key) {
  const int64_t at = b * keys.batch_stride + query_tile * tile::kQueries;
  return {keys.low.data() + at, keys.high.data() + at, static_cast<int32_t>(first_key)};
}

}  // namespace primus::kernels
