#include "primus/kernels/activation.h"

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

enum class Gating { Plain, Gated };

// dy undefined: forward.
void run_activation(Activation activation, Gating gating, const at::Tensor& dy, const at::Tensor& x,
                    const at::Tensor& bias, const at::Tensor& out, int64_t width) {
  const int64_t num_rows = width == 0 ? 0 : x.numel() / x.size(-1);
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const simd::Loops<X>& loops = simd::loops<X>();
    const bool backward = dy.defined();
    const auto& forms = gating == Gating::Gated ? (backward ? loops.gated_backward : loops.gated_forward)
                                                : (backward ? loops.plain_backward : loops.plain_forward);
    const auto run = forms[static_cast<int>(activation)];
    const X* const dy_data = backward ? pointer<X>(dy) : nullptr;
    const X* const x_data = pointer<X>(x);
    const float* const bias_data = bias.defined() ? pointer<float>(bias) : nullptr;
    X* const out_data = pointer<X>(out);
    parallel_ranges(num_rows, min_rows(width),
                    [&](int64_t begin, int64_t end) { run(dy_data, x_data, bias_data, out_data, width, begin, end); });
  });
}

at::Tensor like_input(const at::Tensor& dy, const at::Tensor& x) {
  return dy.to(x.scalar_type()).contiguous();
}

void check_bias(const at::Tensor& x, const at::Tensor& bias) {
  PRIMUS_CHECK(!bias.defined() || bias.numel() == x.size(-1), "activation: the bias has another width");
}

at::DimVector gated_shape(const at::Tensor& gate_up) {
  PRIMUS_CHECK(gate_up.size(-1) % 2 == 0, "gated activation: [gate | up] needs an even width");
  at::DimVector shape(gate_up.sizes());
  shape.back() /= 2;
  return shape;
}

}  // namespace

at::Tensor activation_forward(Activation activation, const at::Tensor& x_any, const at::Tensor& bias) {
  check_bias(x_any, bias);
  if (!is_fast(x_any)) return reference::activation_forward(activation, x_any, bias);
  const at::Tensor x = x_any.contiguous();
  at::Tensor y = at::empty_like(x);
  run_activation(activation, Gating::Plain, {}, x, as_float_row(bias), y, x.size(-1));
  return y;
}

at::Tensor activation_backward(Activation activation, const at::Tensor& dy, const at::Tensor& x_any,
                               const at::Tensor& bias) {
  PRIMUS_CHECK(dy.sizes() == x_any.sizes(), "activation backward: dy and x differ in shape");
  check_bias(x_any, bias);
  if (!is_fast(x_any)) return reference::activation_backward(activation, dy, x_any, bias);
  const at::Tensor x = x_any.contiguous();
  at::Tensor dx = at::empty_like(x);
  run_activation(activation, Gating::Plain, like_input(dy, x), x, as_float_row(bias), dx, x.size(-1));
  return dx;
}

at::Tensor gated_forward(Activation activation, const at::Tensor& gate_up_any, const at::Tensor& bias) {
  const at::DimVector shape = gated_shape(gate_up_any);
  check_bias(gate_up_any, bias);
  if (!is_fast(gate_up_any)) return reference::gated_forward(activation, gate_up_any, bias);
  const at::Tensor gate_up = gate_up_any.contiguous();
  at::Tensor y = at::empty(shape, gate_up.options());
  run_activation(activation, Gating::Gated, {}, gate_up, as_float_row(bias), y, shape.back());
  return y;
}

at::Tensor gated_backward(Activation activation, const at::Tensor& dy, const at::Tensor& gate_up_any,
                          const at::Tensor& bias) {
  PRIMUS_CHECK(dy.sizes() == at::IntArrayRef(gated_shape(gate_up_any)), "gated backward: dy has another shape");
  check_bias(gate_up_any, bias);
  if (!is_fast(gate_up_any)) return reference::gated_backward(activation, dy, gate_up_any, bias);
  const at::Tensor gate_up = gate_up_any.contiguous();
  at::Tensor d_gate_up = at::empty_like(gate_up);
  run_activation(activation, Gating::Gated, like_input(dy, gate_up), gate_up, as_float_row(bias), d_gate_up,
                 gate_up.size(-1) / 2);
  return d_gate_up;
}

}  // namespace primus::kernels
