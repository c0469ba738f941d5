// Internal, compiled once per instruction set (see loops.h): casts, sums over rows, sums of squares.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd.h"

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
