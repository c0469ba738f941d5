// Chunked cross entropy from hidden states against the whole-matrix definition in double precision.
#include "primus/kernels/linear_cross_entropy.h"

#include <cmath>
#include <gtest/gtest.h>

#include "primus/tensor/memory_meter.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace {

at::Tensor noise(at::IntArrayRef shape, uint64_t seed, at::ScalarType dtype, double scale = 1) {
  return (scale * at::randn(shape, at::detail::createCPUGenerator(seed), at::TensorOptions(at::kFloat))).to(dtype);
}

double error_of(const at::Tensor& value, const at::Tensor& exact) {
  return ((value.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

struct Head {
  at::Tensor x, w, labels, weights;
  CrossEntropyOptions options;

  Head(int64_t n, int64_t v, int64_t h, at::ScalarType dtype) {
    x = noise({n, h}, 1, dtype);
    w = noise({v, h}, 2, dtype, 0.3);
    labels = at::arange(n, at::kLong) * 37 % v;
    weights = at::rand({n}, at::detail::createCPUGenerator(5), at::kDouble)
                  .to(dtype == at::kDouble ? at::kDouble : at::kFloat);
  }
  at::Tensor zero_grad() const { return at::zeros(w.sizes(), weights.options()); }
};

struct DtypeCase {
  at::ScalarType dtype;
  double loss_tolerance, grad_tolerance;
};
constexpr DtypeCase kDtypes[] = {
    {at::kDouble, 1e-13, 1e-12}, {at::kFloat, 1e-6, 2e-6}, {at::kBFloat16, 3e-3, 1.2e-2}, {at::kHalf, 5e-4, 2e-3}};

TEST(LinearCrossEntropy, LossAndGradientsEqualTheDefinition) {
  for (const DtypeCase& d : kDtypes) {
    for (const auto& [n, v, h] : {std::array<int64_t, 3>{1, 1, 1}, {3, 7, 5}, {150, 333, 24}, {65, 64, 40}}) {
      if (v == 1) continue;
      const Head head(n, v, h, d.dtype);
      const auto ref = linear_cross_entropy_reference(head.x, head.w, head.labels, head.weights, head.options);
      at::Tensor dw = at::full(head.w.sizes(), 9.0, head.weights.options());
      const auto got = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw, false);
      EXPECT_LT(error_of(got.loss, ref.loss), d.loss_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_LT(error_of(got.dx, ref.dx), d.grad_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_LT(error_of(dw, ref.dw), d.grad_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_EQ(got.dx.scalar_type(), d.dtype);
    }
  }
}

TEST(LinearCrossEntropy, ChunksChangeNothingButRounding) {
  const Head head(150, 333, 24, at::kFloat);
  at::Tensor dw_whole = head.zero_grad(), dw_parts = head.zero_grad();
  CrossEntropyOptions whole = head.options, parts = head.options;
  whole.chunk_tokens = 150;
  parts.chunk_tokens = 7;
  const auto a = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, whole, dw_whole, false);
  const auto b = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, parts, dw_parts, false);
  EXPECT_LT(error_of(b.loss, a.loss.to(at::kDouble)), 1e-6);
  EXPECT_LT(error_of(b.dx, a.dx.to(at::kDouble)), 2e-6);
  EXPECT_LT(error_of(dw_parts, dw_whole.to(at::kDouble)), 2e-6);
}

TEST(LinearCrossEntropy, AddsToATiedGradient) {
  const Head head(100, 50, 16, at::kBFloat16);
  at::Tensor fresh = head.zero_grad(), tied = at::full(head.w.sizes(), 100.0, at::kFloat);
  linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, fresh, false);
  linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, tied, true);
  EXPECT_LT((tied - 100.0 - fresh).abs().max().item<double>(), 1e-4);
}

TEST(LinearCrossEntropy, IgnoredAndWeightlessTokensGiveNoGradient) {
  Head head(10, 20, 8, at::kFloat);
  head.labels[3] = -100;
  head.weights[4] = 0;
  at::Tensor dw = head.zero_grad();
  const auto got = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw, false);
  EXPECT_EQ(got.loss[3].item<float>(), 0.0f);
  EXPECT_GT(got.loss[4].item<float>(), 0.0f);
  EXPECT_EQ(got.dx[3].abs().max().item<float>(), 0.0f);
  EXPECT_EQ(got.dx[4].abs().max().item<float>(), 0.0f);
  const auto ref = linear_cross_entropy_reference(head.x, head.w, head.labels, head.weights, head.options);
  EXPECT_LT(error_of(dw, ref.dw), 2e-6);
}

TEST(LinearCrossEntropy, PaddedRowsAreInTheSoftmaxOnlyWhenAskedFor) {
  for (const bool in_softmax : {true, false}) {
    for (const DtypeCase& d : kDtypes) {
      Head head(70, 48, 16, d.dtype);
      head.options.vocab_size = 41;
      head.options.padded_rows_in_softmax = in_softmax;
      head.labels = head.labels % 41;
      const auto ref = linear_cross_entropy_reference(head.x, head.w, head.labels, head.weights, head.options);
      at::Tensor dw = head.zero_grad();
      const auto got = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw, false);
      EXPECT_LT(error_of(got.loss, ref.loss), d.loss_tolerance) << at::toString(d.dtype);
      EXPECT_LT(error_of(dw, ref.dw), d.grad_tolerance) << at::toString(d.dtype);
      EXPECT_EQ(dw.narrow(0, 41, 7).abs().max().item<double>() == 0, !in_softmax);
    }
  }
}

