#include "primus/kernels/gated_delta.h"

#include "parity/kernels/scan_cases.h"

#include "primus/base/check.h"

namespace primus::kernels {

namespace {

using cases::output_tolerance;
using cases::quiet;
using cases::spread;

struct DeltaCase {
  int64_t batch = 2, tokens = 1, groups = 2, heads = 4, key_width = 7, value_width = 5;
  at::ScalarType type = at::kFloat;
  bool state = true;
};

// Decays from almost none to e^-20; keys short enough to be used as they are.
GatedDeltaInputs delta_inputs(const DeltaCase& c, uint64_t seed) {
  GatedDeltaInputs in;
  in.q = quiet({c.batch, c.tokens, c.groups, c.key_width}, seed, c.type);
  in.k = (0.3 * quiet({c.batch, c.tokens, c.groups, c.key_width}, seed + 1)).to(c.type);
  in.v = quiet({c.batch, c.tokens, c.heads, c.value_width}, seed + 2, c.type);
  const auto gate_type = c.type == at::kDouble ? at::kDouble : at::kFloat;
  in.g = -0.1 * quiet({c.batch, c.tokens, c.heads}, seed + 3, gate_type).abs();
  in.g.view({-1}).slice(0, 20, in.g.numel(), 23).fill_(-20);
  in.beta = quiet({c.batch, c.tokens, c.heads}, seed + 4, c.type).sigmoid();
  if (c.state) in.initial_state = quiet({c.batch, c.heads, c.key_width, c.value_width}, seed + 5, gate_type);
  return in;
}

GatedDeltaInputs cut(const GatedDeltaInputs& in, int64_t first, int64_t length, const at::Tensor& state) {
  const auto part = [&](const at::Tensor& t) { return t.narrow(1, first, length); };
  return {part(in.q), part(in.k), part(in.v), part(in.g), part(in.beta), state};
}

std::vector<at::Tensor> list(const GatedDeltaGrads& g) {
  return {g.dq, g.dk, g.dv, g.dg, g.d_beta};
}

TEST(GatedDelta, ChunksEqualTheRecurrenceForEveryLength) {
  for (const int64_t tokens : cases::kLengths) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const bool normalize : {false, true}) {
        SCOPED_TRACE(testing::Message() << tokens << " tokens, " << at::toString(type) << normalize);
        GatedDeltaOptions options;
        options.normalize_qk = normalize;
        DeltaCase c{.tokens = tokens, .type = type, .state = tokens != 65};
        if (tokens > 1000) c = {.batch = 1, .tokens = tokens, .groups = 1, .heads = 1, .type = type};
        const GatedDeltaInputs in = delta_inputs(c, 1);
        const GatedDeltaResult result = gated_delta_forward(in, options);
        const GatedDeltaResult plain = reference::gated_delta_forward(in, options);
        EXPECT_EQ(result.out.scalar_type(), type);
        EXPECT_LT(spread(result.out, plain.out), output_tolerance(type));
        EXPECT_LT(spread(result.final_state, plain.final_state), type == at::kDouble ? 1e-12 : 3e-6);
        const at::Tensor dout = quiet(in.v.sizes(), 9, type);
        const at::Tensor d_state = quiet(plain.final_state.sizes(), 10, plain.final_state.scalar_type());
        const GatedDeltaGrads grads = gated_delta_backward(dout, d_state, in, result.chunk_states, options);
        const GatedDeltaGrads expected = reference::gated_delta_backward(dout, d_state, in, options);
        for (size_t i = 0; i < list(grads).size(); ++i) {
          EXPECT_EQ(list(grads)[i].scalar_type(), list(expected)[i].scalar_type());
          EXPECT_LT(spread(list(grads)[i], list(expected)[i]), 3 * output_tolerance(type)) << "gradient " << i;
        }
        ASSERT_EQ(grads.d_initial_state.defined(), c.state);
        if (c.state) {
          EXPECT_LT(spread(grads.d_initial_state, expected.d_initial_state), 3 * output_tolerance(at::kFloat));
        }
      }
    }
  }
}

