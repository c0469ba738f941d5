// Tiled attention against the plain double-precision definition.
#include "primus/kernels/attention.h"

#include <cmath>
#include <gtest/gtest.h>

#include "primus/kernels/attention_tiled.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace {

struct Case {
  int64_t b, t, s, h, g, d;
};

at::Tensor noise(at::IntArrayRef shape, int64_t seed, at::ScalarType dtype) {
  const at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  return at::randn(shape, generator, at::TensorOptions(at::kFloat)).to(dtype);
}

double error_of(const at::Tensor& value, const at::Tensor& exact) {
  const at::Tensor difference = value.to(at::kDouble) - exact.to(at::kDouble);
  return (difference.norm() / (exact.to(at::kDouble).norm() + 1.0)).item<double>();
}

struct Inputs {
  at::Tensor q, k, v, dout;

  Inputs(const Case& c, at::ScalarType dtype)
      : q(noise({c.b, c.t, c.h, c.d}, 1, dtype)),
        k(noise({c.b, c.s, c.g, c.d}, 2, dtype)),
        v(noise({c.b, c.s, c.g, c.d}, 3, dtype)),
        dout(noise({c.b, c.t, c.h, c.d}, 4, dtype)) {}
  Inputs wide() const {
    Inputs w = *this;
    for (at::Tensor* t : {&w.q, &w.k, &w.v, &w.dout}) *t = t->to(at::kDouble);
    return w;
  }
};

void expect_matches_reference(const AttentionRoute& route, const Inputs& in, const AttentionOptions& options,
                              double tolerance, const std::string& what) {
  const Inputs exact = in.wide();
  const auto [out_ref, lse_ref] = attention_forward_reference(exact.q, exact.k, exact.v, options);
  const AttentionGrads ref = attention_backward_reference(exact.dout, exact.q, exact.k, exact.v, options);
  const auto [out, lse] = attention_forward(route, in.q, in.k, in.v, options);
  const AttentionGrads got = attention_backward(route, in.dout, in.q, in.k, in.v, out, lse, options);
  ASSERT_EQ(out.scalar_type(), in.q.scalar_type()) << what;
  ASSERT_EQ(lse.scalar_type(), at::kFloat) << what;
  EXPECT_LT(error_of(out, out_ref), tolerance) << what << ": out";
  EXPECT_LT(error_of(lse, lse_ref), tolerance / 4) << what << ": lse";
  EXPECT_LT(error_of(got.dq, ref.dq), 2 * tolerance) << what << ": dq";
  EXPECT_LT(error_of(got.dk, ref.dk), 2 * tolerance) << what << ": dk";
  EXPECT_LT(error_of(got.dv, ref.dv), 2 * tolerance) << what << ": dv";
}

constexpr Case kCases[] = {
    {1, 1, 1, 1, 1, 16},     {2, 7, 7, 3, 1, 8},      {1, 64, 64, 2, 2, 64},  {2, 65, 65, 4, 2, 32},
    {1, 200, 200, 6, 2, 64}, {1, 129, 129, 2, 1, 40}, {1, 70, 70, 1, 1, 128}, {1, 130, 130, 3, 3, 80},
    {1, 67, 67, 2, 2, 7},    {1, 100, 100, 2, 1, 48},
};

std::string name(const Case& c) {
  return "b" + std::to_string(c.b) + " t" + std::to_string(c.t) + " h" + std::to_string(c.h) + " g" +
         std::to_string(c.g) + " d" + std::to_string(c.d);
}

struct RouteCase {
  at::ScalarType dtype;
  AttentionRoute route;
  double tolerance;
};
const RouteCase kRoutes[] = {
    {at::kFloat, {.f32 = AttentionMethod::Tiled}, 2e-6},
    {at::kFloat, {.f32 = AttentionMethod::Torch}, 2e-6},
    {at::kBFloat16, {.bf16 = AttentionMethod::Tiled}, 6e-3},
    {at::kBFloat16, {.bf16 = AttentionMethod::TiledFloat32}, 4e-3},
    {at::kBFloat16, {.bf16 = AttentionMethod::Torch}, 1e-2},
    {at::kHalf, {}, 1e-3},
};

