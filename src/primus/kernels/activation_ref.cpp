#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/activation.h"

namespace primus::kernels::reference {

namespace {

at::ScalarType wide(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor biased(const at::Tensor& x, const at::Tensor& bias) {
  return bias.defined() ? x.to(wide(x)) + bias.to(wide(x)) : x.to(wide(x));
}

at::Tensor normal_cdf(const at::Tensor& x) {
  return 0.5 * (1 + at::erf(x * M_SQRT1_2));
}
at::Tensor normal_pdf(const at::Tensor& x) {
  return at::exp(-0.5 * x * x) * (0.5 * M_2_SQRTPI * M_SQRT1_2);
}

// x sigmoid(s(x)) covers silu, quick gelu and tanh gelu (0.5 (1 + tanh u) = sigmoid(2u)).
struct Gate {
  at::Tensor s;
  at::Tensor ds;
};
Gate gate_of(Activation activation, const at::Tensor& x) {
  if (activation == Activation::Silu) return {x, at::ones_like(x)};
  if (activation == Activation::QuickGelu) return {1.702 * x, at::full_like(x, 1.702)};
  const double c = 2 * std::sqrt(2 / M_PI);
  return {c * (x + 0.044715 * x.pow(3)), c * (1 + 3 * 0.044715 * x.square())};
}

at::Tensor value(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::Gelu:
      return x * normal_cdf(x);
    case Activation::SquaredRelu:
      return at::relu(x).square();
    case Activation::Relu:
      return at::relu(x);
    default:
      return x * at::sigmoid(gate_of(activation, x).s);
  }
}

at::Tensor slope(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::Gelu:
      return normal_cdf(x) + x * normal_pdf(x);
    case Activation::SquaredRelu:
      return 2 * at::relu(x);
    case Activation::Relu:
      return (x > 0).to(x.scalar_type());
    default:
      break;
  }
  const Gate gate = gate_of(activation, x);
  const at::Tensor p = at::sigmoid(gate.s);
  return p + x * p * (1 - p) * gate.ds;
}

}  // namespace

at::Tensor activation_forward(Activation activation, const at::Tensor& x, const at::Tensor& bias) {
  return value(activation, biased(x, bias)).to(x.scalar_type());
}

at::Tensor activation_backward(Activation activation, const at::Tensor& dy, const at::Tensor& x,
                               const at::Tensor& bias) {
  return (dy.to(wide(x)) * slope(activation, biased(x, bias))).to(x.scalar_type());
}

at::Tensor gated_forward(Activation activation, const at::Tensor& gate_up, const at::Tensor& bias) {
  const auto halves = biased(gate_up, bias).chunk(2, -1);
  return (value(activation, halves[0]) * halves[1]).to(gate_up.scalar_type());
}

at::Tensor gated_backward(Activation activation, const at::Tensor& dy, const at::Tensor& gate_up,
                          const at::Tensor& bias) {
  const auto halves = biased(gate_up, bias).chunk(2, -1);
  const at::Tensor dy_wide = dy.to(wide(gate_up));
  const at::Tensor d_gate = dy_wide * halves[1] * slope(activation, halves[0]);
  const at::Tensor d_up = dy_wide * value(activation, halves[0]);
  return at::cat({d_gate, d_up}, -1).to(gate_up.scalar_type());
}

}  // namespace primus::kernels::reference
