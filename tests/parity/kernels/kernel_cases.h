// Shared by the parity tests: inputs whose values shout, distances, thread counts.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace primus::kernels::cases {

// Odd widths, below, at and above a vector and its tail.
inline const std::vector<int64_t> kWidths = {1, 7, 16, 129, 1000};

// Normal values with every 13th a hundredfold and every 17th zero.
inline at::Tensor shouting(at::IntArrayRef shape, uint64_t seed, at::ScalarType type = at::kFloat) {
  at::manual_seed(seed);
  at::Tensor t = at::randn(shape, at::kFloat);
  at::Tensor flat = t.view({-1});
  flat.slice(0, 12, flat.numel(), 13).mul_(100);
  flat.slice(0, 16, flat.numel(), 17).zero_();
  return t.to(type);
}

inline at::Tensor quiet(at::IntArrayRef shape, uint64_t seed, at::ScalarType type = at::kFloat) {
  at::manual_seed(seed);
  return at::randn(shape, at::kFloat).to(type);
}

// Largest |a - b| over the largest |b|, plus the largest relative error of entries that are not small: in double.
inline double distance(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.numel(), b.numel());
  if (a.numel() == 0) return 0;
  const at::Tensor x = a.to(at::kDouble).reshape(-1);
  const at::Tensor y = b.to(at::kDouble).reshape(-1);
  EXPECT_TRUE(at::isfinite(x).all().item<bool>());
  const double scale = y.abs().max().item<double>();
  if (scale == 0) return x.abs().max().item<double>();
  return ((x - y).abs() / (y.abs() + 0.01 * scale)).max().item<double>();
}

inline double tolerance(at::ScalarType type) {
  return type == at::kBFloat16 ? 0.0079 : 1e-5;
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(a, b);
}

// Results of make() with one and with two threads.
inline void expect_same_with_one_and_two_threads(const std::function<std::vector<at::Tensor>()>& make) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = make();
  at::set_num_threads(2);
  const std::vector<at::Tensor> two = make();
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(same_bits(one[i], two[i])) << "result " << i << " with two threads";
  }
}

}  // namespace primus::kernels::cases
