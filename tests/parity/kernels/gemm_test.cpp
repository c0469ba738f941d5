// The product door: every method, dtype and direction against plain double loops.
#include "primus/kernels/gemm.h"

#include <fstream>
#include <gtest/gtest.h>

#include "primus/kernels/gemm_tiled.h"
#include "primus/kernels/mkl_sum.h"
#include "primus/tensor/prelude.h"

namespace primus::kernels {
namespace {

at::Tensor noise(at::IntArrayRef shape, uint64_t seed, at::ScalarType dtype) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::TensorOptions(at::kFloat)).to(dtype);
}

double error_of(const at::Tensor& value, const at::Tensor& exact) {
  return ((value.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

struct MethodCase {
  at::ScalarType dtype;
  GemmRoute route;
  double tolerance;
};

std::vector<MethodCase> methods() {
  std::vector<MethodCase> all = {{at::kDouble, {}, 1e-14},
                                 {at::kFloat, {.f32 = GemmMethod::Aten}, 1e-6},
                                 {at::kFloat, {.f32 = GemmMethod::LinearPointwise}, 1e-6},
                                 {at::kBFloat16, {.bf16 = GemmMethod::Aten}, 4e-3},
                                 {at::kBFloat16, {.bf16 = GemmMethod::LinearPointwise}, 4e-3},
                                 {at::kBFloat16, {.bf16 = GemmMethod::ViaFloat32}, 4e-3},
                                 {at::kHalf, {.f16 = GemmMethod::Aten}, 6e-4},
                                 {at::kHalf, {.f16 = GemmMethod::ViaFloat32}, 6e-4}};
  if (has_mkl_sum()) all.push_back({at::kBFloat16, {.bf16 = GemmMethod::MklSum}, 4e-3});
  if (has_tiled_products(false)) all.push_back({at::kFloat, {.f32 = GemmMethod::Tiled}, 1e-6});
  if (has_tiled_products(true)) all.push_back({at::kBFloat16, {.bf16 = GemmMethod::Tiled}, 4e-3});
  return all;
}

std::string name(const MethodCase& m) {
  return std::string(at::toString(m.dtype)) + " " + m.route.to_string();
}

at::ScalarType wide(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

TEST(Gemm, ForwardAndBothGradientsEqualPlainLoops) {
  for (const MethodCase& m : methods()) {
    for (const auto& [n, out, in] : {std::array<int64_t, 3>{1, 1, 1}, {5, 3, 7}, {33, 65, 17}, {70, 48, 130}}) {
      const at::Tensor x = noise({2, n, in}, 1, m.dtype), w = noise({out, in}, 2, m.dtype),
                       dy = noise({2, n, out}, 3, m.dtype);
      const at::Tensor bias = noise({out}, 4, m.dtype);
      EXPECT_LT(error_of(linear_forward(m.route, x, w), linear_forward_reference(x, w, {})), m.tolerance) << name(m);
      EXPECT_LT(error_of(linear_forward(m.route, x, w, bias), linear_forward_reference(x, w, bias)), m.tolerance)
          << name(m);
      EXPECT_LT(error_of(linear_dgrad(m.route, dy, w), linear_dgrad_reference(dy, w)), m.tolerance) << name(m);
      at::Tensor main_grad = at::full({out, in}, 7.0, wide(m.dtype));
      linear_wgrad(m.route, dy, x, main_grad, false);
      EXPECT_LT(error_of(main_grad, linear_wgrad_reference(dy, x)), m.tolerance) << name(m);
    }
  }
}

TEST(Gemm, OneDnnRouteIsExactWhereTheChoiceAcceptsIt) {
  const GemmChoice choice = choose_gemm_route();
  const GemmRoute route{.f32 = GemmMethod::OneDnn};
  for (const GemmCandidate& candidate : choice.candidates) {
    EXPECT_GT(candidate.gflops, 0) << candidate.dtype << " " << to_string(candidate.method);
    if (candidate.method != GemmMethod::OneDnn || !candidate.accepted) continue;
    const at::Tensor x = noise({100, 300}, 1, at::kFloat), w = noise({60, 300}, 2, at::kFloat);
    EXPECT_LT(error_of(linear_forward(route, x, w), linear_forward_reference(x, w, {})), 2e-6);
  }
  EXPECT_EQ(at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL),
            at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::CONV))
      << "a route must leave libtorch's precision settings as they were";
}

TEST(Gemm, WeightGradientsAccumulateInFloat32) {
  for (const MethodCase& m : methods()) {
    const at::Tensor x = noise({40, 24}, 1, m.dtype), dy = noise({40, 33}, 2, m.dtype);
    at::Tensor main_grad = at::full({33, 24}, 1000.0, wide(m.dtype));
    for (int i = 0; i < 3; ++i) linear_wgrad(m.route, dy, x, main_grad, true);
    const at::Tensor exact = 1000.0 + 3 * linear_wgrad_reference(dy, x);
    // 1000 + small in 16 bits would be off by up to 4; in f32 only the products are rounded.
    EXPECT_LT((main_grad.to(at::kDouble) - exact).abs().max().item<double>(), m.dtype == at::kDouble ? 1e-9 : 0.3)
        << name(m);
  }
}

TEST(Gemm, WeightGradientsLargerThanOneBlockAreWhole) {
  const at::Tensor x = noise({3, 3000}, 1, at::kBFloat16), dy = noise({3, 3001}, 2, at::kBFloat16);
  at::Tensor main_grad = at::ones({3001, 3000}, at::kFloat);
  linear_wgrad({}, dy, x, main_grad, true);
  const at::Tensor exact = 1 + at::mm(dy.to(at::kFloat).t(), x.to(at::kFloat));
  EXPECT_LT(error_of(main_grad, exact.to(at::kDouble)), 4e-3);
}

TEST(Gemm, WeightGradientsAreAddedOrReplaceWhatWasThere) {
  for (const MethodCase& m : methods()) {
    const at::Tensor x = noise({37, 19}, 1, m.dtype), dy = noise({37, 60}, 3, m.dtype).narrow(1, 7, 23);
    const at::Tensor exact = linear_wgrad_reference(dy, x);
    at::Tensor rows = at::full({23, 40}, std::nan(""), wide(m.dtype));
    at::Tensor main_grad = rows.narrow(1, 3, 19);
    linear_wgrad(m.route, dy, x, main_grad, false);
    EXPECT_LT(error_of(main_grad, exact), m.tolerance) << name(m);
    linear_wgrad(m.route, dy, x, main_grad, true);
    EXPECT_LT(error_of(main_grad, 2 * exact), m.tolerance) << name(m);
    EXPECT_TRUE(rows.narrow(1, 22, 18).isnan().all().item<bool>()) << name(m);
    linear_wgrad(m.route, dy.narrow(0, 0, 0), x.narrow(0, 0, 0), main_grad, false);
    EXPECT_EQ(main_grad.abs().max().item<double>(), 0) << name(m);
  }
}

TEST(Gemm, MklSumNeverRoundsAWeightGradient) {
  if (!has_mkl_sum()) GTEST_SKIP() << "this libtorch has no MKL";
  const at::Tensor x = noise({130, 48}, 1, at::kBFloat16), dy = noise({130, 70}, 3, at::kBFloat16);
  at::Tensor main_grad = at::zeros({70, 48}, at::kFloat);
  linear_wgrad({.bf16 = GemmMethod::MklSum}, dy, x, main_grad, true);
  EXPECT_LT(error_of(main_grad, linear_wgrad_reference(dy, x)), 1e-6);
}

TEST(Gemm, WritesIntoStridedRows) {
  for (const MethodCase& m : methods()) {
    const at::Tensor x = noise({9, 16}, 1, m.dtype), w = noise({12, 16}, 2, m.dtype), dy = noise({9, 12}, 3, m.dtype);
    at::Tensor wide_rows = at::full({9, 40}, 5.0, m.dtype);
    linear_forward_out(m.route, x, w, wide_rows.narrow(1, 4, 12));
    linear_dgrad_out(m.route, dy, w, wide_rows.narrow(1, 20, 16));
    EXPECT_LT(error_of(wide_rows.narrow(1, 4, 12), linear_forward_reference(x, w, {})), m.tolerance) << name(m);
    EXPECT_LT(error_of(wide_rows.narrow(1, 20, 16), linear_dgrad_reference(dy, w)), m.tolerance) << name(m);
    EXPECT_TRUE((wide_rows.narrow(1, 16, 4) == 5.0).all().item<bool>());
    EXPECT_TRUE((wide_rows.narrow(1, 36, 4) == 5.0).all().item<bool>());
  }
}

TEST(Gemm, BiasGradientSumsColumnsInFloat32) {
  const at::Tensor dy = noise({3, 700, 5}, 1, at::kBFloat16);
  at::Tensor grad = at::full({5}, 2.0, at::kFloat);
  linear_bias_grad(dy, grad, true);
  EXPECT_LT(error_of(grad, 2 + dy.to(at::kDouble).sum({0, 1})), 1e-5);
  linear_bias_grad(dy, grad, false);
  EXPECT_LT(error_of(grad, dy.to(at::kDouble).sum({0, 1})), 1e-5);
}

TEST(GemmRoute, ReadsBackItsOwnText) {
  const GemmRoute route{GemmMethod::OneDnn, GemmMethod::LinearPointwise, GemmMethod::ViaFloat32};
  EXPECT_EQ(route.to_string(), "f32=onednn,bf16=linear_pointwise,f16=via_float32");
  EXPECT_EQ(*GemmRoute::parse(route.to_string()), route);
}

TEST(GemmRoute, ReadsTiledWhereThisCpuHasIt) {
  const Result<GemmRoute> f32 = GemmRoute::parse("f32=tiled,bf16=aten,f16=aten");
  ASSERT_EQ(f32.ok(), has_tiled_products(false));
  if (f32.ok()) {
    EXPECT_EQ(f32->to_string(), "f32=tiled,bf16=aten,f16=aten");
  }
  EXPECT_EQ(GemmRoute::parse("f32=aten,bf16=tiled,f16=aten").ok(), has_tiled_products(true));
  EXPECT_FALSE(GemmRoute::parse("f32=aten,bf16=aten,f16=tiled").ok());
}

TEST(GemmRoute, RefusesOtherText) {
  for (const char* text : {"", "f32=aten", "f32=via_float32,bf16=aten,f16=aten", "f32=aten,bf16=onednn,f16=aten",
                           "f32=aten,bf16=aten,f64=aten", "f32=aten,bf16=aten,f16=magic", "f32=aten,f32=aten"}) {
    const Result<GemmRoute> route = GemmRoute::parse(text);
    ASSERT_FALSE(route.ok()) << text;
    EXPECT_EQ(route.diagnostics().front().found, text);
  }
}

class GemmCache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("primus_gemm_cache_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

// One test, since every fresh choice measures.
TEST_F(GemmCache, ADamagedFileIsSaidAndReplacedAndThenRead) {
  fs::create_directories(folder_);
  const fs::path file = folder_ / "routes.json";
  std::ofstream(file) << "{\"half\": ";
  const GemmChoice first = choose_gemm_route(file);
  EXPECT_FALSE(first.from_cache);
  EXPECT_NE(first.note.find("damaged"), std::string::npos);
  const GemmChoice second = choose_gemm_route(file);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.note, "");
  EXPECT_EQ(second.route, first.route);
  EXPECT_EQ(second.f32_gflops, first.f32_gflops);
}

TEST_F(GemmCache, AFolderThatCannotBeWrittenOnlyGivesANote) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "not a folder";
  const GemmChoice choice = choose_gemm_route(folder_ / "file" / "routes.json");
  EXPECT_FALSE(choice.from_cache);
  EXPECT_NE(choice.note, "");
}

}  // namespace
}  // namespace primus::kernels
