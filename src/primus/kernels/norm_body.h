// Internal, compiled once per instruction set (see loops.h): RMSNorm and LayerNorm over rows.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

enum class NormKind { Rms, Layer };

// Every pass over a row is a loop of whole vectors and one step for the rest, so that the compiler sees the number of
// lanes.
template <NormKind kKind, class X>
struct NormForwardBody {
  static PRIMUS_INLINE void add_residual(const X* x, const X* residual, X* sum, int64_t width) {
    int64_t h = 0;
    for (; h + kLanes <= width; h += kLanes) write(sum + h, read(x + h, kLanes) + read(residual + h, kLanes), kLanes);
    const int64_t n = width - h;
    if (n > 0) write(sum + h, read(x + h, n) + read(residual + h, n), n);
  }
  static PRIMUS_INLINE float row_mean(const X* x, int64_t width) {
    F16 s[4] = {splat(0), splat(0), splat(0), splat(0)};
    int64_t h = 0;
    for (; h + 4 * kLanes <= width; h += 4 * kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) s[i] += load(x + h + i * kLanes);
    }
    for (; h + kLanes <= width; h += kLanes) s[0] += load(x + h);
    if (h < width) s[1] += load_first(x + h, width - h);
    return sum_lanes((s[0] + s[1]) + (s[2] + s[3])) / static_cast<float>(width);
  }
  static PRIMUS_INLINE F16 add_square(F16 sum, F16 centred) { return multiply_add(centred, centred, sum); }
  // Mean of (x - mean)^2; lanes past the end do not count.
  static PRIMUS_INLINE float row_variance(const X* x, int64_t width, F16 mean) {
    F16 s[4] = {splat(0), splat(0), splat(0), splat(0)};
    int64_t h = 0;
    for (; h + 4 * kLanes <= width; h += 4 * kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) s[i] = add_square(s[i], load(x + h + i * kLanes) - mean);
    }
    for (; h + kLanes <= width; h += kLanes) s[0] = add_square(s[0], load(x + h) - mean);
    const int64_t n = width - h;
    if (n > 0) s[1] = add_square(s[1], keep_first(load_first(x + h, n) - mean, n));
    return sum_lanes((s[0] + s[1]) + (s[2] + s[3])) / static_cast<float>(width);
  }
  static PRIMUS_INLINE void scale_step(const NormForwardRows<X>& a, const X* x, X* y, F16 mean, F16 rstd, int64_t h,
                                       int64_t n) {
    F16 value = (read(x + h, n) - mean) * rstd * read(a.gain + h, n);
    if (a.bias != nullptr) value += read(a.bias + h, n);
    write(y + h, value, n);
  }
  static void run(const NormForwardRows<X>& a, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * a.width;
      if (a.sum != nullptr) add_residual(a.x + start, a.residual + start, a.sum + start, a.width);
      const X* x = (a.sum != nullptr ? a.sum : a.x) + start;
      const float mean = kKind == NormKind::Layer ? row_mean(x, a.width) : 0.0F;
      const float rstd = 1.0F / __builtin_sqrtf(row_variance(x, a.width, splat(mean)) + a.eps);
      if (kKind == NormKind::Layer) a.mean[row] = mean;
      a.rstd[row] = rstd;
      int64_t h = 0;
      for (; h + kLanes <= a.width; h += kLanes) scale_step(a, x, a.y + start, splat(mean), splat(rstd), h, kLanes);
      if (h < a.width) scale_step(a, x, a.y + start, splat(mean), splat(rstd), h, a.width - h);
    }
  }
};

template <NormKind kKind, class X>
struct NormBackwardBody {
  // One row: pointers to its start, its statistics, and the sums over its columns.
  struct Row {
    const X* dy;
    const X* x;
    const X* d_residual;
    X* dx;
    F16 mean;
    F16 rstd;
    F16 projection;  // sum of d_normed * normed
    F16 total;       // sum of d_normed
  };
  static PRIMUS_INLINE F16 normed_at(const Row& row, int64_t h, int64_t n) {
    return (read(row.x + h, n) - row.mean) * row.rstd;
  }
  // Also adds this row's share of the gain and bias gradients.
  static PRIMUS_INLINE void sum_step(const float* gain, Row& row, float* d_gain, float* d_bias, int64_t h, int64_t n) {
    const F16 dy = read(row.dy + h, n);
    const F16 normed = keep_first(normed_at(row, h, n), n);
    const F16 d_normed = dy * read(gain + h, n);
    row.projection = multiply_add(d_normed, normed, row.projection);
    write(d_gain + h, multiply_add(dy, normed, read(d_gain + h, n)), n);
    if (kKind == NormKind::Layer) {
      row.total += d_normed;
      write(d_bias + h, read(d_bias + h, n) + dy, n);
    }
  }
  static PRIMUS_INLINE void write_step(const float* gain, const Row& row, F16 mean_d, F16 projection, int64_t h,
                                       int64_t n) {
    const F16 d_normed = read(row.dy + h, n) * read(gain + h, n);
    F16 dx = (d_normed - mean_d - normed_at(row, h, n) * projection) * row.rstd;
    if (row.d_residual != nullptr) dx += read(row.d_residual + h, n);
    write(row.dx + h, dx, n);
  }
  static void run(const NormBackwardRows<X>& a, int64_t begin, int64_t end, float* d_gain, float* d_bias) {
    const float scale = 1.0F / static_cast<float>(a.width);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = i * a.width;
      const F16 zero = {f32x16{}};
      const F16 mean = splat(kKind == NormKind::Layer ? a.mean[i] : 0.0F);
      const F16 rstd = splat(a.rstd[i]);
      const X* d_residual = a.d_residual != nullptr ? a.d_residual + start : nullptr;
      Row row{a.dy + start, a.x + start, d_residual, a.dx + start, mean, rstd, zero, zero};
      int64_t h = 0;
      for (; h + kLanes <= a.width; h += kLanes) sum_step(a.gain, row, d_gain, d_bias, h, kLanes);
      if (h < a.width) sum_step(a.gain, row, d_gain, d_bias, h, a.width - h);
      const F16 projection = splat(sum_lanes(row.projection) * scale);
      const F16 mean_d = splat(kKind == NormKind::Layer ? sum_lanes(row.total) * scale : 0.0F);
      h = 0;
      for (; h + kLanes <= a.width; h += kLanes) write_step(a.gain, row, mean_d, projection, h, kLanes);
      if (h < a.width) write_step(a.gain, row, mean_d, projection, h, a.width - h);
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
