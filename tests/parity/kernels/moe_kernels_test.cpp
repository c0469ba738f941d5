// Choice, weights, permutation and grouped products of a mixture of experts against their plain forms.
#include "parity/kernels/kernel_cases.h"

#include "primus/base/check.h"
#include "primus/kernels/gemm_tiled.h"
#include "primus/kernels/grouped_gemm.h"
#include "primus/kernels/permute.h"
#include "primus/kernels/token_random.h"
#include "primus/kernels/topk_router.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;
using cases::tolerance;

TEST(TopKRouter, ChoosesLikeTheReferenceWithAndWithoutGroups) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const TopKOptions options : {TopKOptions{.top_k = 3}, TopKOptions{.top_k = 1}, TopKOptions{.top_k = 21},
                                      TopKOptions{.top_k = 6, .num_groups = 7, .top_groups = 3, .sum_of = 2},
                                      TopKOptions{.top_k = 3, .num_groups = 3, .top_groups = 1, .sum_of = 1}}) {
      const at::Tensor values = quiet({101, 21}, 1, type);
      EXPECT_TRUE(at::equal(choose_experts(values, options), reference::choose_experts(values, options)));
      const at::Tensor ties = (values * 2).round();
      EXPECT_TRUE(at::equal(choose_experts(ties, options), reference::choose_experts(ties, options)));
    }
  }
}

TEST(TopKRouter, PrefersTheLowestIndexAndPutsNanLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const at::Tensor values = at::tensor({nan, 2.0F, 5.0F, 5.0F, -inf, 5.0F}).unsqueeze(0);
  EXPECT_TRUE(at::equal(choose_experts(values, {.top_k = 6}), at::tensor({2, 3, 5, 1, 0, 4}, at::kLong).unsqueeze(0)));
}

TEST(TopKRouter, RefusesWhatCannotBeChosen) {
  const at::Tensor values = at::zeros({2, 6});
  EXPECT_THROW(choose_experts(values, {.top_k = 7}), InternalError);
  EXPECT_THROW(choose_experts(values, {.top_k = 2, .num_groups = 4}), InternalError);
  EXPECT_THROW(choose_experts(values, {.top_k = 3, .num_groups = 3, .top_groups = 1, .sum_of = 1}), InternalError);
}

TEST(TopKRouter, WeighsLikeTheReferenceForwardAndBackward) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const auto score : {RouterScore::SoftmaxOverAll, RouterScore::SoftmaxOverChosen, RouterScore::Sigmoid,
                             RouterScore::SqrtSoftplus}) {
      for (const bool renormalise : {false, true}) {
        const RouterOptions options{.score = score, .top = {.top_k = 5}, .renormalise = renormalise, .scale = 1.7};
        const at::Tensor logits = (quiet({67, 19}, 2, type) * 4).requires_grad_(true);
        const at::Tensor experts = choose_experts(logits.detach(), options.top);
        const at::Tensor expected = reference::router_weights(logits, experts, options);
        const at::Tensor weights = router_weights_forward(logits.detach(), experts, options);
        const at::Tensor d_weights = quiet({67, 5}, 3, type);
        expected.backward(d_weights);
        const double bound = type == at::kDouble ? 1e-9 : 1e-5;  // softplus is cut off at 20
        EXPECT_LT(distance(weights, expected.detach()), bound);
        EXPECT_LT((router_weights_backward(d_weights, logits.detach(), experts, options) - logits.grad())
                      .abs()
                      .max()
                      .item<double>(),
                  bound);
      }
    }
  }
}

TEST(TopKRouter, GivesTheSameBitsWithAnyNumberOfThreads) {
  const RouterOptions options{.top = {.top_k = 4, .num_groups = 8, .top_groups = 3, .sum_of = 2}};
  const at::Tensor logits = quiet({3000, 64}, 4);
  cases::expect_same_with_one_and_two_threads([&] {
    const at::Tensor experts = choose_experts(choice_values(logits, {}, options), options.top);
    return std::vector<at::Tensor>{experts, router_weights_forward(logits, experts, options),
                                   router_weights_backward(at::ones({3000, 4}), logits, experts, options)};
  });
}

// 5 of 6 experts get tokens, unequally; some pairs are dropped.
struct Sorted {
  explicit Sorted(int64_t num_tokens, int64_t top_k, bool drops) {
    at::manual_seed(8);
    const at::Tensor values = at::randn({num_tokens, 6}) + at::tensor({2.0F, 1.0F, 0.0F, -90.0F, 0.5F, 0.0F});
    experts = choose_experts(values, {.top_k = top_k});
    keep = drops ? at::rand({num_tokens, top_k}) > 0.3 : at::Tensor();
    if (drops) keep[1].fill_(false);  // a token without any expert
    dispatch = plan_dispatch(experts, keep, 6);
    weights = at::rand({num_tokens, top_k});
  }
  at::Tensor experts, keep, weights;
  Dispatch dispatch;
};

