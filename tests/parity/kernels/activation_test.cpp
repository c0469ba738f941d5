#include "primus/kernels/activation.h"

#include "parity/kernels/kernel_cases.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;
using cases::tolerance;

const std::vector<Activation> kAll = {Activation::Silu,      Activation::Gelu,        Activation::GeluTanh,
                                      Activation::QuickGelu, Activation::SquaredRelu, Activation::Relu};

at::Tensor wide(const at::Tensor& t) {
  return t.defined() ? t.to(at::kDouble) : t;
}

TEST(Activation, EqualsTheDoubleReferenceAtOddWidths) {
  for (const Activation activation : kAll) {
    for (const int64_t width : cases::kWidths) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        SCOPED_TRACE(static_cast<int>(activation));
        const at::Tensor x = quiet({3, width}, 1, type) * 3;
        const at::Tensor dy = quiet({3, width}, 2, type);
        for (const at::Tensor& bias : {at::Tensor(), quiet({width}, 3, type)}) {
          EXPECT_LT(distance(activation_forward(activation, x, bias),
                             reference::activation_forward(activation, wide(x), wide(bias))),
                    tolerance(type));
          EXPECT_LT(distance(activation_backward(activation, dy, x, bias),
                             reference::activation_backward(activation, wide(dy), wide(x), wide(bias))),
                    tolerance(type));
        }
      }
    }
  }
}

TEST(Activation, GatedEqualsTheDoubleReferenceAtOddWidths) {
  for (const Activation activation : kAll) {
    for (const int64_t width : cases::kWidths) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        SCOPED_TRACE(static_cast<int>(activation));
        const at::Tensor gate_up = quiet({2, 3, 2 * width}, 4, type) * 2;
        const at::Tensor dy = quiet({2, 3, width}, 5, type);
        for (const at::Tensor& bias : {at::Tensor(), quiet({2 * width}, 6)}) {
          EXPECT_LT(distance(gated_forward(activation, gate_up, bias),
                             reference::gated_forward(activation, wide(gate_up), wide(bias))),
                    tolerance(type));
          EXPECT_LT(distance(gated_backward(activation, dy, gate_up, bias),
                             reference::gated_backward(activation, wide(dy), wide(gate_up), wide(bias))),
                    tolerance(type));
        }
      }
    }
  }
}

TEST(Activation, IsAccurateOverTheWholeRange) {
  const at::Tensor x = at::linspace(-90, 90, 180001, at::kDouble).to(at::kFloat);
  for (const Activation activation : kAll) {
    SCOPED_TRACE(static_cast<int>(activation));
    const at::Tensor y = activation_forward(activation, x, {});
    const at::Tensor y_ref = reference::activation_forward(activation, x.to(at::kDouble), {});
    const at::Tensor error = (y.to(at::kDouble) - y_ref).abs() / (y_ref.abs() + 1e-1);
    EXPECT_LT(error.max().item<double>(), 2e-6);
  }
}

// Far below zero silu is x e^x: its relative error shows that of the exponential.
TEST(Activation, SiluKeepsItsRelativeAccuracyInTheLowerTail) {
  const at::Tensor x = at::linspace(-87, -20, 300007, at::kDouble).to(at::kFloat);
  const at::Tensor y = activation_forward(Activation::Silu, x, {}).to(at::kDouble);
  const at::Tensor exact = reference::activation_forward(Activation::Silu, x.to(at::kDouble), {});
  EXPECT_LT((y / exact - 1).abs().max().item<double>(), 4e-7);
}

TEST(Activation, KeepsLargeValuesFiniteAndNanVisible) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({-1e30F, -200.0F, 200.0F, inf, std::numeric_limits<float>::quiet_NaN()});
  for (const Activation activation : {Activation::Silu, Activation::Gelu, Activation::QuickGelu}) {
    const at::Tensor y = activation_forward(activation, x, {});
    EXPECT_NEAR(y[1].item<float>(), 0.0F, 1e-6);
    EXPECT_EQ(y[2].item<float>(), 200.0F);
    EXPECT_EQ(y[3].item<float>(), inf);
    EXPECT_TRUE(std::isnan(y[4].item<float>()));
  }
}

TEST(Activation, GivesTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor gate_up = quiet({301, 258}, 7, at::kBFloat16);
  const at::Tensor dy = quiet({301, 129}, 8, at::kBFloat16);
  cases::expect_same_with_one_and_two_threads([&] {
    return std::vector<at::Tensor>{gated_forward(Activation::Silu, gate_up, {}),
                                   gated_backward(Activation::Silu, dy, gate_up, {}),
                                   activation_forward(Activation::Gelu, gate_up, {})};
  });
}

}  // namespace

}  // namespace primus::kernels
