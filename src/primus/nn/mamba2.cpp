#include "primus/nn/mamba2.h"

#include <limits>

#include "primus/nn/sequence.h"

namespace primus::nn {

Mamba2::Mamba2(const spec::Mamba2& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options)
    : shape_(shape), name_(options.name) {
  const int64_t inner = shape.num_heads * shape.head_dim, states = shape.num_groups * shape.state_dim;
  const std::vector<Piece> in = {{name_ + ".z", inner, first.q},
                                 {name_ + ".x", inner, first.q},
                                 {name_ + ".b", states, first.q},
                                 {name_ + ".c", states, first.q},
                                 {name_ + ".dt", shape.num_heads, first.q}};
  const std::vector<Piece> out = {{name_ + ".o", hidden, first.out}};
  const std::vector<int64_t> heads = {shape.num_heads};
  in_ = projection(in, hidden, first.law);
  in_bias_ = projection_bias(shape.bias, in, first.bias);
  conv_ = conv_weight(name_ + ".conv", inner + 2 * states, shape.kernel_size);
  conv_bias_ = conv_bias(shape.conv_bias, name_ + ".conv", inner + 2 * states, shape.kernel_size);
  a_log_ = std::make_unique<Parameter>(name_ + ".a_log", heads, InitKind::LogOfUniform, Spread::between(1, 16));
  dt_bias_ = std::make_unique<Parameter>(name_ + ".dt_bias", heads, InitKind::StepBias, Spread::between(1e-3, 1e-1));
  skip_ = std::make_unique<Parameter>(name_ + ".d", heads, InitKind::Ones);
  norm_ = norm_gain(shape.output_norm, name_ + ".norm", inner);
  out_ = projection(out, inner, first.law);
  out_bias_ = projection_bias(shape.bias, out, first.bias);
}

at::Tensor Mamba2::forward(const at::Tensor& x_bth, const Context& context) {
  const int64_t b = x_bth.size(0), t = x_bth.size(1), inner = shape_.num_heads * shape_.head_dim;
  const int64_t states = shape_.num_groups * shape_.state_dim;
  const std::vector<at::Tensor> in =
      linear(x_bth, *in_, in_bias_.get(), context).split_with_sizes({inner, inner + 2 * states, shape_.num_heads}, 2);
  const std::vector<at::Tensor> xbc = short_conv(in[1], *conv_, conv_bias_.get(), /*silu=*/true, name_, context)
                                          .split_with_sizes({inner, states, states}, 2);
  at::Tensor dt = at::softplus(in[2].to(at::kFloat) + value_of(*dt_bias_, in[2]));
  if (shape_.least_step > 0 || shape_.longest_step > 0)
    dt = dt.clamp(shape_.least_step,
                  shape_.longest_step > 0 ? shape_.longest_step : std::numeric_limits<double>::infinity());
  const at::Tensor y_bthp = ssd({.x = xbc[0].view({b, t, shape_.num_heads, shape_.head_dim}),
                                 .dt = dt,
                                 .b = xbc[1].view({b, t, shape_.num_groups, shape_.state_dim}),
                                 .c = xbc[2].view({b, t, shape_.num_groups, shape_.state_dim})},
                                *a_log_, *skip_, name_ + ".state", context);
  const at::Tensor y = gated_norm(y_bthp.view({b, t, inner}), in[0], *norm_, shape_.output_norm, /*gate_first=*/true,
                                  inner / shape_.num_groups);
  return linear(y, *out_, out_bias_.get(), context);
}

std::vector<Parameter*> Mamba2::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, in_, in_bias_, conv_, conv_bias_, a_log_, dt_bias_, skip_, norm_, out_, out_bias_);
  return all;
}

}  // namespace primus::nn
