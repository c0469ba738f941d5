// The references' gradients against central differences, in double.
#include <gtest/gtest.h>

#include "gradcheck/kernels/numeric_gradient.h"

#include "primus/kernels/activation.h"
#include "primus/kernels/norm.h"
#include "primus/kernels/rope.h"

namespace primus::kernels {

namespace {

using numeric::expect_close;
using numeric::random;

TEST(RmsNormGradient, AgreesWithCentralDifferences) {
  for (const bool zero_centered : {false, true}) {
    const NormOptions options{1e-3, zero_centered};
    const at::Tensor x = random({3, 5}, 1);
    const at::Tensor gain = random({5}, 2);
    const at::Tensor dy = random({3, 5}, 3);
    const at::Tensor rstd = std::get<1>(rms_norm_forward(x, gain, options));
    const auto [dx, d_gain] = rms_norm_backward(dy, x, gain, rstd, options, dy);
    const auto of_x = [&](const at::Tensor& t) { return std::get<0>(rms_norm_forward(t, gain, options)) + t; };
    const auto of_gain = [&](const at::Tensor& t) { return std::get<0>(rms_norm_forward(x, t, options)); };
    expect_close(dx, numeric::gradient(of_x, x, dy));
    expect_close(d_gain, numeric::gradient(of_gain, gain, dy));
  }
}

TEST(LayerNormGradient, AgreesWithCentralDifferences) {
  for (const bool zero_centered : {false, true}) {
    const NormOptions options{1e-3, zero_centered};
    const at::Tensor x = random({3, 5}, 4);
    const at::Tensor gain = random({5}, 5);
    const at::Tensor bias = random({5}, 6);
    const at::Tensor dy = random({3, 5}, 7);
    const auto [y, mean, rstd] = layer_norm_forward(x, gain, bias, options);
    const auto [dx, d_gain, d_bias] = layer_norm_backward(dy, x, gain, mean, rstd, options, {});
    const auto of_x = [&](const at::Tensor& t) { return std::get<0>(layer_norm_forward(t, gain, bias, options)); };
    const auto of_gain = [&](const at::Tensor& t) { return std::get<0>(layer_norm_forward(x, t, bias, options)); };
    const auto of_bias = [&](const at::Tensor& t) { return std::get<0>(layer_norm_forward(x, gain, t, options)); };
    expect_close(dx, numeric::gradient(of_x, x, dy));
    expect_close(d_gain, numeric::gradient(of_gain, gain, dy));
    expect_close(d_bias, numeric::gradient(of_bias, bias, dy));
  }
}

TEST(ActivationGradient, AgreesWithCentralDifferences) {
  for (const Activation activation : {Activation::Silu, Activation::Gelu, Activation::GeluTanh, Activation::QuickGelu,
                                      Activation::SquaredRelu, Activation::Relu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    const at::Tensor x = random({4, 6}, 8);
    const at::Tensor dy = random({4, 6}, 9);
    const at::Tensor bias = random({6}, 10);
    const auto plain = [&](const at::Tensor& t) { return activation_forward(activation, t, bias); };
    expect_close(activation_backward(activation, dy, x, bias), numeric::gradient(plain, x, dy));
    const at::Tensor d_gated = random({4, 3}, 11);
    const auto gated = [&](const at::Tensor& t) { return gated_forward(activation, t, bias); };
    expect_close(gated_backward(activation, d_gated, x, bias), numeric::gradient(gated, x, d_gated));
  }
}

TEST(RopeGradient, AgreesWithCentralDifferences) {
  const auto [cos, sin] = rope_table({.num_positions = 8, .rotary_dim = 4});
  const at::Tensor x = random({1, 3, 2, 6}, 12);
  const at::Tensor dy = random({1, 3, 2, 6}, 13);
  const at::Tensor positions = at::tensor({5, 0, 7}, at::kLong).view({1, 3});
  for (const auto layout : {RopeLayout::HalfRotate, RopeLayout::Interleaved}) {
    const auto apply = [&, cos = cos, sin = sin](const at::Tensor& t, RopeDirection direction) {
      at::Tensor y = at::empty_like(t);
      rope_apply(y, t, cos, sin, positions, 0, layout, direction);
      return y;
    };
    const auto forward = [&](const at::Tensor& t) { return apply(t, RopeDirection::Forward); };
    expect_close(apply(dy, RopeDirection::Backward), numeric::gradient(forward, x, dy));
  }
}

}  // namespace

}  // namespace primus::kernels
