// Internal, compiled once per instruction set (see loops.h): RMSNorm with a SiLU gate, over groups of columns.
#pragma once

#include "primus/kernels/activation_body.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

template <bool kGateFirst, class X>
struct GatedNormBody {
  static PRIMUS_INLINE F16 gate(const X* z, int64_t n) {
    const F16 value = read(z, n);
    return value * sigmoid(value);
  }
  // What is normalised; zero in lanes past the end.
  static PRIMUS_INLINE F16 normed_input(const X* x, const X* z, int64_t n) {
    return kGateFirst ? read(x, n) * gate(z, n) : read(x, n);
  }
  static PRIMUS_INLINE F16 add_square(F16 sum, F16 value) { return multiply_add(value, value, sum); }

  static PRIMUS_INLINE void forward_step(const GatedNormRows<X>& a, int64_t at, int64_t column, F16 rstd, int64_t n) {
    F16 y = normed_input(a.x + at, a.z + at, n) * rstd * read(a.gain + column, n);
    if (!kGateFirst) y = y * gate(a.z + at, n);
    write(a.y + at, y, n);
  }
  static void forward(const GatedNormRows<X>& a, int64_t begin, int64_t end) {
    const int64_t groups = a.width / a.group;
    for (int64_t index = begin * groups; index < end * groups; ++index) {
      const int64_t start = index * a.group, column = index % groups * a.group;
      F16 squares = splat(0.0F);
      int64_t i = 0;
      for (; i + kLanes <= a.group; i += kLanes) {
        squares = add_square(squares, normed_input(a.x + start + i, a.z + start + i, kLanes));
      }
      if (i < a.group) squares = add_square(squares, normed_input(a.x + start + i, a.z + start + i, a.group - i));
      const float rstd = 1.0F / __builtin_sqrtf(sum_lanes(squares) / static_cast<float>(a.group) + a.eps);
      a.rstd[index] = rstd;
      i = 0;
      for (; i + kLanes <= a.group; i += kLanes) forward_step(a, start + i, column + i, splat(rstd), kLanes);
      if (i < a.group) forward_step(a, start + i, column + i, splat(rstd), a.group - i);
    }
  }

  struct Point {
    F16 x, normed, d_normed;
    ValueAndSlope gate;
  };
  static PRIMUS_INLINE Point point(const GatedNormRows<X>& a, int64_t at, int64_t column, F16 rstd, int64_t n) {
    Point p;
    p.x = read(a.x + at, n);
    p.gate = evaluate<Activation::Silu>(read(a.z + at, n));
    p.normed = (kGateFirst ? p.x * p.gate.value : p.x) * rstd;
    p.d_normed = read(a.dy + at, n) * read(a.gain + column, n);
    if (!kGateFirst) p.d_normed = p.d_normed * p.gate.value;
    return p;
  }
  // Adds to the gain's gradient; returns sum + d_normed * normed.
  static PRIMUS_INLINE F16 sum_step(const GatedNormRows<X>& a, int64_t at, int64_t column, F16 rstd, F16 sum,
                                    float* d_gain, int64_t n) {
    const Point p = point(a, at, column, rstd, n);
    const F16 d_scaled = kGateFirst ? read(a.dy + at, n) : read(a.dy + at, n) * p.gate.value;
    write(d_gain + column, multiply_add(d_scaled, p.normed, read(d_gain + column, n)), n);
    return multiply_add(p.d_normed, p.normed, sum);
  }
  static PRIMUS_INLINE void write_step(const GatedNormRows<X>& a, int64_t at, int64_t column, F16 rstd, F16 projection,
                                       int64_t n) {
    const Point p = point(a, at, column, rstd, n);
    const F16 d_input = rstd * (p.d_normed - p.normed * projection);
    if (kGateFirst) {
      write(a.dx + at, d_input * p.gate.value, n);
      write(a.dz + at, d_input * p.x * p.gate.slope, n);
    } else {
      write(a.dx + at, d_input, n);
      write(a.dz + at, read(a.dy + at, n) * read(a.gain + column, n) * p.normed * p.gate.slope, n);
    }
  }
  static void backward(const GatedNormRows<X>& a, int64_t begin, int64_t end, float* d_gain) {
    const int64_t groups = a.width / a.group;
    for (int64_t index = begin * groups; index < end * groups; ++index) {
      const int64_t start = index * a.group, column = index % groups * a.group;
      const F16 rstd = splat(a.rstd[index]);
      F16 sum = splat(0.0F);
      int64_t i = 0;
      for (; i + kLanes <= a.group; i += kLanes) sum = sum_step(a, start + i, column + i, rstd, sum, d_gain, kLanes);
      if (i < a.group) sum = sum_step(a, start + i, column + i, rstd, sum, d_gain, a.group - i);
      const F16 projection = splat(sum_lanes(sum) / static_cast<float>(a.group));
      i = 0;
      for (; i + kLanes <= a.group; i += kLanes) write_step(a, start + i, column + i, rstd, projection, kLanes);
      if (i < a.group) write_step(a, start + i, column + i, rstd, projection, a.group - i);
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