TEST(Attention, EqualsTheDefinitionForOddShapesDtypesAndRoutes) {
  for (const RouteCase& r : kRoutes) {
    for (const Case& c : kCases) {
      for (const bool causal : {true, false}) {
        AttentionOptions options;
        options.causal = causal;
        expect_matches_reference(
            r.route, Inputs(c, r.dtype), options, r.tolerance,
            name(c) + " " + at::toString(r.dtype) + " " + r.route.to_string() + (causal ? " causal" : " full"));
      }
    }
  }
}

TEST(Attention, PortableTilesEqualTheDefinition) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Case c{1, 100, 100, 4, 2, 24};
    const Inputs in(c, dtype);
    const AttentionOptions options;
    at::Tensor out = at::empty_like(in.q);
    at::Tensor lse = at::empty({c.b, c.h, c.t}, at::kFloat);
    attention_forward_tiled(tile::portable_kernels(), in.q, in.k, in.v, options, out, lse);
    AttentionGrads got{at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v)};
    attention_backward_tiled(tile::portable_kernels(), in.dout, in.q, in.k, in.v, out, lse, options, got);
    const Inputs exact = in.wide();
    const double tolerance = dtype == at::kFloat ? 2e-6 : 4e-3;
    EXPECT_LT(error_of(out, std::get<0>(attention_forward_reference(exact.q, exact.k, exact.v, options))), tolerance);
    const AttentionGrads ref = attention_backward_reference(exact.dout, exact.q, exact.k, exact.v, options);
    EXPECT_LT(error_of(got.dq, ref.dq), 2 * tolerance);
    EXPECT_LT(error_of(got.dk, ref.dk), 2 * tolerance);
    EXPECT_LT(error_of(got.dv, ref.dv), 2 * tolerance);
  }
}

TEST(Attention, TakesSlicesOfAFusedTensorAndWritesGradientsIntoOne) {
  const int64_t t = 90, h = 4, g = 2, d = 16;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor qkv = noise({2, t, h + 2 * g, d}, 7, dtype);
    const at::Tensor q = qkv.narrow(2, 0, h), k = qkv.narrow(2, h, g), v = qkv.narrow(2, h + g, g);
    const at::Tensor dout = noise({2, t, h, d}, 8, dtype);
    const AttentionOptions options;
    const auto [out, lse] = attention_forward({}, q, k, v, options);
    at::Tensor dqkv = at::full_like(qkv, 1e4);
    attention_backward({}, dout, q, k, v, out, lse, options,
                       {dqkv.narrow(2, 0, h), dqkv.narrow(2, h, g), dqkv.narrow(2, h + g, g)});
    const auto [out2, lse2] = attention_forward({}, q.contiguous(), k.contiguous(), v.contiguous(), options);
    const AttentionGrads separate =
        attention_backward({}, dout, q.contiguous(), k.contiguous(), v.contiguous(), out2, lse2, options);
    EXPECT_TRUE(at::equal(out, out2));
    EXPECT_TRUE(at::equal(dqkv, at::cat({separate.dq, separate.dk, separate.dv}, 2)));
  }
}

at::Tensor starts(std::initializer_list<std::vector<int32_t>> lengths_of_rows) {
  std::vector<int32_t> all;
  for (const std::vector<int32_t>& lengths : lengths_of_rows) {
    int32_t start = 0;
    for (const int32_t length : lengths) {
      all.insert(all.end(), length, start);
      start += length;
    }
  }
  const int64_t rows = static_cast<int64_t>(lengths_of_rows.size());
  return at::tensor(at::ArrayRef<int32_t>(all), at::kInt).view({rows, static_cast<int64_t>(all.size()) / rows});
}

TEST(Attention, DocumentsDoNotSeeEachOther) {
  const Case c{2, 210, 210, 4, 2, 32};
  for (const bool causal : {true, false}) {
    AttentionOptions options;
    options.causal = causal;
    options.document_start = starts({{1, 62, 1, 64, 82}, {210}});
    expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, "f32 documents");
    expect_matches_reference({}, Inputs(c, at::kBFloat16), options, 6e-3, "bf16 documents");
  }
}

