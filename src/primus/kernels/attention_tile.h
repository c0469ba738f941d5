// Internal to attention: the inner loops on one tile, as a table chosen by CPU and dtype. A *word* is 32 bits: one
// float, or two neighbouring bf16 along the summed dim (the unit of vdpbf16ps). Tiles are kQueries queries wide (vector
// lanes) and up to kKeys keys high.
#pragma once

#include <cstdint>

namespace primus::kernels::tile {

inline constexpr int kQueries = 64;
inline constexpr int kKeys = 64;

using Word = uint32_t;

// Lane q of a tile sees the keys low[q] <= key < high[q]. null: all.
struct Mask {
  const int32_t* low = nullptr;
  const int32_t* high = nullptr;
  int32_t first_key = 0;  // position of the tile's first row
};

struct ForwardStep {
  float* scores;  // [keys, kQueries] raw products; destroyed
  int keys;       // rows in use; the rest of the last word is treated as masked
  float scale;    // softmax scale x log2(e)
  Mask mask;
  const float* keep_scale;  // [keys, kQueries] dropout factors, or null
  float* max;               // [kQueries] running maximum of scale x score
  float* sum;               // [kQueries] running sum
  float* out;               // [rows, kQueries] accumulated output, rescaled when a maximum grows
  int out_rows;
  Word* probabilities;  // [key words, kQueries]
};

struct BackwardStep {
  float* scores;          // [keys, kQueries] raw products q.k
  float* dprobabilities;  // [keys, kQueries] raw products dout.v
  int keys;
  float scale;  // softmax scale
  Mask mask;
  const float* keep_scale;
  const float* lse2;   // [kQueries] log2 of the sum of exp
  const float* delta;  // [kQueries] sum over d of dout x out
  Word* p_rows;        // [keys, query words] A operand of dv
  Word* ds_rows;       // [keys, query words] A operand of dk
  Word* ds_pairs;      // [key words, kQueries] B operand of dq
};

struct Kernels {
  int per_word;  // elements of the summed dim in a word: 1 or 2
  // c [m, n] (+)= a [m, depth words] b [depth words, n]; n a multiple of 16.
  void (*product)(const Word* a, int64_t a_stride, const Word* b, int64_t b_stride, float* c, int64_t c_stride, int m,
                  int n, int depth_words, bool accumulate);
  void (*forward_step)(const ForwardStep& step);
  void (*backward_step)(const BackwardStep& step);
  // to [columns, rows] = from [rows, columns], whole words.
  void (*transpose)(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int rows, int columns);
};

// The best table for float words, and for bf16 pairs (null when this CPU has no bf16 dot product).
const Kernels& float_kernels();
const Kernels* bf16_pair_kernels();
const Kernels& portable_kernels();
#if defined(__x86_64__)
const Kernels& avx512_float_kernels();
const Kernels& avx512_bf16_kernels();
#endif

}  // namespace primus::kernels::tile
