#include "primus/kernels/gated_norm.h"

#include "primus/kernels/column_sum.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

struct GatedNormShape {
  int64_t width, group, rows;
};

GatedNormShape gated_norm_shape(const at::Tensor& x, const at::Tensor& z, const at::Tensor& gain,
                                const GatedNormOptions& options) {
  const int64_t width = x.size(-1), group = options.group > 0 ? options.group : width;
  PRIMUS_CHECK(z.sizes() == x.sizes() && gain.numel() == width, "gated norm: z is of x's shape, the gain of its width");
  PRIMUS_CHECK(width > 0 && width % group == 0, "gated norm: the width is a multiple of the group");
  return {width, group, x.numel() / width};
}

int order_index(const GatedNormOptions& options) {
  return options.order == GateOrder::GateFirst ? 1 : 0;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> gated_rms_norm_forward(const at::Tensor& x_any, const at::Tensor& z_any,
                                                          const at::Tensor& gain, const GatedNormOptions& options) {
  const GatedNormShape shape = gated_norm_shape(x_any, z_any, gain, options);
  if (!is_fast(x_any)) return reference::gated_rms_norm_forward(x_any, z_any, gain, options);
  const at::Tensor x = x_any.contiguous(), z = z_any.to(x.scalar_type()).contiguous();
  const at::Tensor gain_h = as_float_row(gain);
  at::Tensor y = at::empty_like(x);
  at::Tensor rstd = at::empty({shape.rows, shape.width / shape.group}, x.options().dtype(at::kFloat));
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    simd::GatedNormRows<X> rows{};
    rows.x = pointer<X>(x);
    rows.z = pointer<X>(z);
    rows.gain = pointer<float>(gain_h);
    rows.rstd = pointer<float>(rstd);
    rows.y = pointer<X>(y);
    rows.width = shape.width;
    rows.group = shape.group;
    rows.eps = static_cast<float>(options.eps);
    const auto run = simd::loops<X>().gated_norm_forward[order_index(options)];
    parallel_ranges(shape.rows, min_rows(shape.width), [&](int64_t begin, int64_t end) { run(rows, begin, end); });
  });
  return {y, rstd};
}

GatedNormGrads gated_rms_norm_backward(const at::Tensor& dy_any, const at::Tensor& x_any, const at::Tensor& z_any,
                                       const at::Tensor& gain, const at::Tensor& rstd,
                                       const GatedNormOptions& options) {
  const GatedNormShape shape = gated_norm_shape(x_any, z_any, gain, options);
  PRIMUS_CHECK(dy_any.sizes() == x_any.sizes() && rstd.numel() * shape.group == x_any.numel(),
               "gated norm backward: dy is of x's shape, rstd of its groups");
  if (!is_fast(x_any)) return reference::gated_rms_norm_backward(dy_any, x_any, z_any, gain, rstd, options);
  const at::Tensor x = x_any.contiguous(), z = z_any.to(x.scalar_type()).contiguous();
  const at::Tensor dy = dy_any.to(x.scalar_type()).contiguous();
  const at::Tensor gain_h = as_float_row(gain);
  at::Tensor dx = at::empty_like(x), dz = at::empty_like(x);
  const RowBlocks blocks(shape.rows);
  const at::Tensor d_gain = at::zeros({blocks.count(), shape.width}, x.options().dtype(at::kFloat));
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    simd::GatedNormRows<X> rows{};
    rows.dy = pointer<X>(dy);
    rows.x = pointer<X>(x);
    rows.z = pointer<X>(z);
    rows.gain = pointer<float>(gain_h);
    rows.rstd = pointer<float>(rstd);
    rows.dx = pointer<X>(dx);
    rows.dz = pointer<X>(dz);
    rows.width = shape.width;
    rows.group = shape.group;
    float* const sums = pointer<float>(d_gain);
    const auto run = simd::loops<X>().gated_norm_backward[order_index(options)];
    parallel_ranges(blocks.count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        run(rows, blocks.begin(block), blocks.end(block), sums + block * shape.width);
      }
    });
  });
  return {dx, dz, sum_block_rows(d_gain)};
}

}  // namespace primus::kernels