TEST(GatedDelta, PackedDocumentsEqualSeparateOnes) {
  const DeltaCase c{.tokens = cases::total(cases::kDocuments), .state = false};
  const GatedDeltaInputs in = delta_inputs(c, 20);
  GatedDeltaOptions packed;
  packed.normalize_qk = true;
  GatedDeltaOptions single = packed;
  packed.document_start = cases::document_starts(cases::kDocuments, c.batch);
  const at::Tensor dout = quiet(in.v.sizes(), 30);
  const GatedDeltaResult whole = gated_delta_forward(in, packed);
  const GatedDeltaGrads grads = gated_delta_backward(dout, {}, in, whole.chunk_states, packed);
  EXPECT_LT(spread(whole.out, reference::gated_delta_forward(in, packed).out), 3e-6);
  const GatedDeltaGrads plain = reference::gated_delta_backward(dout, {}, in, packed);
  for (size_t i = 0; i < list(grads).size(); ++i) EXPECT_LT(spread(list(grads)[i], list(plain)[i]), 1e-5) << i;
  at::Tensor last_state;
  cases::for_each_document(cases::kDocuments, [&](int64_t first, int64_t length) {
    const GatedDeltaInputs part = cut(in, first, length, {});
    const GatedDeltaResult alone = gated_delta_forward(part, single);
    EXPECT_LT(spread(whole.out.narrow(1, first, length), alone.out), 3e-6);
    const at::Tensor d = dout.narrow(1, first, length);
    const GatedDeltaGrads separate = gated_delta_backward(d, {}, part, alone.chunk_states, single);
    for (const size_t i : {0, 1, 2, 4}) {
      EXPECT_LT(spread(list(grads)[i].narrow(1, first, length), list(separate)[i]), 1e-5) << first << " " << i;
    }
    last_state = alone.final_state;
  });
  EXPECT_LT(spread(whole.final_state, last_state), 3e-6);
}

TEST(GatedDelta, TheFirstPackedDocumentGoesOnFromTheState) {
  const std::vector<int64_t> lengths = {70, 4};
  const GatedDeltaInputs in = delta_inputs({.tokens = 74}, 40);
  GatedDeltaOptions options;
  options.document_start = cases::document_starts(lengths, 2);
  const GatedDeltaResult result = gated_delta_forward(in, options);
  const GatedDeltaResult first = gated_delta_forward(cut(in, 0, 70, in.initial_state), {});
  EXPECT_LT(spread(result.out.narrow(1, 0, 70), first.out), 3e-6);
  EXPECT_LT(spread(result.final_state, gated_delta_forward(cut(in, 70, 4, {}), {}).final_state), 3e-6);
  const at::Tensor dout = quiet(in.v.sizes(), 41);
  const at::Tensor got = gated_delta_backward(dout, {}, in, result.chunk_states, options).d_initial_state;
  EXPECT_LT(spread(got, reference::gated_delta_backward(dout, {}, in, options).d_initial_state), 1e-5);
}

TEST(GatedDelta, HalvesThatHandOverTheStateEqualTheWhole) {
  for (const int64_t half : {1, 64, 77}) {
    const GatedDeltaInputs in = delta_inputs({.tokens = 130}, 50);
    const GatedDeltaResult whole = gated_delta_forward(in, {});
    const GatedDeltaInputs a = cut(in, 0, half, in.initial_state);
    const GatedDeltaResult first = gated_delta_forward(a, {});
    const GatedDeltaInputs b = cut(in, half, 130 - half, first.final_state);
    const GatedDeltaResult second = gated_delta_forward(b, {});
    EXPECT_LT(spread(at::cat({first.out, second.out}, 1), whole.out), 3e-6);
    EXPECT_LT(spread(second.final_state, whole.final_state), 3e-6);
    const at::Tensor dout = quiet(in.v.sizes(), 51), d_state = quiet(whole.final_state.sizes(), 52);
    const GatedDeltaGrads grads = gated_delta_backward(dout, d_state, in, whole.chunk_states, {});
    const GatedDeltaGrads late =
        gated_delta_backward(dout.narrow(1, half, 130 - half), d_state, b, second.chunk_states, {});
    const GatedDeltaGrads early =
        gated_delta_backward(dout.narrow(1, 0, half), late.d_initial_state, a, first.chunk_states, {});
    for (size_t i = 0; i < list(grads).size(); ++i) {
      EXPECT_LT(spread(at::cat({list(early)[i], list(late)[i]}, 1), list(grads)[i]), 1e-5) << i;
    }
    EXPECT_LT(spread(early.d_initial_state, grads.d_initial_state), 1e-5);
  }
}

