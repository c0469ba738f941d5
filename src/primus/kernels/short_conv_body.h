// Internal, compiled once per instruction set (see loops.h): the short convolution, one position at a time.
#pragma once

#include "primus/kernels/activation_body.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// Whole vectors and the tail of a row are two calls of one step, so that the compiler sees the number of lanes.
template <class X>
struct ShortConvBody {
  static PRIMUS_INLINE F16 sum_of_taps(const ShortConvRow<X>& row, int64_t c, int64_t n) {
    F16 sum = row.bias != nullptr ? read(row.bias + c, n) : splat(0.0F);
    for (int64_t k = 0; k < row.num_taps; ++k) sum = multiply_add(read(row.w[k] + c, n), read(row.x[k] + c, n), sum);
    return sum;
  }

  static PRIMUS_INLINE void forward_step(const ShortConvRow<X>& row, X* y, int64_t c, int64_t n) {
    const F16 sum = sum_of_taps(row, c, n);
    write(y + c, row.silu ? sum * sigmoid(sum) : sum, n);
  }
  static void forward(const ShortConvRow<X>& row, X* y) {
    int64_t c = 0;
    for (; c + kLanes <= row.width; c += kLanes) forward_step(row, y, c, kLanes);
    if (c < row.width) forward_step(row, y, c, row.width - c);
  }

  static PRIMUS_INLINE void slope_step(const ShortConvRow<X>& row, const X* dy, float* dz, int64_t c, int64_t n) {
    F16 d = read(dy + c, n);
    if (row.silu) d = d * evaluate<Activation::Silu>(sum_of_taps(row, c, n)).slope;
    write(dz + c, d, n);
    for (int64_t k = 0; k < row.num_taps; ++k) {
      write(row.dw[k] + c, multiply_add(d, read(row.x[k] + c, n), read(row.dw[k] + c, n)), n);
    }
    if (row.d_bias != nullptr) write(row.d_bias + c, read(row.d_bias + c, n) + d, n);
  }
  static void slope(const ShortConvRow<X>& row, const X* dy, float* dz) {
    int64_t c = 0;
    for (; c + kLanes <= row.width; c += kLanes) slope_step(row, dy, dz, c, kLanes);
    if (c < row.width) slope_step(row, dy, dz, c, row.width - c);
  }

  static PRIMUS_INLINE void input_step(const ShortConvReaders& readers, X* dx, int64_t c, int64_t n) {
    F16 sum = splat(0.0F);
    for (int64_t i = 0; i < readers.count; ++i) {
      sum = multiply_add(read(readers.w[i] + c, n), read(readers.dz[i] + c, n), sum);
    }
    write(dx + c, sum, n);
  }
  static void input(const ShortConvReaders& readers, X* dx) {
    int64_t c = 0;
    for (; c + kLanes <= readers.width; c += kLanes) input_step(readers, dx, c, kLanes);
    if (c < readers.width) input_step(readers, dx, c, readers.width - c);
  }
};

}  // namespace

}  // namespace primus::kernels::simd
