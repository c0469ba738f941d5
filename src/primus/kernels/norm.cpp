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

template <NormKind kKind, class X>
struct ForwardBody {
  static PRIMUS_INLINE F16 input(const ForwardRows<X>& a, int64_t at, int64_t n) {
    const X* source = a.sum != nullptr ? a.sum : a.x;
    return n == kLanes ? load(source + at) : load_first(source + at, n);
  }
  // Writes x + residual and returns it as rounded.
  static PRIMUS_INLINE void add_residual(const ForwardRows<X>& a, int64_t row_start) {
    for (int64_t h = 0; h < a.width; h += kLanes) {
      const int64_t at = row_start + h;
      const int64_t n = std::min(kLanes, a.width - h);
      if (n == kLanes) {
        store(a.sum + at, load(a.x + at) + load(a.residual + at));
      } else {
        store_first(a.sum + at, load_first(a.x + at, n) + load_first(a.residual + at, n), n);
      }
    }
  }
  static PRIMUS_INLINE float row_mean(const ForwardRows<X>& a, int64_t row_start) {
    F16 s0 = splat(0);
    F16 s1 = splat(0);
    int64_t h = 0;
    for (; h + 2 * kLanes <= a.width; h += 2 * kLanes) {
      s0 += input(a, row_start + h, kLanes);
      s1 += input(a, row_start + h + kLanes, kLanes);
    }
    for (; h < a.width; h += kLanes) s0 += input(a, row_start + h, std::min(kLanes, a.width - h));
    return sum_lanes(s0 + s1) / static_cast<float>(a.width);
  }
  // Mean of (x - mean)^2; lanes past the end do not count.
  static PRIMUS_INLINE float row_variance(const ForwardRows<X>& a, int64_t row_start, F16 mean) {
    F16 s0 = splat(0);
    F16 s1 = splat(0);
    int64_t h = 0;
    for (; h + 2 * kLanes <= a.width; h += 2 * kLanes) {
      const F16 c0 = input(a, row_start + h, kLanes) - mean;
      const F16 c1 = input(a, row_start + h + kLanes, kLanes) - mean;
      s0 = multiply_add(c0, c0, s0);
      s1 = multiply_add(c1, c1, s1);
    }
    for (; h < a.width; h += kLanes) {
      const int64_t n = std::min(kLanes, a.width - h);
      const F16 c = keep_first(input(a, row_start + h, n) - mean, n);
      s0 = multiply_add(c, c, s0);
    }
    return sum_lanes(s0 + s1) / static_cast<float>(a.width);
  }
  static PRIMUS_INLINE void write(const ForwardRows<X>& a, int64_t row_start, F16 mean, F16 rstd) {
    for (int64_t h = 0; h < a.width; h += kLanes) {
      const int64_t at = row_start + h;
      const int64_t n = std::min(kLanes, a.width - h);
      const bool whole = n == kLanes;
      F16 y = (input(a, at, n) - mean) * rstd * (whole ? load(a.gain + h) : load_first(a.gain + h, n));
      if (a.bias != nullptr) y += whole ? load(a.bias + h) : load_first(a.bias + h, n);
      if (whole) {
        store(a.y + at, y);
      } else {
        store_first(a.y + at, y, n);
      }
    }
  }
  static PRIMUS_INLINE void run(const ForwardRows<X>& a, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * a.width;
      if (a.sum != nullptr) add_residual(a, start);
      const float mean = kKind == NormKind::Layer ? row_mean(a, start) : 0.0F;
      const float variance = row_variance(a, start, splat(mean));
      const float rstd = 1.0F / __builtin_sqrtf(variance + a.eps);
      if (kKind == NormKind::Layer) a.mean[row] = mean;
      a.rstd[row] = rstd;
      write(a, start, splat(mean), splat(rstd));
    }
  }
};

