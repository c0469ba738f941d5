#include "parity/kernels/kernel_cases.h"

#include "primus/base/check.h"
#include "primus/kernels/optimizer_step.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;

struct State {
  at::Tensor master, grad, m, v, copy;

  static State make(int64_t n, at::ScalarType grad_type) {
    return {quiet({n}, 1), quiet({n}, 2, grad_type), quiet({n}, 3) * 0.1, quiet({n}, 4).square() * 0.01,
            at::zeros({n}, at::kBFloat16)};
  }
  State in_double() const {
    return {master.to(at::kDouble), grad.to(at::kDouble), m.to(at::kDouble), v.to(at::kDouble), copy.clone()};
  }
  State slice(int64_t begin, int64_t end) const {
    return {master.slice(0, begin, end), grad.slice(0, begin, end), m.slice(0, begin, end), v.slice(0, begin, end),
            copy.slice(0, begin, end)};
  }
  State clone() const { return {master.clone(), grad.clone(), m.clone(), v.clone(), copy.clone()}; }
  void step(const AdamWOptions& options) const { adamw_step(master, grad, m, v, copy, options); }
};

AdamWOptions options_of(bool decoupled, int64_t step) {
  return {.lr = 0.01,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .eps = 1e-5,
          .weight_decay = 0.1,
          .decoupled = decoupled,
          .step = step,
          .grad_scale = 0.37};
}

TEST(AdamW, AddsAnEpsilonUnderTheRoot) {
  const State state = State::make(5003, at::kFloat), without = state.clone();
  const State expected = state.in_double();
  for (int64_t step = 1; step <= 5; ++step) {
    AdamWOptions options = options_of(true, step);
    without.step(options);
    options.eps_root = 3e-3;
    state.step(options);
    reference::adamw_step(expected.master, expected.grad, expected.m, expected.v, expected.copy, options);
  }
  EXPECT_LT(distance(state.master, expected.master), 2e-5);
  EXPECT_GT(distance(state.master, without.master), 1e-4);
}

TEST(AdamW, EqualsTheDoubleReferenceAtOddSizes) {
  for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{129}, int64_t{5003}}) {
    for (const auto grad_type : {at::kFloat, at::kBFloat16}) {
      for (const bool decoupled : {true, false}) {
        const State state = State::make(n, grad_type);
        const State expected = state.in_double();
        for (int64_t step = 1; step <= 5; ++step) {
          state.step(options_of(decoupled, step));
          reference::adamw_step(expected.master, expected.grad, expected.m, expected.v, expected.copy,
                                options_of(decoupled, step));
        }
        EXPECT_LT(distance(state.master, expected.master), 2e-5);
        EXPECT_LT(distance(state.m, expected.m), 2e-5);
        EXPECT_LT(distance(state.v, expected.v), 2e-5);
        EXPECT_TRUE(at::equal(state.copy, state.master.to(at::kBFloat16)));
      }
    }
  }
}

// Recorded from torch 2.15: p = 1, grads 0.5, -2, 0.25, torch.optim.AdamW(lr=0.1, betas=(0.9, 0.99), eps=1e-8,
// weight_decay=0.01).
TEST(AdamW, FollowsTorchOptimAdamW) {
  const at::Tensor p = at::ones({1});
  const at::Tensor m = at::zeros({1});
  const at::Tensor v = at::zeros({1});
  int64_t step = 0;
  for (const float g : {0.5F, -2.0F, 0.25F}) {
    ++step;
    adamw_step(p, at::full({1}, g), m, v, {},
               {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.01, .step = step});
  }
  EXPECT_NEAR(p.item<float>(), 0.988234037, 1e-6);
}

TEST(AdamW, AnyCutGivesTheBitsOfTheWhole) {
  for (const auto grad_type : {at::kFloat, at::kBFloat16}) {
    const State whole = State::make(10007, grad_type);
    const State cut = whole.clone();
    whole.step(options_of(true, 3));
    int64_t begin = 0;
    for (const int64_t end : {1, 20, 4096, 4097, 9999, 10007}) {
      cut.slice(begin, end).step(options_of(true, 3));
      begin = end;
    }
    EXPECT_TRUE(at::equal(whole.master, cut.master));
    EXPECT_TRUE(at::equal(whole.m, cut.m));
    EXPECT_TRUE(at::equal(whole.v, cut.v));
    EXPECT_TRUE(at::equal(whole.copy, cut.copy));
  }
}

TEST(AdamW, GivesTheSameBitsWithAnyNumberOfThreads) {
  const State start = State::make(100003, at::kFloat);
  cases::expect_same_with_one_and_two_threads([&] {
    const State state = start.clone();
    state.step(options_of(true, 2));
    return std::vector<at::Tensor>{state.master, state.m, state.v, state.copy};
  });
}

TEST(AdamW, RefusesSpansOfDifferentSize) {
  const State state = State::make(8, at::kFloat);
  EXPECT_THROW(adamw_step(state.master, at::zeros({7}), state.m, state.v, {}, options_of(true, 1)), InternalError);
  EXPECT_THROW(adamw_step(state.master, state.grad, state.m, state.v, {}, options_of(true, 0)), InternalError);
}

TEST(Sgd, EqualsTheDoubleReference) {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      const State state = State::make(1003, at::kFloat);
      const State expected = state.in_double();
      for (int step = 0; step < 4; ++step) {
        const SgdOptions options{.lr = 0.05,
                                 .momentum = momentum,
                                 .weight_decay = 0.02,
                                 .nesterov = nesterov,
                                 .first_step = step == 0,
                                 .grad_scale = 0.5};
        sgd_step(state.master, state.grad, state.m, state.copy, options);
        reference::sgd_step(expected.master, expected.grad, expected.m, expected.copy, options);
      }
      EXPECT_LT(distance(state.master, expected.master), 1e-5);
      if (momentum != 0) {
        EXPECT_LT(distance(state.m, expected.m), 1e-5);
      }
      EXPECT_TRUE(at::equal(state.copy, state.master.to(at::kBFloat16)));
    }
  }
}

}  // namespace

}  // namespace primus::kernels
