#include "primus/kernels/norm.h"

#include <algorithm>

#include "primus/kernels/column_sum.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

enum class NormKind { Rms, Layer };

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
    const simd::NormForwardRows<X> rows{pointer<X>(x),
                                        residual.defined() ? pointer<X>(residual) : nullptr,
                                        residual.defined() ? pointer<X>(out.sum) : nullptr,
                                        pointer<X>(out.y),
                                        row_pointer(gain_h),
                                        row_pointer(bias_h),
                                        kKind == NormKind::Layer ? pointer<float>(out.mean) : nullptr,
                                        pointer<float>(out.rstd),
                                        width,
                                        static_cast<float>(options.eps)};
    const auto run = kKind == NormKind::Layer ? simd::loops<X>().layer_forward : simd::loops<X>().rms_forward;
    parallel_ranges(num_rows, min_rows(width), [&](int64_t begin, int64_t end) { run(rows, begin, end); });
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
    const simd::NormBackwardRows<X> rows{pointer<X>(dy),
                                         pointer<X>(x),
                                         d_residual.defined() ? pointer<X>(d_residual) : nullptr,
                                         pointer<X>(out.dx),
                                         row_pointer(gain_h),
                                         row_pointer(mean),
                                         pointer<float>(rstd),
                                         width};
    float* d_gain = pointer<float>(d_gain_bh);
    float* d_bias = kKind == NormKind::Layer ? pointer<float>(d_bias_bh) : nullptr;
    const auto run = kKind == NormKind::Layer ? simd::loops<X>().layer_backward : simd::loops<X>().rms_backward;
    parallel_ranges(blocks.count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        run(rows, blocks.begin(block), blocks.end(block), d_gain + block * width,
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
