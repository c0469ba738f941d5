#include "primus/kernels/gated_norm.h"

#include "parity/kernels/kernel_cases.h"

#include "primus/base/check.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;
using cases::tolerance;

TEST(GatedNorm, EqualsTheDoubleReferenceAtOddWidths) {
  for (const int64_t width : {7, 16, 129}) {
    for (const int64_t groups : {1, 3}) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        for (const auto order : {GateOrder::NormFirst, GateOrder::GateFirst}) {
          SCOPED_TRACE(testing::Message() << width << " x " << groups << ", order " << static_cast<int>(order));
          const GatedNormOptions options{1e-5, order, groups == 1 ? 0 : width};
          const at::Tensor x = cases::shouting({5, 3, groups * width}, 1, type);
          const at::Tensor z = quiet(x.sizes(), 2, type), dy = quiet(x.sizes(), 3, type);
          const at::Tensor gain = quiet({groups * width}, 4);
          const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
          const auto [y, rstd] = gated_rms_norm_forward(x, z, gain, options);
          const auto [y_ref, rstd_ref] = reference::gated_rms_norm_forward(wide(x), wide(z), wide(gain), options);
          EXPECT_EQ(y.scalar_type(), type);
          EXPECT_EQ(rstd.sizes(), at::IntArrayRef({15, groups}));
          EXPECT_LT(distance(y, y_ref), tolerance(type));
          EXPECT_LT(distance(rstd, rstd_ref), 1e-6);
          const auto [dx, dz, d_gain] = gated_rms_norm_backward(dy, x, z, gain, rstd, options);
          const auto [dx_ref, dz_ref, d_gain_ref] =
              reference::gated_rms_norm_backward(wide(dy), wide(x), wide(z), wide(gain), rstd_ref, options);
          EXPECT_LT(distance(dx, dx_ref), 10 * tolerance(type));
          EXPECT_LT(distance(dz, dz_ref), 10 * tolerance(type));
          EXPECT_LT(distance(d_gain, d_gain_ref), 2e-5);
        }
      }
    }
  }
}

TEST(GatedNorm, GivesTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor x = quiet({333, 96}, 5, at::kBFloat16), z = quiet({333, 96}, 6, at::kBFloat16);
  const at::Tensor gain = quiet({96}, 7);
  cases::expect_same_with_one_and_two_threads([&] {
    const auto [y, rstd] = gated_rms_norm_forward(x, z, gain, {.group = 32});
    const auto [dx, dz, d_gain] = gated_rms_norm_backward(z, x, z, gain, rstd, {.group = 32});
    return std::vector<at::Tensor>{y, rstd, dx, dz, d_gain};
  });
}

TEST(GatedNorm, RefusesShapesThatDoNotFit) {
  const at::Tensor x = quiet({3, 8}, 8);
  EXPECT_THROW(gated_rms_norm_forward(x, x, at::ones({8}), {.group = 3}), InternalError);
  EXPECT_THROW(gated_rms_norm_forward(x, x.narrow(0, 0, 2), at::ones({8}), {}), InternalError);
}

}  // namespace

}  // namespace primus::kernels
