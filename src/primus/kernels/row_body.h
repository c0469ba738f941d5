// Internal, compiled once per instruction set (see loops.h): sums over rows.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// sum[w] += x[row][w] for rows begin..end.
template <class X>
struct ColumnSumBody {
  static void run(const X* x, int64_t width, int64_t begin, int64_t end, float* sum) {
    for (int64_t row = begin; row < end; ++row) {
      const X* source = x + row * width;
      int64_t w = 0;
      for (; w + kLanes <= width; w += kLanes) store(sum + w, load(sum + w) + load(source + w));
      if (w < width) {
        const int64_t n = width - w;
        store_first(sum + w, load_first(sum + w, n) + load_first(source + w, n), n);
      }
    }
  }
};

// sum += the rows of dy that tokens[0..count) name, in that order; column by column, so that the row stays in
// registers.
template <class S>
struct AddRowsBody {
  static void run(float* sum, const S* dy, const int64_t* tokens, int64_t count, int64_t width) {
    int64_t h = 0;
    for (; h + 4 * kLanes <= width; h += 4 * kLanes) {
      F16 s0 = load(sum + h);
      F16 s1 = load(sum + h + kLanes);
      F16 s2 = load(sum + h + 2 * kLanes);
      F16 s3 = load(sum + h + 3 * kLanes);
      for (int64_t i = 0; i < count; ++i) {
        const S* row = dy + tokens[i] * width + h;
        s0 += load(row);
        s1 += load(row + kLanes);
        s2 += load(row + 2 * kLanes);
        s3 += load(row + 3 * kLanes);
      }
      store(sum + h, s0);
      store(sum + h + kLanes, s1);
      store(sum + h + 2 * kLanes, s2);
      store(sum + h + 3 * kLanes, s3);
    }
    for (; h < width; h += kLanes) {
      const int64_t n = smaller(kLanes, width - h);
      F16 s = load_first(sum + h, n);
      for (int64_t i = 0; i < count; ++i) s += load_first(dy + tokens[i] * width + h, n);
      store_first(sum + h, s, n);
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
