#include "primus/nn/experts.h"

namespace primus::nn::reference {

namespace {

at::ScalarType sum_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor activate(const at::Tensor& x, spec::Activation kind) {
  switch (kind) {
    case spec::Activation::Silu:
      return x * x.sigmoid();
    case spec::Activation::Gelu:
      return at::gelu(x);
    case spec::Activation::QuickGelu:
      return x * (1.702 * x).sigmoid();
    case spec::Activation::SquaredRelu:
      return x.relu().square();
    case spec::Activation::GeluTanh:
      return at::gelu(x, "tanh");
  }
  return x;
}

at::Tensor rows_of(const at::Tensor& stacked, int64_t expert, int64_t num_experts) {
  if (!stacked.defined()) return stacked;
  const int64_t rows = stacked.size(0) / num_experts;
  return stacked.narrow(0, expert * rows, rows);
}

at::Tensor project(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const at::Tensor y = x.matmul(w.t());
  return bias.defined() ? y + bias : y;
}

}  // namespace

at::Tensor activation(const at::Tensor& x, const spec::Mlp& mlp) {
  const at::Tensor wide = x.to(sum_type(x));
  at::Tensor gate = wide, up;
  if (mlp.gated) {
    const std::vector<at::Tensor> halves = wide.chunk(2, -1);
    gate = halves[0];
    up = halves[1];
    if (mlp.clamp > 0) {
      gate = gate.clamp_max(mlp.clamp);
      up = up.clamp(-mlp.clamp, mlp.clamp);
    }
    up = up + mlp.up_offset;
  } else if (mlp.clamp > 0) {
    gate = gate.clamp(-mlp.clamp, mlp.clamp);
  }
  const at::Tensor active = activate(gate, mlp.activation);
  return (up.defined() ? active * up : active).to(x.scalar_type());
}

at::Tensor experts(const at::Tensor& x_nd, const Routing& routing, const ExpertWeights& w, const spec::Mlp& mlp,
                   bool weight_on_input) {
  const int64_t width = x_nd.size(1), num_experts = w.fc2.size(0) / width;
  const at::ScalarType wide = sum_type(x_nd);
  at::Tensor out = at::zeros(x_nd.sizes(), x_nd.options().dtype(wide));
  for (int64_t e = 0; e < num_experts; ++e) {
    at::Tensor chosen = routing.experts == e;
    if (routing.keep.defined()) chosen = chosen.logical_and(routing.keep);
    const at::Tensor pairs = chosen.nonzero();  // [rows, 2]: token, slot
    const at::Tensor tokens = pairs.select(1, 0), slots = pairs.select(1, 1);
    const at::Tensor weight = routing.weights.index({tokens, slots}).unsqueeze(1);
    at::Tensor x = x_nd.index_select(0, tokens);
    if (weight_on_input) x = (x.to(wide) * weight).to(x_nd.scalar_type());
    const at::Tensor inner = project(x, rows_of(w.fc1, e, num_experts), rows_of(w.fc1_bias, e, num_experts));
    at::Tensor y = project(activation(inner, mlp), rows_of(w.fc2, e, num_experts), rows_of(w.fc2_bias, e, num_experts));
    y = y.to(wide);
    out = out.index_add(0, tokens, weight_on_input ? y : y * weight);
  }
  return out.to(x_nd.scalar_type());
}

}  // namespace primus::nn::reference
