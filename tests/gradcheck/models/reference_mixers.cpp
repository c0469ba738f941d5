// Mixers that are no attention: convolutions tap by tap, states token by token.
#include "gradcheck/models/reference_layers.h"

namespace primus::test {

namespace {

at::Tensor swish(const at::Tensor& x) {
  return x * at::sigmoid(x);
}

// 0 where token t is the first of its document, and nothing comes from before it; else 1. [b, 1, 1, 1]
at::Tensor goes_on(const nn::Context& context, int64_t b, int64_t t) {
  const at::Tensor inside = context.document_start.defined() ? (context.document_start.select(1, t) < t).to(at::kDouble)
                                                             : at::full({b}, t > 0 ? 1.0 : 0.0, at::kDouble);
  return inside.view({b, 1, 1, 1});
}

}  // namespace

at::Tensor ReferenceLayers::convolved(const at::Tensor& x_btc, const std::string& name, bool bias) const {
  const at::Tensor& w = weight(name + ".weight");
  const int64_t b = x_btc.size(0), t = x_btc.size(1), taps = w.size(1);
  std::vector<at::Tensor> columns;
  for (int64_t at_token = 0; at_token < t; ++at_token) {
    at::Tensor sum =
        bias ? weight(name + ".bias").expand({b, x_btc.size(2)}) : at::zeros({b, x_btc.size(2)}, at::kDouble);
    for (int64_t back = 0; back < taps && back <= at_token; ++back) {
      at::Tensor term = x_btc.select(1, at_token - back) * w.select(1, taps - 1 - back);
      if (context_.document_start.defined())
        term = term * (context_.document_start.select(1, at_token) <= at_token - back).unsqueeze(1);
      sum = sum + term;
    }
    columns.push_back(sum);
  }
  return at::stack(columns, 1);
}

at::Tensor ReferenceLayers::short_conv(const at::Tensor& y, const spec::ShortConv& c, const std::string& name) const {
  const at::Tensor gated = linear(y, name + ".b", c.bias) * linear(y, name + ".x", c.bias);
  return linear(linear(y, name + ".c", c.bias) * convolved(gated, name + ".conv", c.bias), name + ".o", c.bias);
}

// Equation 10 of arXiv 2412.06464, a state [K, V] a head.
at::Tensor ReferenceLayers::gated_delta(const at::Tensor& y, const spec::GatedDelta& g, const std::string& name) const {
  const int64_t b = y.size(0), t = y.size(1), heads = g.num_value_heads, share = heads / g.num_key_heads;
  const at::Tensor mixed = swish(convolved(
      at::cat({linear(y, name + ".q", false), linear(y, name + ".k", false), linear(y, name + ".v", false)}, 2),
      name + ".conv", false));
  const int64_t keys = g.num_key_heads * g.key_head_dim;
  const auto unit = [&](const at::Tensor& x) {
    const at::Tensor by_head = x.reshape({b, t, g.num_key_heads, g.key_head_dim});
    return (by_head / (by_head.square().sum(-1, true) + 1e-6).sqrt()).repeat_interleave(share, 2);
  };
  const at::Tensor q = unit(mixed.narrow(2, 0, keys)) / std::sqrt(static_cast<double>(g.key_head_dim));
  const at::Tensor k = unit(mixed.narrow(2, keys, keys));
  const at::Tensor v = mixed.narrow(2, 2 * keys, heads * g.value_head_dim).reshape({b, t, heads, g.value_head_dim});
  const at::Tensor beta = at::sigmoid(linear(y, name + ".b", false));
  const at::Tensor step = at::log(1 + at::exp(linear(y, name + ".a", false) + weight(name + ".dt_bias")));
  const at::Tensor alpha = at::exp(-at::exp(weight(name + ".a_log")) * step);
  at::Tensor state = at::zeros({b, heads, g.key_head_dim, g.value_head_dim}, at::kDouble);
  std::vector<at::Tensor> out;
  for (int64_t i = 0; i < t; ++i) {
    state = state * goes_on(context_, b, i) * alpha.select(1, i).view({b, heads, 1, 1});
    const at::Tensor key = k.select(1, i).unsqueeze(3), value = v.select(1, i).unsqueeze(2);
    const at::Tensor error = value - (state * key).sum(2, true);
    state = state + beta.select(1, i).view({b, heads, 1, 1}) * key * error;
    out.push_back((state * q.select(1, i).unsqueeze(3)).sum(2));
  }
  const at::Tensor z = linear(y, name + ".z", false).view({b, t, heads, g.value_head_dim});
  const at::Tensor normed = norm(at::stack(out, 1), g.output_norm, name + ".norm") * swish(z);
  return linear(normed.reshape({b, t, -1}), name + ".o", false);
}

// Section 2 of arXiv 2405.21060, a state [P, N] a head; the norm of section 7 in every group.
at::Tensor ReferenceLayers::mamba2(const at::Tensor& y, const spec::Mamba2& m, const std::string& name) const {
  const int64_t b = y.size(0), t = y.size(1), inner = m.num_heads * m.head_dim, share = m.num_heads / m.num_groups;
  const int64_t states = m.num_groups * m.state_dim;
  const at::Tensor mixed = swish(convolved(
      at::cat({linear(y, name + ".x", m.bias), linear(y, name + ".b", m.bias), linear(y, name + ".c", m.bias)}, 2),
      name + ".conv", m.conv_bias));
  const at::Tensor x = mixed.narrow(2, 0, inner).reshape({b, t, m.num_heads, m.head_dim});
  const auto of_heads = [&](int64_t first) {
    return mixed.narrow(2, first, states).reshape({b, t, m.num_groups, m.state_dim}).repeat_interleave(share, 2);
  };
  const at::Tensor in = of_heads(inner), read = of_heads(inner + states);
  at::Tensor dt = at::log(1 + at::exp(linear(y, name + ".dt", m.bias) + weight(name + ".dt_bias")));
  dt = dt.clamp_min(m.least_step);
  if (m.longest_step > 0) dt = dt.clamp_max(m.longest_step);
  const at::Tensor decay = at::exp(-at::exp(weight(name + ".a_log")) * dt);
  at::Tensor state = at::zeros({b, m.num_heads, m.head_dim, m.state_dim}, at::kDouble);
  std::vector<at::Tensor> out;
  for (int64_t i = 0; i < t; ++i) {
    const at::Tensor now = x.select(1, i).unsqueeze(3) * dt.select(1, i).view({b, m.num_heads, 1, 1});
    state = state * goes_on(context_, b, i) * decay.select(1, i).view({b, m.num_heads, 1, 1}) +
            now * in.select(1, i).unsqueeze(2);
    const at::Tensor skip = weight(name + ".d").view({1, m.num_heads, 1}) * x.select(1, i);
    out.push_back((state * read.select(1, i).unsqueeze(2)).sum(3) + skip);
  }
  const at::Tensor gated = at::stack(out, 1).reshape({b, t, inner}) * swish(linear(y, name + ".z", m.bias));
  const at::Tensor by_group = gated.view({b, t, m.num_groups, inner / m.num_groups});
  const at::Tensor normed = by_group / (by_group.square().mean(-1, true) + m.output_norm.eps).sqrt();
  return linear(normed.reshape({b, t, inner}) * weight(name + ".norm.weight"), name + ".o", m.bias);
}

}  // namespace primus::test
