// Moments and gradients in fewer bits (megatron's use_precision_aware_optimizer).
#include <gtest/gtest.h>

#include "primus/optim/optimizer.h"

namespace primus::optim {
namespace {

at::Tensor rounded(const at::Tensor& values) {
  return values.to(at::kBFloat16).to(at::kFloat);
}

// Two steps of AdamW by hand, everything that the rule names rounded to bf16 where it is stored.
TEST(OptimizerPrecision, RoundsMomentsAndGradientsWhereTheRuleSaysSo) {
  for (const bool narrow : {false, true}) {
    const auto stored = [&](const at::Tensor& values) { return narrow ? rounded(values) : values; };
    nn::Parameter parameter("w.weight", {3, 5}, nn::InitKind::Normal, 0.7);
    parameter.initialise(5, spec::Dtype::BFloat16);
    parameter.main_grad = at::zeros({3, 5});
    spec::Optimizer rules{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
    if (narrow) rules.first_moment = rules.second_moment = rules.gradients = spec::Dtype::BFloat16;
    Optimizer optimizer({&parameter}, rules);
    at::Tensor w = parameter.master.clone(), m = at::zeros({3, 5}), v = at::zeros({3, 5});
    for (int64_t step = 1; step <= 2; ++step) {
      const at::Tensor grad = at::linspace(-1.234567, 0.987654, 15).view({3, 5}) * static_cast<double>(step);
      parameter.main_grad.copy_(grad);
      optimizer.update({.lr = 0.01, .embedding_and_head_lr = 0.01, .weight_decay = 0.1});
      const at::Tensor g = stored(grad);
      const at::Tensor m_now = 0.9 * m + 0.1 * g, v_now = 0.95 * v + 0.05 * g * g;
      const double c1 = 1 - std::pow(0.9, step), c2 = 1 - std::pow(0.95, step);
      w = w * (1 - 0.01 * 0.1) - 0.01 * (m_now / c1) / ((v_now / c2).sqrt() + 1e-8);
      m = stored(m_now);
      v = stored(v_now);
    }
    EXPECT_TRUE(at::allclose(parameter.master, w, 1e-5, 1e-6)) << narrow;
    EXPECT_TRUE(at::equal(parameter.compute, parameter.master.to(at::kBFloat16)));
    const auto state = optimizer.state(0);
    EXPECT_EQ(state[0].tensor.scalar_type(), narrow ? at::kBFloat16 : at::kFloat);
    EXPECT_EQ(state[1].tensor.scalar_type(), narrow ? at::kBFloat16 : at::kFloat);
    EXPECT_TRUE(at::allclose(state[0].tensor.to(at::kFloat), m, 1e-2, 1e-6));
  }
}

}  // namespace
}  // namespace primus::optim