TEST(Permute, PlansRowsByExpertInTokenOrder) {
  const at::Tensor experts = at::tensor({2, 0, 0, 1, 2, 1}, at::kLong).view({3, 2});
  const Dispatch all = plan_dispatch(experts, {}, 4);
  EXPECT_EQ(all.starts, (std::vector<int64_t>{0, 2, 4, 6, 6}));
  EXPECT_EQ(all.pair_of_row, (std::vector<int64_t>{1, 2, 3, 5, 0, 4}));
  EXPECT_EQ(all.row_of_pair, (std::vector<int64_t>{4, 0, 1, 2, 5, 3}));
  const at::Tensor keep = at::tensor({1, 1, 0, 1, 1, 0}).to(at::kBool).view({3, 2});
  const Dispatch some = plan_dispatch(experts, keep, 4);
  EXPECT_EQ(some.starts, (std::vector<int64_t>{0, 1, 2, 4, 4}));
  EXPECT_EQ(some.row_of_pair, (std::vector<int64_t>{2, 0, -1, 1, 3, -1}));
  EXPECT_THROW(plan_dispatch(experts, {}, 2), InternalError);
}

TEST(Permute, MovesAndWeighsRowsLikeTheReference) {
  for (const int64_t width : cases::kWidths) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble, at::kHalf}) {
      for (const bool drops : {false, true}) {
        const Sorted s(41, 3, drops);
        const at::Tensor x = quiet({41, width}, 5, type), rows = quiet({s.dispatch.num_rows(), width}, 6, type);
        EXPECT_TRUE(at::equal(permute(x, s.dispatch, {}), reference::permute(x, s.dispatch, {})));
        EXPECT_LT(distance(permute(x, s.dispatch, s.weights), reference::permute(x, s.dispatch, s.weights)),
                  tolerance(type));
        EXPECT_LT(distance(unpermute(rows, s.dispatch, {}), reference::unpermute(rows, s.dispatch, {})),
                  tolerance(type));
        EXPECT_LT(distance(unpermute(rows, s.dispatch, s.weights), reference::unpermute(rows, s.dispatch, s.weights)),
                  tolerance(type));
        EXPECT_LT(distance(pair_dots(rows, x, true, s.dispatch), reference::pair_dots(rows, x, true, s.dispatch)),
                  2e-4);
        at::Tensor scaled = rows.clone();
        scale_rows(scaled, s.dispatch, s.weights);
        const at::Tensor dots = pair_dots(scaled, rows, false, s.dispatch);
        EXPECT_LT(distance(dots, reference::pair_dots(rows, rows, false, s.dispatch) * s.weights), 0.01);
      }
    }
  }
}

TEST(Permute, GivesTheSameBitsWithAnyNumberOfThreads) {
  const Sorted s(2000, 3, true);
  const at::Tensor x = quiet({2000, 65}, 5);
  cases::expect_same_with_one_and_two_threads([&] {
    const at::Tensor rows = permute(x, s.dispatch, s.weights);
    return std::vector<at::Tensor>{rows, unpermute(rows, s.dispatch, s.weights), pair_dots(rows, x, true, s.dispatch)};
  });
}