TEST(Attention, ANaNInAnotherDocumentStaysThere) {
  AttentionOptions options;
  options.document_start = starts({{100, 100}});
  Inputs in(Case{1, 200, 200, 2, 2, 32}, at::kBFloat16);
  in.k.narrow(1, 3, 1).fill_(std::nanf(""));
  const auto [out, lse] = attention_forward({}, in.q, in.k, in.v, options);
  EXPECT_TRUE(at::isfinite(out.narrow(1, 100, 100)).all().item<bool>());
  EXPECT_FALSE(at::isfinite(out.narrow(1, 3, 97)).any().item<bool>());
}

void keep_by_hash(const void* context, int64_t b, int64_t h, int64_t query, int64_t first_key, int64_t count,
                  uint8_t* keep) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t x = *static_cast<const uint64_t*>(context) + b * 1000003 + h * 10007 + query * 131 + (first_key + i) * 7;
    x *= 0x9e3779b97f4a7c15ull;
    keep[i] = (x >> 40) % 10 >= 3;
  }
}

TEST(Attention, DropoutUsesTheSameMaskForwardAndBackward) {
  const uint64_t seed = 77;
  AttentionOptions options;
  options.dropout = {0.3, &keep_by_hash, &seed};
  const Case c{2, 100, 100, 4, 2, 32};
  expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, "f32 dropout");
  expect_matches_reference({}, Inputs(c, at::kBFloat16), options, 6e-3, "bf16 dropout");
}

TEST(Attention, DropoutKeepsThePaddingOfATileOutOfTheGradients) {
  const uint64_t seed = 5;
  AttentionOptions options;
  options.dropout = {0.3, &keep_by_hash, &seed};
  for (int round = 0; round < 4; ++round) {
    // Leaves NaN where the next workspace will be taken from.
    for (const int64_t size : {1 << 10, 1 << 14, 1 << 18}) at::full({size}, std::nanf(""), at::kFloat);
    const Case c{1, 37 + round, 37 + round, 2, 1, 16};
    expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, name(c));
  }
}

// The first key of every query moves on by one: [rows, t].
at::Tensor window_starts(int64_t rows, int64_t t, int64_t window_keys) {
  return (at::arange(t, at::kInt) - (window_keys - 1)).clamp_min(0).to(at::kInt).expand({rows, t}).contiguous();
}

TEST(Attention, WindowsMoveOnByOneKeyPerQuery) {
  for (const int64_t window : {1, 2, 64, 65, 200}) {
    for (const Case& c : {Case{2, 65, 65, 4, 2, 32}, Case{1, 201, 201, 3, 1, 40}}) {
      AttentionOptions options;
      options.document_start = window_starts(c.b, c.t, window);
      const std::string what = name(c) + " window " + std::to_string(window);
      // With one key nothing is chosen: gradients of queries and keys are zero, and only their rounding is left.
      const double f32_tolerance = window == 1 ? 2e-5 : 2e-6;
      expect_matches_reference({}, Inputs(c, at::kFloat), options, f32_tolerance, what);
      expect_matches_reference({}, Inputs(c, at::kBFloat16), options, 6e-3, what);
      if (window != 64) continue;
      expect_matches_reference({.bf16 = AttentionMethod::TiledFloat32}, Inputs(c, at::kBFloat16), options, 4e-3, what);
      expect_matches_reference({.f32 = AttentionMethod::Torch}, Inputs(c, at::kFloat), options, 2e-6, what);
    }
  }
}

TEST(Attention, AWindowedQueryHearsNothingOfKeysInFrontOfIt) {
  Inputs in(Case{1, 150, 150, 2, 2, 32}, at::kBFloat16);
  in.k.narrow(1, 70, 1).fill_(std::nanf(""));
  AttentionOptions options;
  options.document_start = window_starts(1, 150, 10);
  const auto [out, lse] = attention_forward({}, in.q, in.k, in.v, options);
  EXPECT_TRUE(at::isfinite(out.narrow(1, 0, 70)).all().item<bool>());
  EXPECT_FALSE(at::isfinite(out.narrow(1, 70, 10)).any().item<bool>());
  EXPECT_TRUE(at::isfinite(out.narrow(1, 80, 70)).all().item<bool>());
}

