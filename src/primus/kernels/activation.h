// Activations of the feed-forward block, ungated and gated, with an optional bias added first.
// Legend: N rows (all leading dims), F width of the block.
#pragma once

#include <tuple>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

enum class Activation {
  Silu,         // x sigmoid(x)
  Gelu,         // x Phi(x), exact (erf)
  GeluTanh,     // the tanh approximation ("openai gelu")
  QuickGelu,    // x sigmoid(1.702 x)
  SquaredRelu,  // max(x, 0)^2
  Relu,
};

// y = act(x + bias). x: [.., F] fp32 or bf16 (fp64, fp16, other devices: reference path); bias: [F] or undefined.
// y: type and shape of x. Arithmetic in fp32.
at::Tensor activation_forward(Activation activation, const at::Tensor& x, const at::Tensor& bias);
// dx = dy * act'(x + bias), in the type of x. The bias gradient is column_sum(dx).
at::Tensor activation_backward(Activation activation, const at::Tensor& dy, const at::Tensor& x,
                               const at::Tensor& bias);

// y = act(gate) * up for the fused product gate_up = [gate | up]: [.., 2F] -> [.., F]. bias: [2F] or undefined, added
// to gate_up first. Silu is SwiGLU. Source: Shazeer 2020.
at::Tensor gated_forward(Activation activation, const at::Tensor& gate_up, const at::Tensor& bias);
// Returns the gradient of gate_up [.., 2F]; the bias gradient is its column_sum.
at::Tensor gated_backward(Activation activation, const at::Tensor& dy, const at::Tensor& gate_up,
                          const at::Tensor& bias);

// The plain forms: libtorch operations in fp32 (fp64 for fp64 input), any device.
namespace reference {
at::Tensor gated_forward(Activation activation, const at::Tensor& gate_up, const at::Tensor& bias);
at::Tensor gated_backward(Activation activation, const at::Tensor& dy, const at::Tensor& gate_up,
                          const at::Tensor& bias);
at::Tensor activation_forward(Activation activation, const at::Tensor& x, const at::Tensor& bias);
at::Tensor activation_backward(Activation activation, const at::Tensor& dy, const at::Tensor& x,
                               const at::Tensor& bias);
}  // namespace reference

}  // namespace primus::kernels
