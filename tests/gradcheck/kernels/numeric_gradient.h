// Central differences in double.
#pragma once

#include <functional>
#include <gtest/gtest.h>

namespace primus::kernels::numeric {

inline at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

// d sum(f(x) * dy) / dx.
inline at::Tensor gradient(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& x,
                           const at::Tensor& dy) {
  const double h = 1e-6;
  at::Tensor gradient = at::empty_like(x);
  at::Tensor moved = x.clone();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double value = x.view({-1})[i].item<double>();
    const auto at_value = [&](double v) {
      moved.view({-1})[i] = v;
      return (f(moved) * dy).sum().item<double>();
    };
    gradient.view({-1})[i] = (at_value(value + h) - at_value(value - h)) / (2 * h);
    moved.view({-1})[i] = value;
  }
  return gradient;
}

inline void expect_close(const at::Tensor& analytic, const at::Tensor& numeric) {
  EXPECT_LT((analytic - numeric).abs().max().item<double>(), 1e-7 * (1 + numeric.abs().max().item<double>()));
}

}  // namespace primus::kernels::numeric