TEST(Attention, ChunksAndWindowsInDocumentsAreFirstKeysToo) {
  const Case c{2, 133, 133, 4, 2, 24};
  const at::Tensor rows = at::arange(c.t, at::kInt);
  const at::Tensor chunk = (rows - rows.remainder(37)).to(at::kInt).expand({c.b, c.t}).contiguous();
  AttentionOptions options;
  for (const at::Tensor& first : {chunk, at::maximum(window_starts(c.b, c.t, 9), starts({{1, 62, 70}, {133}})),
                                  at::maximum(chunk, starts({{50, 83}, {1, 132}}))}) {
    options.document_start = first;
    expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, "f32 first keys");
    expect_matches_reference({}, Inputs(c, at::kBFloat16), options, 6e-3, "bf16 first keys");
  }
}

TEST(Attention, WindowsKeepTheirDropout) {
  const uint64_t seed = 3;
  AttentionOptions options;
  options.dropout = {0.3, &keep_by_hash, &seed};
  const Case c{2, 101, 101, 4, 2, 32};
  options.document_start = window_starts(c.b, c.t, 17);
  expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, "f32 dropout in windows");
}

TEST(Attention, ScoresAreCapped) {
  for (const Case& c : {Case{2, 7, 7, 3, 1, 8}, Case{1, 129, 129, 6, 2, 40}, Case{2, 65, 65, 2, 2, 64}}) {
    for (const bool causal : {true, false}) {
      AttentionOptions options;
      options.causal = causal;
      options.softmax_scale = 0.7;  // most scores feel the cap
      options.score_cap = 2.5;
      const std::string what = name(c) + (causal ? " causal" : " full") + " capped";
      for (const RouteCase& r : kRoutes) {
        expect_matches_reference(r.route, Inputs(c, r.dtype), options, r.tolerance, what + r.route.to_string());
      }
    }
  }
}

TEST(Attention, EveryQueryMayHaveACapOfItsOwn) {
  for (const Case& c : {Case{3, 7, 7, 3, 1, 8}, Case{2, 129, 129, 6, 2, 40}, Case{2, 3, 70, 2, 2, 64}}) {
    for (const bool alike : {false, true}) {  // in all sequences
      AttentionOptions options;
      options.softmax_scale = 0.7;
      options.score_cap = 1.3;
      options.cap_factors = (noise({alike ? 1 : c.b, c.t}, 9, at::kFloat).abs() + 0.5).contiguous();
      for (const RouteCase& r : kRoutes) {
        expect_matches_reference(r.route, Inputs(c, r.dtype), options, r.tolerance, name(c) + r.route.to_string());
      }
    }
  }
}

TEST(Attention, CapAndWindowAndSlicesGoTogether) {
  const int64_t t = 83, h = 6, g = 2, d = 24;
  AttentionOptions options;
  options.softmax_scale = 0.6;
  options.score_cap = 1.5;
  options.document_start = window_starts(2, t, 12);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor qkv = noise({2, t, h + 2 * g, d}, 7, dtype), dout = noise({2, t, h, d}, 8, dtype);
    const auto q_of = [&](const at::Tensor& all) { return all.narrow(2, 0, h); };
    const auto k_of = [&](const at::Tensor& all) { return all.narrow(2, h, g); };
    const auto v_of = [&](const at::Tensor& all) { return all.narrow(2, h + g, g); };
    const auto [out, lse] = attention_forward({}, q_of(qkv), k_of(qkv), v_of(qkv), options);
    at::Tensor dqkv = at::full_like(qkv, 1e4);
    attention_backward({}, dout, q_of(qkv), k_of(qkv), v_of(qkv), out, lse, options,
                       {q_of(dqkv), k_of(dqkv), v_of(dqkv)});
    const at::Tensor wide = qkv.to(at::kDouble);
    const AttentionGrads ref =
        attention_backward_reference(dout.to(at::kDouble), q_of(wide), k_of(wide), v_of(wide), options);
    EXPECT_LT(error_of(dqkv, at::cat({ref.dq, ref.dk, ref.dv}, 2)), dtype == at::kFloat ? 4e-6 : 1.2e-2);
  }
}

