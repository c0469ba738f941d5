#include "primus/kernels/norm.h"

#include <algorithm>

#include "primus/kernels/column_sum.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace simd {

namespace {

enum class NormKind { Rms, Layer };

// Gains and biases are fp32 rows here, zero-centred gains already shifted. Absent pointers are null.
template <class X>
struct ForwardRows {
  const X* x;
  const X* residual;
  X* sum;
  X* y;
  const float* gain;
  const float* bias;
  float* mean;
  float* rstd;
  int64_t width;
  float eps;
};

template <class X>
struct BackwardRows {
  const X* dy;
  const X* x;
  const X* d_residual;
  X* dx;
  const float* gain;
  const float* mean;
  const float* rstd;
  int64_t width;
};

template <class T>
PRIMUS_INLINE F16 read(const T* p, int64_t n) {
  return n == kLanes ? load(p) : load_first(p, n);
}
template <class T>
PRIMUS_INLINE void write(T* p, F16 x, int64_t n) {
  if (n == kLanes) {
    store(p, x);
  } else {
    store_first(p, x, n);
  }
}

// Every pass over a row is a loop of whole vectors and one step for the rest, so that the compiler sees the number of
// lanes.
template <NormKind kKind, class X>
struct ForwardBody {
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
      for (int i = 0; i < 4; ++i) s[i] = add_square(s[i], load(x + h + i * kLanes) - mean);
    }
    for (; h + kLanes <= width; h += kLanes) s[0] = add_square(s[0], load(x + h) - mean);
    const int64_t n = width - h;
    if (n > 0) s[1] = add_square(s[1], keep_first(load_first(x + h, n) - mean, n));
    return sum_lanes((s[0] + s[1]) + (s[2] + s[3])) / static_cast<float>(width);
  }
  static PRIMUS_INLINE void scale_step(const ForwardRows<X>& a, const X* x, X* y, F16 mean, F16 rstd, int64_t h,
                                       int64_t n) {
    F16 value = (read(x + h, n) - mean) * rstd * read(a.gain + h, n);
    if (a.bias != nullptr) value += read(a.bias + h, n);
    write(y + h, value, n);
  }
  static PRIMUS_INLINE void run(const ForwardRows<X>& a, int64_t begin, int64_t end) {
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
struct BackwardBody {
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
  static PRIMUS_INLINE void run(const BackwardRows<X>& a, int64_t begin, int64_t end, float* d_gain, float* d_bias) {
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

}  // namespace simd

namespace {

using simd::NormKind;

at::Tensor gain_row(const at::Tensor& gain, const NormOptions& options) {
  const at::Tensor row = as_float_row(gain);
  return options.zero_centered ? row + 1 : row;
}

const float* row_pointer(const at::Tensor& t) {
  return t.defined() ? pointer<float>(t) : nullptr;
}

struct Forward {
  at::Tensor sum;
  at::Tensor y;
  at::Tensor mean;
  at::Tensor rstd;
};

template <NormKind kKind>
Forward forward(const at::Tensor& x_any, const at::Tensor& residual_any, const at::Tensor& gain, const at::Tensor& bias,
                const NormOptions& options) {
  const int64_t width = x_any.size(-1);
  PRIMUS_CHECK(gain.numel() == width && (!bias.defined() || bias.numel() == width), "norm: gain or bias width");
  const at::Tensor x = x_any.contiguous();
  const at::Tensor residual = residual_any.defined() ? residual_any.contiguous() : residual_any;
  PRIMUS_CHECK(!residual.defined() || (residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type()),
               "norm: the residual must have x's shape and type");
  const int64_t num_rows = width == 0 ? 0 : x.numel() / width;
  const at::Tensor gain_h = gain_row(gain, options);
  const at::Tensor bias_h = as_float_row(bias);
  Forward out;
  out.y = at::empty_like(x);
  if (residual.defined()) out.sum = at::empty_like(x);
  out.rstd = at::empty({num_rows}, x.options().dtype(at::kFloat));
  if (kKind == NormKind::Layer) out.mean = at::empty_like(out.rstd);
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const simd::ForwardRows<X> rows{pointer<X>(x),
                                    residual.defined() ? pointer<X>(residual) : nullptr,
                                    residual.defined() ? pointer<X>(out.sum) : nullptr,
                                    pointer<X>(out.y),
                                    row_pointer(gain_h),
                                    row_pointer(bias_h),
                                    kKind == NormKind::Layer ? pointer<float>(out.mean) : nullptr,
                                    pointer<float>(out.rstd),
                                    width,
                                    static_cast<float>(options.eps)};
    parallel_ranges(num_rows, min_rows(width), [&](int64_t begin, int64_t end) {
      simd::run_best<simd::ForwardBody<kKind, X>, const simd::ForwardRows<X>&>(rows, begin, end);
    });
  });
  return out;
}

struct Backward {
  at::Tensor dx;
  at::Tensor d_gain;
  at::Tensor d_bias;
};

template <NormKind kKind>
Backward backward(const at::Tensor& dy_any, const at::Tensor& x_any, const at::Tensor& gain, const at::Tensor& mean,
                  const at::Tensor& rstd, const NormOptions& options, const at::Tensor& d_residual_any) {
  const int64_t width = x_any.size(-1);
  PRIMUS_CHECK(dy_any.sizes() == x_any.sizes() && gain.numel() == width, "norm backward: shapes differ");
  const at::Tensor x = x_any.contiguous();
  const at::Tensor dy = dy_any.to(x.scalar_type()).contiguous();
  const at::Tensor d_residual =
      d_residual_any.defined() ? d_residual_any.to(x.scalar_type()).contiguous() : d_residual_any;
  const int64_t num_rows = width == 0 ? 0 : x.numel() / width;
  PRIMUS_CHECK(rstd.numel() == num_rows, "norm backward: rstd is of another input");
  const at::Tensor gain_h = gain_row(gain, options);
  const RowBlocks blocks(num_rows);
  const auto fp32 = x.options().dtype(at::kFloat);
  const at::Tensor d_gain_bh = at::zeros({blocks.count(), width}, fp32);
  const at::Tensor d_bias_bh = kKind == NormKind::Layer ? at::zeros({blocks.count(), width}, fp32) : at::Tensor();
  Backward out;
  out.dx = at::empty_like(x);
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const simd::BackwardRows<X> rows{pointer<X>(dy),
                                     pointer<X>(x),
                                     d_residual.defined() ? pointer<X>(d_residual) : nullptr,
                                     pointer<X>(out.dx),
                                     row_pointer(gain_h),
                                     row_pointer(mean),
                                     pointer<float>(rstd),
                                     width};
    float* d_gain = pointer<float>(d_gain_bh);
    float* d_bias = kKind == NormKind::Layer ? pointer<float>(d_bias_bh) : nullptr;
    parallel_ranges(blocks.count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        simd::run_best<simd::BackwardBody<kKind, X>, const simd::BackwardRows<X>&>(
            rows, blocks.begin(block), blocks.end(block), d_gain + block * width,
            d_bias != nullptr ? d_bias + block * width : nullptr);
      }
    });
  });
  out.d_gain = sum_block_rows(d_gain_bh);
  if (kKind == NormKind::Layer) out.d_bias = sum_block_rows(d_bias_bh);
  return out;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rms_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                    const NormOptions& options) {
  if (!is_fast(x)) return reference::rms_norm_forward(x, gain, options);
  Forward out = forward<NormKind::Rms>(x, {}, gain, {}, options);
  return {out.y, out.rstd};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> add_rms_norm_forward(const at::Tensor& x, const at::Tensor& residual,
                                                                    const at::Tensor& gain,
                                                                    const NormOptions& options) {
  if (!is_fast(x)) {
    const at::Tensor sum = x + residual;
    auto [y, rstd] = reference::rms_norm_forward(sum, gain, options);
    return {sum, y, rstd};
  }
  Forward out = forward<NormKind::Rms>(x, residual, gain, {}, options);
  return {out.sum, out.y, out.rstd};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& gain,
                                                     const at::Tensor& rstd, const NormOptions& options,
                                                     const at::Tensor& d_residual) {
  if (!is_fast(x)) return reference::rms_norm_backward(dy, x, gain, rstd, options, d_residual);
  Backward out = backward<NormKind::Rms>(dy, x, gain, {}, rstd, options, d_residual);
  return {out.dx, out.d_gain};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                                  const at::Tensor& bias, const NormOptions& options) {
  if (!is_fast(x)) return reference::layer_norm_forward(x, gain, bias, options);
  Forward out = forward<NormKind::Layer>(x, {}, gain, bias, options);
  return {out.y, out.mean, out.rstd};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> add_layer_norm_forward(const at::Tensor& x,
                                                                                  const at::Tensor& residual,
                                                                                  const at::Tensor& gain,
                                                                                  const at::Tensor& bias,
                                                                                  const NormOptions& options) {
  if (!is_fast(x)) {
    const at::Tensor sum = x + residual;
    auto [y, mean, rstd] = reference::layer_norm_forward(sum, gain, bias, options);
    return {sum, y, mean, rstd};
  }
  Forward out = forward<NormKind::Layer>(x, residual, gain, bias, options);
  return {out.sum, out.y, out.mean, out.rstd};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& dy, const at::Tensor& x,
                                                                   const at::Tensor& gain, const at::Tensor& mean,
                                                                   const at::Tensor& rstd, const NormOptions& options,
                                                                   const at::Tensor& d_residual) {
  if (!is_fast(x)) return reference::layer_norm_backward(dy, x, gain, mean, rstd, options, d_residual);
  Backward out = backward<NormKind::Layer>(dy, x, gain, mean, rstd, options, d_residual);
  return {out.dx, out.d_gain, out.d_bias};
}

}  // namespace primus::kernels
