// Products of our own: sizes around and far from those of tiles and blocks, layouts, special values, threads.
#include "primus/kernels/gemm_tiled.h"

#include <array>
#include <gtest/gtest.h>
#include <limits>

#include "primus/kernels/gemm.h"
#include "primus/tensor/prelude.h"

namespace primus::kernels {
namespace {

class TiledProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_tiled_products(false)) GTEST_SKIP() << "this CPU has no AVX-512";
  }
};

constexpr float kInf = std::numeric_limits<float>::infinity();

at::Tensor values(at::IntArrayRef shape, uint64_t seed, at::ScalarType type) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::TensorOptions(at::kFloat)).to(type);
}

// [rows, columns] of `type` in one of four layouts; what surrounds a view is NaN.
at::Tensor operand(int64_t rows, int64_t columns, int layout, uint64_t seed, at::ScalarType type) {
  if (layout % 2 == 1) return operand(columns, rows, layout - 1, seed, type).t();
  const at::Tensor t = values({rows, columns}, seed, type);
  if (layout == 0) return t;
  at::Tensor view = at::full({rows + 2, columns + 9}, std::nan(""), type).narrow(0, 1, rows).narrow(1, 3, columns);
  view.copy_(t);
  return view;
}

std::vector<at::ScalarType> types() {
  std::vector<at::ScalarType> all = {at::kFloat};
  if (has_tiled_products(true)) all.push_back(at::kBFloat16);
  return all;
}

double largest(const at::Tensor& t) {
  return t.abs().max().item<double>();
}

// Sums of `depth` products of about 1: an error in one element must stand out.
double bound(int64_t depth) {
  return 1e-6 * static_cast<double>(10 + depth);
}

TEST_F(TiledProducts, EqualDoubleForAllSizesAndLayouts) {
  const int64_t sizes[] = {1, 3, 17, 99};
  int layout = 0;
  for (const at::ScalarType type : types()) {
    for (const int64_t m : sizes) {
      for (const int64_t n : sizes) {
        for (const int64_t k : sizes) {
          layout = (layout + 5) % 16;
          const at::Tensor a = operand(m, k, layout % 4, 1, type), b = operand(k, n, layout / 4, 2, type);
          const at::Tensor out = at::full({m, n}, std::nan(""), at::kFloat);
          tiled_products({{a, b, out}});
          const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
          EXPECT_LT(largest(out - exact), bound(k)) << type << " " << m << " x " << n << " x " << k << " " << layout;
        }
      }
    }
  }
}

TEST_F(TiledProducts, EqualDoubleAcrossManyBlocks) {
  for (const at::ScalarType type : types()) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1000, 99, 1000}, {300, 1130, 17}, {9, 50, 3001}}) {
      for (const int layout : {0, 1, 2, 3}) {
        const at::Tensor a = operand(m, k, layout, 1, type), b = operand(k, n, 3 - layout, 2, type);
        const at::Tensor out = at::full({m, n}, std::nan(""), at::kFloat);
        tiled_products({{a, b, out}});
        const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
        EXPECT_LT(largest(out - exact), bound(k)) << type << " " << m << " x " << n << " x " << k << " " << layout;
      }
    }
  }
}

TEST_F(TiledProducts, AddToStridedRowsAndTouchNothingElse) {
  for (const at::ScalarType type : types()) {
    const at::Tensor a = operand(50, 901, 1, 1, type), b = operand(901, 67, 0, 2, type);
    const at::Tensor rows = at::full({50, 90}, 7.0, at::kFloat), out = rows.narrow(1, 11, 67);
    tiled_products({{a, b, out, /*accumulate=*/true}});
    const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
    EXPECT_LT(largest(out - 7 - exact), bound(901));
    tiled_products({{a, b, out}});
    EXPECT_LT(largest(out - exact), bound(901));
    EXPECT_EQ(largest(rows.narrow(1, 0, 11) - 7), 0);
    EXPECT_EQ(largest(rows.narrow(1, 78, 12) - 7), 0);
  }
}