// The reference by autograd in double: the slope of the cap is its own check.
TEST(Attention, TheReferencesGradientOfACapIsAutograds) {
  const Case c{2, 9, 9, 4, 2, 6};
  const Inputs in = Inputs(c, at::kFloat).wide();
  AttentionOptions options;
  options.softmax_scale = 0.8;
  options.score_cap = 1.7;
  options.cap_factors = noise({c.b, c.t}, 9, at::kFloat).abs() + 0.5;
  options.document_start = window_starts(c.b, c.t, 4);
  const AttentionGrads got = attention_backward_reference(in.dout, in.q, in.k, in.v, options);
  const at::Tensor q = in.q.clone().requires_grad_(true), k = in.k.clone().requires_grad_(true),
                   v = in.v.clone().requires_grad_(true);
  const at::Tensor cap = 1.7 * options.cap_factors.to(at::kDouble).view({c.b, 1, c.t, 1});
  const at::Tensor scores = cap * (0.8 * at::einsum("bthd,bshd->bhts", {q, k.repeat_interleave(2, 2)}) / cap).tanh();
  const at::Tensor rows = at::arange(c.t), distance = rows.unsqueeze(1) - rows.unsqueeze(0);
  const at::Tensor hidden = (distance < 0).logical_or(distance >= 4);
  const at::Tensor p = at::softmax(scores.masked_fill(hidden, -1e300), -1);
  (at::einsum("bhts,bshd->bthd", {p, v.repeat_interleave(2, 2)}) * in.dout).sum().backward();
  EXPECT_LT(error_of(got.dq, q.grad()), 1e-13);
  EXPECT_LT(error_of(got.dk, k.grad()), 1e-13);
  EXPECT_LT(error_of(got.dv, v.grad()), 1e-13);
}

TEST(Attention, QueriesThatContinueACacheSeeAllEarlierKeys) {
  AttentionOptions options;
  options.softmax_scale = 0.31;
  for (const Case& c : {Case{1, 1, 77, 4, 2, 32}, Case{2, 5, 130, 2, 1, 64}}) {
    expect_matches_reference({}, Inputs(c, at::kFloat), options, 2e-6, name(c));
    expect_matches_reference({}, Inputs(c, at::kBFloat16), options, 6e-3, name(c));
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Inputs in(Case{1, 130, 130, 1, 1, 64}, at::kFloat);
  in.q *= 300;
  expect_matches_reference({}, in, {}, 2e-5, "scores of several thousand");
}

TEST(Attention, GivesEqualBitsForAnyNumberOfThreads) {
  const int before = tensor::num_threads();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const Case& c : {Case{1, 300, 300, 2, 1, 64}, Case{2, 300, 300, 12, 4, 32}}) {
      const Inputs in(c, dtype);
      at::Tensor outs[2], dqs[2], dks[2];
      for (const int threads : {1, 2}) {
        tensor::set_num_threads(threads);
        const auto [out, lse] = attention_forward({}, in.q, in.k, in.v, {});
        const AttentionGrads grads = attention_backward({}, in.dout, in.q, in.k, in.v, out, lse, {});
        outs[threads - 1] = out, dqs[threads - 1] = grads.dq, dks[threads - 1] = grads.dk;
      }
      EXPECT_TRUE(at::equal(outs[0], outs[1]) && at::equal(dqs[0], dqs[1]) && at::equal(dks[0], dks[1]));
    }
  }
  tensor::set_num_threads(before);
}

TEST(Attention, RoutesReadBackAndNonsenseIsRefused) {
  const AttentionRoute route{.f32 = AttentionMethod::Torch, .bf16 = AttentionMethod::TiledFloat32};
  EXPECT_EQ(*AttentionRoute::parse(route.to_string()), route);
  EXPECT_FALSE(AttentionRoute::parse("f32=fast").ok());
  EXPECT_FALSE(AttentionRoute::parse("").ok());
}

}  // namespace
}  // namespace primus::kernels
