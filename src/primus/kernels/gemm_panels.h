// Internal to the tiled products: the inner loops, as a table per type of operand. A *word* is 32 bits: one float, or
// two neighbouring bf16 along the summed dim (the unit of vdpbf16ps). A *panel* is a strip of an operand in the order
// in which the inner loop reads it, [words of the summed dim][width], zeros behind its last lane and element.
#pragma once

#include <cstdint>

namespace primus::kernels::panels {

inline constexpr int64_t kTileRows = 8;      // 8 x 3 sums and what they need fit the 32 vector registers
inline constexpr int64_t kTileColumns = 48;  // also the width of a panel of b
inline constexpr int64_t kRowPanel = 16;     // the width of a panel of a: two tiles

using Word = uint32_t;

// Element (lane, k) of an operand is data[lane * lane_stride + k * depth_stride]; one of the strides is 1.
struct Source {
  const void* data;
  int64_t lane_stride, depth_stride;
};

// Where a tile goes: product (+ add) as f32 to `sum`, or rounded once to `rounded`.
struct Target {
  const float* add;  // null: nothing is added
  float* sum;        // null: rounded
  void* rounded;     // bf16
  int64_t add_stride, stride;
};

struct Kernels {
  int64_t per_word;  // elements of the summed dim in a word: 1 or 2
  // Panels of `width` lanes, a multiple of 16.
  void (*pack)(const Source& from, int64_t lanes, int64_t width, int64_t depth, Word* to);
  // One tile of rows <= kTileRows x columns <= kTileColumns from rows of a and a panel of b. a: word k of row r is
  // at r * a_bytes + 4 k bytes, as in a matrix; with a_bytes 0 it is a panel. Every element is one chain of
  // multiply-adds in the order of k, whatever the size of its tile.
  void (*multiply)(const void* a, int64_t a_bytes, const Word* b, int64_t words, const Target& to, int64_t rows,
                   int64_t columns);
};

#if defined(__x86_64__)
const Kernels& avx512_float_kernels();
const Kernels& avx512_bf16_kernels();
#endif

}  // namespace primus::kernels::panels