TEST_F(TiledProducts, RoundOnceHoweverManyBlocksAreSummed) {
  if (!has_tiled_products(true)) GTEST_SKIP() << "this CPU has no avx512_bf16";
  for (const int64_t k : {40, 768, 3001}) {
    const at::Tensor a = operand(70, k, 2, 1, at::kBFloat16), b = operand(k, 101, 1, 2, at::kBFloat16);
    const at::Tensor bias = values({101}, 3, at::kFloat);
    const at::Tensor wide = at::empty({70, 101}, at::kFloat), rows = at::full({70, 130}, 7.0, at::kBFloat16);
    const at::Tensor rounded = rows.narrow(1, 20, 101);
    tiled_products({{a, b, wide, false, bias}});
    tiled_products({{a, b, rounded, false, bias}});
    EXPECT_LT(largest(wide - bias - at::mm(a.to(at::kDouble), b.to(at::kDouble))), bound(k));
    EXPECT_TRUE(at::equal(rounded, wide.to(at::kBFloat16))) << k;
    EXPECT_EQ(largest(rows.narrow(1, 0, 20) - 7), 0);
    EXPECT_EQ(largest(rows.narrow(1, 121, 9) - 7), 0);
  }
}

TEST_F(TiledProducts, SpreadInfinitiesAndNansAsPlainArithmeticDoes) {
  for (const at::ScalarType type : types()) {
    for (const int layout : {0, 1, 2, 3}) {
      const int64_t k = 35;
      const at::Tensor a = operand(20, k, layout, 1, type), b = operand(k, 53, 3 - layout, 2, type);
      a[4][k - 1] = kInf;
      b[k - 1][7] = 0;
      b[k - 1][9] = std::nan("");
      a[6][0] = -kInf;
      b[0].fill_(1);
      const at::Tensor out = at::empty({20, 53}, at::kFloat);
      tiled_products({{a, b, out}});
      const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble)).to(at::kFloat);
      EXPECT_TRUE(at::equal(out.isnan(), exact.isnan())) << type << " " << layout;
      EXPECT_TRUE(at::equal(out == kInf, exact == kInf)) << type << " " << layout;
      EXPECT_TRUE(at::equal(out == -kInf, exact == -kInf)) << type << " " << layout;
      EXPECT_EQ(out[6][3].item<float>(), -kInf);
      EXPECT_TRUE(out[4][7].isnan().item<bool>());
    }
  }
}

TEST_F(TiledProducts, SumNothingToZeroAndTakeNoRows) {
  for (const at::ScalarType type : types()) {
    const at::Tensor out = at::full({3, 5}, std::nan(""), at::kFloat);
    tiled_products({{at::empty({3, 0}, type), at::empty({0, 5}, type), out}});
    EXPECT_TRUE(at::equal(out, at::zeros({3, 5})));
    out.fill_(2);
    tiled_products({{at::empty({0, 3}, type).t(), at::empty({0, 5}, type), out, true}});
    EXPECT_TRUE(at::equal(out, at::full({3, 5}, 2.0)));
    tiled_products({{at::empty({0, 4}, type), at::empty({4, 5}, type), at::empty({0, 5}, at::kFloat)}});
    tiled_products({{at::empty({3, 4}, type), at::empty({4, 0}, type), at::empty({3, 0}, at::kFloat)}});
  }
  tiled_products({});
}

// The cut into tasks depends on the number of threads; bits must not.
TEST_F(TiledProducts, GiveTheSameBitsWithOneTwoAndThreeThreads) {
  const int before = at::get_num_threads();
  for (const at::ScalarType type : types()) {
    const at::Tensor x = operand(611, 1000, 0, 1, type), w = operand(1100, 1000, 2, 2, type);
    const at::Tensor dy = operand(611, 1100, 0, 3, type);
    GemmRoute route;
    (type == at::kFloat ? route.f32 : route.bf16) = GemmMethod::Tiled;
    const auto make = [&](int threads) {
      at::set_num_threads(threads);
      const at::Tensor main_grad = at::ones({1100, 1000}, at::kFloat);
      linear_wgrad(route, dy, x, main_grad, true);
      return std::vector<at::Tensor>{linear_forward(route, x, w), linear_dgrad(route, dy, w), main_grad};
    };
    const std::vector<at::Tensor> one = make(1);
    for (const int threads : {2, 3}) {
      const std::vector<at::Tensor> more = make(threads);
      for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], more[i])) << type << " " << i;
    }
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace primus::kernels