TEST(GroupedGemm, EqualsTheProductsInDouble) {
  // Each method: some take rows of the next experts along, which must be written again.
  std::vector<std::pair<at::ScalarType, GemmMethod>> methods = {{at::kFloat, GemmMethod::Aten},
                                                                {at::kFloat, GemmMethod::LinearPointwise},
                                                                {at::kBFloat16, GemmMethod::Aten},
                                                                {at::kBFloat16, GemmMethod::ViaFloat32}};
  if (has_tiled_products(false)) methods.emplace_back(at::kFloat, GemmMethod::Tiled);
  if (has_tiled_products(true)) methods.emplace_back(at::kBFloat16, GemmMethod::Tiled);
  for (const auto& [type, method] : methods) {
    GemmRoute route;
    (type == at::kFloat ? route.f32 : route.bf16) = method;
    const Sorted s(53, 2, true);
    const int64_t p = s.dispatch.num_rows(), k = 37, m = 29;
    const at::Tensor x = quiet({p, k}, 1, type), w = quiet({6 * m, k}, 2, type), bias = quiet({6 * m}, 3, type);
    const at::Tensor dy = quiet({p, m}, 4, type);
    const double bound = type == at::kFloat ? 1e-4 : 0.1;
    const at::Tensor y = grouped_forward(route, x, s.dispatch.starts, w, bias);
    EXPECT_LT(distance(y, reference::grouped_forward(x, s.dispatch.starts, w, bias)), bound);
    const at::Tensor dx = grouped_dgrad(route, dy, s.dispatch.starts, w);
    at::Tensor grad = quiet({6 * m, k}, 5), bias_grad = quiet({6 * m}, 6);
    const at::Tensor start = grad.clone(), bias_start = bias_grad.clone();
    grouped_wgrad(route, dy, x, s.dispatch.starts, grad);
    grouped_bias_grad(dy, s.dispatch.starts, bias_grad);
    for (int64_t e = 0; e < 6; ++e) {
      const int64_t from = s.dispatch.starts[static_cast<size_t>(e)],
                    to = s.dispatch.starts[static_cast<size_t>(e + 1)];
      const at::Tensor x_e = x.slice(0, from, to), dy_e = dy.slice(0, from, to), w_e = w.narrow(0, e * m, m);
      EXPECT_LT(distance(dx.slice(0, from, to), linear_dgrad_reference(dy_e, w_e)), bound);
      const at::Tensor added = grad.narrow(0, e * m, m), bias_added = bias_grad.narrow(0, e * m, m);
      EXPECT_LT(distance(added, start.narrow(0, e * m, m) + linear_wgrad_reference(dy_e, x_e)), bound);
      EXPECT_LT(distance(bias_added, bias_start.narrow(0, e * m, m) + dy_e.to(at::kDouble).sum(0)), bound);
    }
    EXPECT_EQ(s.dispatch.starts[3], s.dispatch.starts[4]);
    EXPECT_TRUE(at::equal(grad.narrow(0, 3 * m, m), start.narrow(0, 3 * m, m)));
  }
}

TEST(GroupedGemm, TiledGivesTheSameBitsWithAnyNumberOfThreads) {
  if (!has_tiled_products(true)) GTEST_SKIP() << "this CPU has no avx512_bf16";
  const GemmRoute route{.bf16 = GemmMethod::Tiled};
  const Sorted s(700, 2, true);
  const int64_t p = s.dispatch.num_rows(), k = 137, m = 99;
  const at::Tensor x = quiet({p, k}, 1, at::kBFloat16), w = quiet({6 * m, k}, 2, at::kBFloat16);
  const at::Tensor dy = quiet({p, m}, 4, at::kBFloat16);
  cases::expect_same_with_one_and_two_threads([&] {
    const at::Tensor grad = at::ones({6 * m, k}, at::kFloat);
    grouped_wgrad(route, dy, x, s.dispatch.starts, grad);
    return std::vector<at::Tensor>{grouped_forward(route, x, s.dispatch.starts, w, {}),
                                   grouped_dgrad(route, dy, s.dispatch.starts, w), grad};
  });
}

TEST(GroupedGemm, LeavesEverythingAloneWithoutRows) {
  const GemmRoute route{.f32 = has_tiled_products(false) ? GemmMethod::Tiled : GemmMethod::Aten};
  const std::vector<int64_t> starts(4, 0);
  const at::Tensor w = quiet({9, 5}, 1);
  EXPECT_EQ(grouped_forward(route, at::empty({0, 5}), starts, w, {}).sizes(), (std::vector<int64_t>{0, 3}));
  at::Tensor grad = w.clone();
  grouped_wgrad(route, at::empty({0, 3}), at::empty({0, 5}), starts, grad);
  EXPECT_TRUE(at::equal(grad, w));
}

TEST(TokenRandom, DependsOnSampleAndPositionAlone) {
  const PhiloxKey key = philox_key(3, "router", 1);
  const at::Tensor samples = at::tensor({5, 9}, at::kLong), positions = at::tensor({2, 7}, at::kLong);
  const at::Tensor normal = token_normal(7, key, samples, positions);
  EXPECT_TRUE(
      at::equal(token_normal(7, key, samples.narrow(0, 1, 1), positions.narrow(0, 1, 1)), normal.narrow(0, 1, 1)));
  EXPECT_FALSE(at::equal(normal[0], normal[1]));
  const at::Tensor uniform = token_uniform(1000, key, samples, positions, 0.9, 1.1);
  EXPECT_NEAR(uniform.mean().item<double>(), 1, 0.01);
  EXPECT_GE(uniform.min().item<double>(), 0.9 - 1e-6);
  EXPECT_LE(uniform.max().item<double>(), 1.1 + 1e-6);
}

}  // namespace

}  // namespace primus::kernels
