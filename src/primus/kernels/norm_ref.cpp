#include "primus/kernels/norm.h"

namespace primus::kernels::reference {

namespace {

at::ScalarType wide(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor rows(const at::Tensor& t, at::ScalarType type) {
  return t.reshape({-1, t.size(-1)}).to(type);
}

at::Tensor effective_gain(const at::Tensor& gain, at::ScalarType type, const NormOptions& options) {
  return options.zero_centered ? gain.to(type) + 1 : gain.to(type);
}

at::Tensor like(const at::Tensor& value, const at::Tensor& x) {
  return value.to(x.scalar_type()).reshape(x.sizes());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rms_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                    const NormOptions& options) {
  const at::Tensor x_nh = rows(x, wide(x));
  const at::Tensor rstd_n = (x_nh.square().mean(-1) + options.eps).rsqrt();
  const at::Tensor y_nh = x_nh * rstd_n.unsqueeze(-1) * effective_gain(gain, wide(x), options);
  return {like(y_nh, x), rstd_n};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& gain,
                                                     const at::Tensor& rstd, const NormOptions& options,
                                                     const at::Tensor& d_residual) {
  const at::Tensor dy_nh = rows(dy, wide(x));
  const at::Tensor normed_nh = rows(x, wide(x)) * rstd.unsqueeze(-1);
  const at::Tensor d_normed_nh = dy_nh * effective_gain(gain, wide(x), options);
  const at::Tensor projection_n = (d_normed_nh * normed_nh).mean(-1, true);
  at::Tensor dx_nh = rstd.unsqueeze(-1) * (d_normed_nh - normed_nh * projection_n);
  if (d_residual.defined()) dx_nh = dx_nh + rows(d_residual, wide(x));
  return {like(dx_nh, x), (dy_nh * normed_nh).sum(0)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                                  const at::Tensor& bias, const NormOptions& options) {
  const at::Tensor x_nh = rows(x, wide(x));
  const at::Tensor mean_n = x_nh.mean(-1);
  const at::Tensor centered_nh = x_nh - mean_n.unsqueeze(-1);
  const at::Tensor rstd_n = (centered_nh.square().mean(-1) + options.eps).rsqrt();
  at::Tensor y_nh = centered_nh * rstd_n.unsqueeze(-1) * effective_gain(gain, wide(x), options);
  if (bias.defined()) y_nh = y_nh + bias.to(wide(x));
  return {like(y_nh, x), mean_n, rstd_n};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& dy, const at::Tensor& x,
                                                                   const at::Tensor& gain, const at::Tensor& mean,
                                                                   const at::Tensor& rstd, const NormOptions& options,
                                                                   const at::Tensor& d_residual) {
  const at::Tensor dy_nh = rows(dy, wide(x));
  const at::Tensor normed_nh = (rows(x, wide(x)) - mean.unsqueeze(-1)) * rstd.unsqueeze(-1);
  const at::Tensor d_normed_nh = dy_nh * effective_gain(gain, wide(x), options);
  const at::Tensor mean_n = d_normed_nh.mean(-1, true);
  const at::Tensor projection_n = (d_normed_nh * normed_nh).mean(-1, true);
  at::Tensor dx_nh = rstd.unsqueeze(-1) * (d_normed_nh - mean_n - normed_nh * projection_n);
  if (d_residual.defined()) dx_nh = dx_nh + rows(d_residual, wide(x));
  return {like(dx_nh, x), (dy_nh * normed_nh).sum(0), dy_nh.sum(0)};
}

}  // namespace primus::kernels::reference
