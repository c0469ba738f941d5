#include "primus/kernels/norm.h"

#include "parity/kernels/kernel_cases.h"

#include "primus/kernels/column_sum.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;
using cases::shouting;
using cases::tolerance;

at::Tensor wide(const at::Tensor& t) {
  return t.defined() ? t.to(at::kDouble) : t;
}

struct NormCase {
  int64_t width;
  at::ScalarType type;
  at::ScalarType gain_type;
  bool zero_centered;
};

std::vector<NormCase> all_cases() {
  std::vector<NormCase> all;
  for (const int64_t width : cases::kWidths) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      all.push_back({width, type, at::kFloat, false});
      all.push_back({width, type, at::kBFloat16, true});
    }
  }
  return all;
}

TEST(RmsNorm, EqualsTheDoubleReferenceAtOddWidths) {
  for (const NormCase& c : all_cases()) {
    SCOPED_TRACE(c.width);
    const NormOptions options{1e-5, c.zero_centered};
    const at::Tensor x = shouting({5, 3, c.width}, 1, c.type);
    const at::Tensor gain = quiet({c.width}, 2, c.gain_type);
    const at::Tensor dy = quiet({5, 3, c.width}, 3, c.type);
    const auto [y, rstd] = rms_norm_forward(x, gain, options);
    const auto [y_ref, rstd_ref] = reference::rms_norm_forward(wide(x), wide(gain), options);
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_EQ(y.scalar_type(), c.type);
    EXPECT_LT(distance(y, y_ref), tolerance(c.type));
    EXPECT_LT(distance(rstd, rstd_ref), 1e-6);
    const at::Tensor d_residual = quiet({5, 3, c.width}, 4, c.type);
    for (const bool with_residual : {false, true}) {
      const at::Tensor extra = with_residual ? d_residual : at::Tensor();
      const auto [dx, d_gain] = rms_norm_backward(dy, x, gain, rstd, options, extra);
      const auto [dx_ref, d_gain_ref] =
          reference::rms_norm_backward(wide(dy), wide(x), wide(gain), rstd_ref, options, wide(extra));
      // In rows of one everything but eps cancels.
      EXPECT_LT(distance(dx, dx_ref), (c.width == 1 ? 100 : 10) * tolerance(c.type));
      EXPECT_LT(distance(d_gain, d_gain_ref), 2e-5);
      EXPECT_EQ(d_gain.scalar_type(), at::kFloat);
    }
  }
}

TEST(LayerNorm, EqualsTheDoubleReferenceAtOddWidths) {
  for (const NormCase& c : all_cases()) {
    if (c.width == 1) continue;  // nothing is left but rounding; see OfAConstantRow
    SCOPED_TRACE(c.width);
    const NormOptions options{1e-5, c.zero_centered};
    const at::Tensor x = shouting({17, c.width}, 5, c.type) + 3;
    const at::Tensor gain = quiet({c.width}, 6, c.gain_type);
    const at::Tensor bias = quiet({c.width}, 7, c.gain_type);
    const at::Tensor dy = quiet({17, c.width}, 8, c.type);
    const auto [y, mean, rstd] = layer_norm_forward(x, gain, bias, options);
    const auto [y_ref, mean_ref, rstd_ref] = reference::layer_norm_forward(wide(x), wide(gain), wide(bias), options);
    EXPECT_LT(distance(y, y_ref), tolerance(c.type));
    EXPECT_LT(distance(mean, mean_ref), 1e-5);
    EXPECT_LT(distance(rstd, rstd_ref), 1e-5);
    const auto [dx, d_gain, d_bias] = layer_norm_backward(dy, x, gain, mean, rstd, options, {});
    const auto [dx_ref, d_gain_ref, d_bias_ref] =
        reference::layer_norm_backward(wide(dy), wide(x), wide(gain), mean_ref, rstd_ref, options, {});
    EXPECT_LT(distance(dx, dx_ref), 10 * tolerance(c.type));
    EXPECT_LT(distance(d_gain, d_gain_ref), 2e-5);
    EXPECT_LT(distance(d_bias, d_bias_ref), 2e-5);
  }
}

TEST(LayerNorm, OfAConstantRowIsTheBias) {
  const at::Tensor x = at::full({3, 20}, 7.25F);
  const at::Tensor bias = quiet({20}, 9);
  const auto [y, mean, rstd] = layer_norm_forward(x, at::ones({20}), bias, {});
  EXPECT_TRUE(at::equal(y, bias.expand({3, 20})));
  EXPECT_FLOAT_EQ(mean[0].item<float>(), 7.25F);
}

TEST(Norm, FusedResidualEqualsAdditionThenNorm) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = shouting({9, 77}, 10, type);
    const at::Tensor residual = shouting({9, 77}, 11, type);
    const at::Tensor gain = quiet({77}, 12);
    const at::Tensor bias = quiet({77}, 13);
    const auto [sum, y, rstd] = add_rms_norm_forward(x, residual, gain, {});
    EXPECT_TRUE(at::equal(sum, x + residual));
    EXPECT_TRUE(at::equal(y, std::get<0>(rms_norm_forward(sum, gain, {}))));
    const auto [sum2, y2, mean2, rstd2] = add_layer_norm_forward(x, residual, gain, bias, {});
    EXPECT_TRUE(at::equal(sum2, sum));
    EXPECT_TRUE(at::equal(y2, std::get<0>(layer_norm_forward(sum, gain, bias, {}))));
  }
}

TEST(Norm, TakesStridedInputs) {
  const at::Tensor x = shouting({40, 12}, 14).t();
  const auto [y, rstd] = rms_norm_forward(x, at::ones({40}), {});
  EXPECT_TRUE(at::equal(y, std::get<0>(rms_norm_forward(x.contiguous(), at::ones({40}), {}))));
}

TEST(Norm, GivesTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor x = shouting({333, 129}, 15, at::kBFloat16);
  const at::Tensor dy = quiet({333, 129}, 16, at::kBFloat16);
  const at::Tensor gain = quiet({129}, 17);
  cases::expect_same_with_one_and_two_threads([&] {
    const auto [y, rstd] = rms_norm_forward(x, gain, {});
    const auto [dx, d_gain] = rms_norm_backward(dy, x, gain, rstd, {}, {});
    const auto [y2, mean2, rstd2] = layer_norm_forward(x, gain, gain, {});
    const auto [dx2, d_gain2, d_bias2] = layer_norm_backward(dy, x, gain, mean2, rstd2, {}, {});
    return std::vector<at::Tensor>{y, rstd, dx, d_gain, y2, dx2, d_gain2, d_bias2, column_sum(dy)};
  });
}

TEST(Norm, AcceptsNoRows) {
  const auto [y, rstd] = rms_norm_forward(at::empty({0, 8}), at::ones({8}), {});
  const auto [dx, d_gain] = rms_norm_backward(y, y, at::ones({8}), rstd, {}, {});
  EXPECT_EQ(dx.numel(), 0);
  EXPECT_TRUE(at::equal(d_gain, at::zeros({8})));
}

TEST(ColumnSum, EqualsTheDoubleSum) {
  for (const int64_t width : cases::kWidths) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor x = quiet({4, 211, width}, 18, type);
      EXPECT_LT(distance(column_sum(x), x.to(at::kDouble).sum({0, 1})), 1e-4);
    }
  }
}

}  // namespace

}  // namespace primus::kernels
