#include "primus/nn/gated_delta.h"

#include "primus/nn/sequence.h"

namespace primus::nn {

GatedDeltaNet::GatedDeltaNet(const spec::GatedDelta& shape, int64_t hidden, const FirstWeights& first,
                             const MixerOptions& options)
    : shape_(shape), name_(options.name) {
  const int64_t k = shape.num_key_heads * shape.key_head_dim, v = shape.num_value_heads * shape.value_head_dim;
  const int64_t heads = shape.num_value_heads;
  qkv_ = projection({{name_ + ".q", k, first.q}, {name_ + ".k", k, first.q}, {name_ + ".v", v, first.q}}, hidden,
                    first.law);
  z_ = projection({{name_ + ".z", v, first.q}}, hidden, first.law);
  ba_ = projection({{name_ + ".b", heads, first.q}, {name_ + ".a", heads, first.q}}, hidden, first.law);
  conv_ = conv_weight(name_ + ".conv", 2 * k + v, shape.kernel_size);
  a_log_ = std::make_unique<Parameter>(name_ + ".a_log", std::vector<int64_t>{heads}, InitKind::LogOfUniform,
                                       Spread::between(1, 16));
  dt_bias_ = std::make_unique<Parameter>(name_ + ".dt_bias", std::vector<int64_t>{heads}, InitKind::Ones);
  norm_ = norm_gain(shape.output_norm, name_ + ".norm", shape.value_head_dim);
  out_ = projection({{name_ + ".o", hidden, first.out}}, v, first.law);
}

at::Tensor GatedDeltaNet::forward(const at::Tensor& x_bth, const Context& context) {
  const int64_t b = x_bth.size(0), t = x_bth.size(1), heads = shape_.num_value_heads;
  const int64_t k = shape_.num_key_heads * shape_.key_head_dim, v = heads * shape_.value_head_dim;
  const at::Tensor qkv = linear(x_bth, *qkv_, nullptr, context);
  const std::vector<at::Tensor> parts =
      short_conv(qkv, *conv_, nullptr, /*silu=*/true, name_, context).split_with_sizes({k, k, v}, 2);
  const std::vector<at::Tensor> ba = linear(x_bth, *ba_, nullptr, context).to(at::kFloat).chunk(2, 2);
  const at::Tensor beta = ba[0].sigmoid();
  const at::Tensor step = at::softplus(ba[1] + value_of(*dt_bias_, ba[1]));
  const at::Tensor decay = -(value_of(*a_log_, ba[1]).exp() * step);  // log of alpha, equation 10
  const at::Tensor out_bthv =
      gated_delta(parts[0].view({b, t, shape_.num_key_heads, shape_.key_head_dim}),
                  parts[1].view({b, t, shape_.num_key_heads, shape_.key_head_dim}),
                  parts[2].view({b, t, heads, shape_.value_head_dim}), decay, beta, name_ + ".state", context);
  const at::Tensor z_bthv = linear(x_bth, *z_, nullptr, context).view({b, t, heads, shape_.value_head_dim});
  const at::Tensor y = gated_norm(out_bthv, z_bthv, *norm_, shape_.output_norm, /*gate_first=*/false, /*group=*/0);
  return linear(y.view({b, t, v}), *out_, nullptr, context);
}

std::vector<Parameter*> GatedDeltaNet::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, qkv_, z_, ba_, conv_, a_log_, dt_bias_, norm_, out_);
  return all;
}

}  // namespace primus::nn