TEST(GatedDelta, TheChunkChangesOnlyTheLastBits) {
  const GatedDeltaInputs in = delta_inputs({.tokens = 67}, 60);
  GatedDeltaOptions small;
  small.chunk = 9;
  small.scale = 0.5;
  small.keep_states = false;
  GatedDeltaOptions large;
  large.scale = 0.5;
  const GatedDeltaResult a = gated_delta_forward(in, small);
  EXPECT_FALSE(a.chunk_states.defined());
  EXPECT_LT(spread(a.out, gated_delta_forward(in, large).out), 3e-6);
}

TEST(GatedDelta, GivesTheSameBitsWithAnyNumberOfThreads) {
  for (const int64_t heads : {1, 6}) {
    DeltaCase c{.batch = 1, .tokens = 1100, .groups = 1, .heads = heads, .key_width = 64, .value_width = 48};
    const GatedDeltaInputs in = delta_inputs(c, 70);
    const at::Tensor dout = quiet(in.v.sizes(), 71);
    cases::expect_same_with_one_and_two_threads([&] {
      const GatedDeltaResult r = gated_delta_forward(in, {});
      std::vector<at::Tensor> all = list(gated_delta_backward(dout, {}, in, r.chunk_states, {}));
      all.push_back(r.out);
      all.push_back(r.final_state);
      return all;
    });
  }
}

TEST(GatedDelta, TakesSlicesOfOneProjection) {
  const at::Tensor qkv = quiet({2, 9, 4, 21}, 75, at::kBFloat16);
  GatedDeltaInputs in = delta_inputs({.tokens = 9, .type = at::kBFloat16}, 76);
  in.q = qkv.narrow(3, 0, 7);
  in.k = qkv.narrow(3, 7, 7) * 0.3;
  in.v = qkv.narrow(3, 14, 5);
  GatedDeltaInputs dense = in;
  dense.q = in.q.contiguous();
  dense.v = in.v.contiguous();
  const GatedDeltaResult a = gated_delta_forward(in, {}), b = gated_delta_forward(dense, {});
  EXPECT_TRUE(at::equal(a.out, b.out));
  EXPECT_TRUE(a.out.is_contiguous());
  const GatedDeltaGrads da = gated_delta_backward(in.v, {}, in, a.chunk_states, {});
  const GatedDeltaGrads db = gated_delta_backward(dense.v, {}, dense, b.chunk_states, {});
  for (size_t i = 0; i < list(da).size(); ++i) EXPECT_TRUE(at::equal(list(da)[i], list(db)[i])) << i;
}

TEST(GatedDelta, AStrongDecayLeavesTheDigitsOfTheWeakOnes) {
  GatedDeltaInputs in = delta_inputs({.tokens = 64, .state = false}, 77);
  in.g.narrow(1, 0, 20).fill_(-50);  // sums of -1000: their f32 neighbours are 6e-5 apart
  const GatedDeltaResult result = gated_delta_forward(in, {}), plain = reference::gated_delta_forward(in, {});
  EXPECT_LT(spread(result.out, plain.out), 3e-6);
}

TEST(GatedDelta, RefusesShapesThatDoNotFit) {
  const GatedDeltaInputs in = delta_inputs({.tokens = 4}, 80);
  GatedDeltaInputs odd = in;
  odd.v = in.v.narrow(2, 0, 3);
  EXPECT_THROW(gated_delta_forward(odd, {}), InternalError);
  odd = in;
  odd.beta = in.beta.narrow(1, 0, 3);
  EXPECT_THROW(gated_delta_forward(odd, {}), InternalError);
  odd = in;
  odd.initial_state = in.initial_state.transpose(2, 3);
  EXPECT_THROW(gated_delta_forward(odd, {}), InternalError);
  GatedDeltaOptions options;
  options.document_start = at::zeros({2, 3}, at::kInt);
  EXPECT_THROW(gated_delta_forward(in, options), InternalError);
}

}  // namespace

}  // namespace primus::kernels
