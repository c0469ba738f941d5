#include "primus/kernels/ssd.h"

#include "parity/kernels/scan_cases.h"

#include "primus/base/check.h"

namespace primus::kernels {

namespace {

using cases::output_tolerance;
using cases::quiet;
using cases::spread;

struct SsdCase {
  int64_t batch = 2, tokens = 1, heads = 6, groups = 2, head_width = 5, state_width = 7;
  at::ScalarType type = at::kFloat;
  bool state = true, skip = true;
};

SsdInputs ssd_inputs(const SsdCase& c, uint64_t seed) {
  const auto wide = c.type == at::kDouble ? at::kDouble : at::kFloat;
  SsdInputs in;
  in.x = quiet({c.batch, c.tokens, c.heads, c.head_width}, seed, c.type);
  in.dt = at::softplus(quiet({c.batch, c.tokens, c.heads}, seed + 1, wide) - 2);
  in.dt.view({-1}).slice(0, 20, in.dt.numel(), 29).fill_(5);
  in.a = -quiet({c.heads}, seed + 2, wide).exp();
  in.b = quiet({c.batch, c.tokens, c.groups, c.state_width}, seed + 3, c.type);
  in.c = quiet({c.batch, c.tokens, c.groups, c.state_width}, seed + 4, c.type);
  if (c.skip) in.d = quiet({c.heads}, seed + 5, wide);
  if (c.state) in.initial_state = quiet({c.batch, c.heads, c.head_width, c.state_width}, seed + 6, wide);
  return in;
}

SsdInputs cut(const SsdInputs& in, int64_t first, int64_t length, const at::Tensor& state) {
  const auto part = [&](const at::Tensor& t) { return t.narrow(1, first, length); };
  return {part(in.x), part(in.dt), in.a, part(in.b), part(in.c), in.d, state};
}

// Gradients with a time axis.
std::vector<at::Tensor> in_time(const SsdGrads& g) {
  return {g.dx, g.db, g.dc, g.d_dt};
}

TEST(Ssd, ChunksEqualTheRecurrenceForEveryLength) {
  for (const int64_t tokens : cases::kLengths) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens, " << at::toString(type));
      SsdCase c{.tokens = tokens, .type = type, .state = tokens != 65, .skip = tokens != 64};
      if (tokens > 1000) c = {.batch = 1, .tokens = tokens, .heads = 1, .groups = 1, .type = type};
      const SsdInputs in = ssd_inputs(c, 1);
      const SsdResult result = ssd_forward(in, {});
      const SsdResult plain = reference::ssd_forward(in, {});
      EXPECT_EQ(result.out.scalar_type(), type);
      EXPECT_LT(spread(result.out, plain.out), output_tolerance(type));
      EXPECT_LT(spread(result.final_state, plain.final_state), type == at::kDouble ? 1e-12 : 3e-6);
      const at::Tensor dout = quiet(in.x.sizes(), 9, type);
      const at::Tensor d_state = quiet(plain.final_state.sizes(), 10, plain.final_state.scalar_type());
      const SsdGrads grads = ssd_backward(dout, d_state, in, result.chunk_states, {});
      const SsdGrads expected = reference::ssd_backward(dout, d_state, in, {});
      for (size_t i = 0; i < in_time(grads).size(); ++i) {
        EXPECT_EQ(in_time(grads)[i].scalar_type(), in_time(expected)[i].scalar_type());
        EXPECT_LT(spread(in_time(grads)[i], in_time(expected)[i]), 3 * output_tolerance(type)) << "gradient " << i;
      }
      const double narrow = type == at::kDouble ? 1e-11 : 1e-5;
      EXPECT_LT(spread(grads.da, expected.da), narrow);
      ASSERT_EQ(grads.dd.defined(), c.skip);
      if (c.skip) {
        EXPECT_LT(spread(grads.dd, expected.dd), narrow);
      }
      ASSERT_EQ(grads.d_initial_state.defined(), c.state);
      if (c.state) {
        EXPECT_LT(spread(grads.d_initial_state, expected.d_initial_state), narrow);
      }
    }
  }
}