template <NormKind kKind, class X>
struct BackwardBody {
  struct Lanes {
    F16 dy;
    F16 normed;
    F16 d_normed;
  };
  static PRIMUS_INLINE Lanes read(const BackwardRows<X>& a, int64_t start, int64_t h, int64_t n, F16 mean, F16 rstd) {
    Lanes l;
    if (n == kLanes) {
      l.dy = load(a.dy + start + h);
      l.normed = (load(a.x + start + h) - mean) * rstd;
      l.d_normed = l.dy * load(a.gain + h);
    } else {
      l.dy = load_first(a.dy + start + h, n);
      l.normed = (load_first(a.x + start + h, n) - mean) * rstd;
      l.d_normed = l.dy * load_first(a.gain + h, n);
    }
    return l;
  }
  // This row's share of the gain and bias gradients.
  static PRIMUS_INLINE void accumulate(int64_t h, int64_t n, const Lanes& l, float* d_gain, float* d_bias) {
    if (n == kLanes) {
      store(d_gain + h, multiply_add(l.dy, l.normed, load(d_gain + h)));
      if (kKind == NormKind::Layer) store(d_bias + h, load(d_bias + h) + l.dy);
    } else {
      store_first(d_gain + h, multiply_add(l.dy, l.normed, load_first(d_gain + h, n)), n);
      if (kKind == NormKind::Layer) store_first(d_bias + h, load_first(d_bias + h, n) + l.dy, n);
    }
  }
  static PRIMUS_INLINE void write(const BackwardRows<X>& a, int64_t at, int64_t n, F16 dx) {
    if (n == kLanes) {
      if (a.d_residual != nullptr) dx += load(a.d_residual + at);
      store(a.dx + at, dx);
    } else {
      if (a.d_residual != nullptr) dx += load_first(a.d_residual + at, n);
      store_first(a.dx + at, dx, n);
    }
  }
  static PRIMUS_INLINE void run(const BackwardRows<X>& a, int64_t begin, int64_t end, float* d_gain, float* d_bias) {
    const float scale = 1.0F / static_cast<float>(a.width);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * a.width;
      const F16 mean = splat(kKind == NormKind::Layer ? a.mean[row] : 0.0F);
      const F16 rstd = splat(a.rstd[row]);
      F16 projection = splat(0);
      F16 total = splat(0);
      for (int64_t h = 0; h < a.width; h += kLanes) {
        const int64_t n = std::min(kLanes, a.width - h);
        const Lanes l = read(a, start, h, n, mean, rstd);
        projection = multiply_add(l.d_normed, l.normed, projection);
        if (kKind == NormKind::Layer) total += l.d_normed;
        accumulate(h, n, l, d_gain, d_bias);
      }
      const F16 p = splat(sum_lanes(projection) * scale);
      const F16 m = splat(kKind == NormKind::Layer ? sum_lanes(total) * scale : 0.0F);
      for (int64_t h = 0; h < a.width; h += kLanes) {
        const int64_t n = std::min(kLanes, a.width - h);
        const Lanes l = read(a, start, h, n, mean, rstd);
        write(a, start + h, n, (l.d_normed - m - l.normed * p) * rstd);
      }
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

const float* row_pointer(const at::Tensor& t) { return t.defined() ? pointer<float>(t) : nullptr; }

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
    const simd::ForwardRows<X> rows{pointer<X>(x), residual.defined() ? pointer<X>(residual) : nullptr,
                              residual.defined() ? pointer<X>(out.sum) : nullptr, pointer<X>(out.y),
                              row_pointer(gain_h), row_pointer(bias_h),
                              kKind == NormKind::Layer ? pointer<float>(out.mean) : nullptr, pointer<float>(out.rstd),
                              width, static_cast<float>(options.eps)};
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
    const simd::BackwardRows<X> rows{pointer<X>(dy), pointer<X>(x), d_residual.defined() ? pointer<X>(d_residual) : nullptr,
                               pointer<X>(out.dx), row_pointer(gain_h), row_pointer(mean), pointer<float>(rstd), width};
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
                                                                    const at::Tensor& gain, const NormOptions& options) {
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

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> add_layer_norm_forward(
    const at::Tensor& x, const at::Tensor& residual, const at::Tensor& gain, const at::Tensor& bias,
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