TEST(LinearCrossEntropy, LossWithoutGradientsHasTheSameBits) {
  for (const DtypeCase& d : kDtypes) {
    const Head head(90, 77, 16, d.dtype);
    const auto got = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, {}, false);
    EXPECT_TRUE(at::equal(got.loss, linear_cross_entropy_loss({}, head.x, head.w, head.labels, head.options)));
  }
}

TEST(CrossEntropy, OfLogitsEqualsTorch) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor logits = noise({33, 1003}, 1, dtype, 5);
    const at::Tensor labels = at::arange(33, at::kLong) * 30;
    const at::Tensor exact = -at::log_softmax(logits.to(at::kDouble), 1).gather(1, labels.unsqueeze(1)).squeeze(1);
    EXPECT_LT(error_of(cross_entropy(logits, labels, {}), exact), 1e-6);
  }
}

TEST(CrossEntropy, HugeLogitsStayFiniteAndNaNIsNotHidden) {
  at::Tensor logits = at::zeros({3, 100}, at::kFloat);
  logits[0][5] = 3e4;
  logits[1][70] = -3e4;
  logits[2][99] = std::nanf("");
  const at::Tensor labels = at::tensor({5, 70, 1}, at::kLong);
  const at::Tensor loss = cross_entropy(logits, labels, {});
  EXPECT_EQ(loss[0].item<float>(), 0.0f);
  EXPECT_NEAR(loss[1].item<float>(), 3e4 + std::log(99.0), 0.01);
  EXPECT_TRUE(std::isnan(loss[2].item<float>()));
}

TEST(LinearCrossEntropy, GivesEqualBitsForAnyNumberOfThreads) {
  const int before = tensor::num_threads();
  const Head head(130, 500, 32, at::kBFloat16);
  at::Tensor dw[2];
  CrossEntropyGrads got[2];
  for (const int threads : {1, 2}) {
    tensor::set_num_threads(threads);
    dw[threads - 1] = head.zero_grad();
    got[threads - 1] =
        linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw[threads - 1], false);
  }
  tensor::set_num_threads(before);
  EXPECT_TRUE(at::equal(got[0].loss, got[1].loss));
  EXPECT_TRUE(at::equal(got[0].dx, got[1].dx));
  EXPECT_TRUE(at::equal(dw[0], dw[1]));
}

TEST(LinearCrossEntropy, NeedsLessThanASeventhOfWholeFloat32Logits) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Head head(1024, 32000, 16, dtype);
    at::Tensor dw = head.zero_grad();
    const tensor::MemoryMeter meter;
    const CrossEntropyGrads got =
        linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw, true);
    const int64_t extra_bytes = meter.peak_bytes() - meter.current_bytes();  // without the results
    EXPECT_GT(extra_bytes, 0);
    EXPECT_LT(extra_bytes, 0.15 * 1024 * 32000 * 4);
  }
}

TEST(LinearCrossEntropy, CapsLogits) {
  for (const DtypeCase& d : kDtypes) {
    for (const auto& [n, v, h] : {std::array<int64_t, 3>{3, 7, 5}, {150, 333, 24}}) {
      Head head(n, v, h, d.dtype);
      head.options.soft_cap = 1.3;
      head.options.chunk_tokens = 67;
      const auto ref = linear_cross_entropy_reference(head.x, head.w, head.labels, head.weights, head.options);
      at::Tensor dw = at::full(head.w.sizes(), 9.0, head.weights.options());
      const auto got = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, dw, false);
      EXPECT_LT(error_of(got.loss, ref.loss), d.loss_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_LT(error_of(got.dx, ref.dx), d.grad_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_LT(error_of(dw, ref.dw), d.grad_tolerance) << at::toString(d.dtype) << " " << n;
      EXPECT_TRUE(at::equal(got.loss, linear_cross_entropy_loss({}, head.x, head.w, head.labels, head.options)));
    }
  }
}

TEST(LinearCrossEntropy, TheReferenceOfACapIsAutograds) {
  Head head(13, 29, 6, at::kDouble);
  head.options.soft_cap = 0.9;
  const at::Tensor x = head.x.clone().requires_grad_(true), w = head.w.clone().requires_grad_(true);
  const at::Tensor logits = 0.9 * (x.matmul(w.t()) / 0.9).tanh();
  const at::Tensor loss = -at::log_softmax(logits, 1).gather(1, head.labels.unsqueeze(1)).squeeze(1);
  (loss * head.weights).sum().backward();
  const auto ref = linear_cross_entropy_reference(head.x, head.w, head.labels, head.weights, head.options);
  EXPECT_LT(error_of(ref.loss, loss.detach()), 1e-14);
  EXPECT_LT(error_of(ref.dx, x.grad()), 1e-13);
  EXPECT_LT(error_of(ref.dw, w.grad()), 1e-13);
}

TEST(LinearCrossEntropy, ACapFarAboveAllLogitsChangesNothing) {
  Head head(40, 50, 16, at::kFloat);
  const auto plain = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, {}, false);
  head.options.soft_cap = 1e5;
  const auto capped = linear_cross_entropy({}, head.x, head.w, head.labels, head.weights, head.options, {}, false);
  EXPECT_LT(error_of(capped.loss, plain.loss.to(at::kDouble)), 1e-6);
  EXPECT_LT(error_of(capped.dx, plain.dx.to(at::kDouble)), 2e-6);
}

TEST(LinearCrossEntropy, ALabelPastTheVocabularyIsCaught) {
  Head head(4, 20, 8, at::kFloat);
  head.labels[2] = 20;
  EXPECT_THROW(linear_cross_entropy_loss({}, head.x, head.w, head.labels, head.options), std::logic_error);
}

}  // namespace
}  // namespace primus::kernels