TEST(Ssd, PackedDocumentsEqualSeparateOnes) {
  const SsdCase c{.tokens = cases::total(cases::kDocuments), .state = false};
  const SsdInputs in = ssd_inputs(c, 20);
  SsdOptions packed;
  packed.document_start = cases::document_starts(cases::kDocuments, c.batch);
  const at::Tensor dout = quiet(in.x.sizes(), 30);
  const SsdResult whole = ssd_forward(in, packed);
  const SsdGrads grads = ssd_backward(dout, {}, in, whole.chunk_states, packed);
  const SsdGrads plain = reference::ssd_backward(dout, {}, in, packed);
  EXPECT_LT(spread(whole.out, reference::ssd_forward(in, packed).out), 3e-6);
  for (size_t i = 0; i < in_time(grads).size(); ++i) EXPECT_LT(spread(in_time(grads)[i], in_time(plain)[i]), 1e-5) << i;
  at::Tensor last_state, da = at::zeros_like(grads.da), dd = at::zeros_like(grads.dd);
  cases::for_each_document(cases::kDocuments, [&](int64_t first, int64_t length) {
    const SsdInputs part = cut(in, first, length, {});
    const SsdResult alone = ssd_forward(part, {});
    EXPECT_LT(spread(whole.out.narrow(1, first, length), alone.out), 3e-6);
    const SsdGrads separate = ssd_backward(dout.narrow(1, first, length), {}, part, alone.chunk_states, {});
    for (size_t i = 0; i < in_time(grads).size(); ++i) {
      EXPECT_LT(spread(in_time(grads)[i].narrow(1, first, length), in_time(separate)[i]), 1e-5) << first << " " << i;
    }
    da += separate.da;
    dd += separate.dd;
    last_state = alone.final_state;
  });
  EXPECT_LT(spread(grads.da, da), 1e-5);
  EXPECT_LT(spread(grads.dd, dd), 1e-5);
  EXPECT_LT(spread(whole.final_state, last_state), 3e-6);
}

TEST(Ssd, HalvesThatHandOverTheStateEqualTheWhole) {
  for (const int64_t half : {1, 64, 77}) {
    const SsdInputs in = ssd_inputs({.tokens = 130}, 50);
    const SsdResult whole = ssd_forward(in, {});
    const SsdInputs a = cut(in, 0, half, in.initial_state);
    const SsdResult first = ssd_forward(a, {});
    const SsdInputs b = cut(in, half, 130 - half, first.final_state);
    const SsdResult second = ssd_forward(b, {});
    EXPECT_LT(spread(at::cat({first.out, second.out}, 1), whole.out), 3e-6);
    EXPECT_LT(spread(second.final_state, whole.final_state), 3e-6);
    const at::Tensor dout = quiet(in.x.sizes(), 51), d_state = quiet(whole.final_state.sizes(), 52);
    const SsdGrads grads = ssd_backward(dout, d_state, in, whole.chunk_states, {});
    const SsdGrads late = ssd_backward(dout.narrow(1, half, 130 - half), d_state, b, second.chunk_states, {});
    const SsdGrads early = ssd_backward(dout.narrow(1, 0, half), late.d_initial_state, a, first.chunk_states, {});
    for (size_t i = 0; i < in_time(grads).size(); ++i) {
      EXPECT_LT(spread(at::cat({in_time(early)[i], in_time(late)[i]}, 1), in_time(grads)[i]), 1e-5) << i;
    }
    EXPECT_LT(spread(early.d_initial_state, grads.d_initial_state), 1e-5);
    EXPECT_LT(spread(early.da + late.da, grads.da), 1e-5);
  }
}

TEST(Ssd, GivesTheSameBitsWithAnyNumberOfThreads) {
  for (const int64_t heads : {1, 10}) {
    const SsdCase c{.batch = 1, .tokens = 1100, .heads = heads, .groups = 1, .head_width = 64, .state_width = 48};
    const SsdInputs in = ssd_inputs(c, 70);
    const at::Tensor dout = quiet(in.x.sizes(), 71);
    cases::expect_same_with_one_and_two_threads([&] {
      const SsdResult r = ssd_forward(in, {});
      const SsdGrads g = ssd_backward(dout, {}, in, r.chunk_states, {});
      return std::vector<at::Tensor>{r.out, r.final_state, g.dx, g.db, g.dc, g.d_dt, g.da, g.dd};
    });
  }
}

TEST(Ssd, RefusesShapesThatDoNotFit) {
  const SsdInputs in = ssd_inputs({.tokens = 4}, 80);
  SsdInputs odd = in;
  odd.c = in.c.narrow(3, 0, 3);
  EXPECT_THROW(ssd_forward(odd, {}), InternalError);
  odd = in;
  odd.a = in.a.narrow(0, 0, 5);
  EXPECT_THROW(ssd_forward(odd, {}), InternalError);
  odd = in;
  odd.b = odd.c = at::zeros({2, 4, 4, 7});
  EXPECT_THROW(ssd_forward(odd, {}), InternalError);
}

}  // namespace

}  // namespace primus::kernels
