#include "primus/kernels/short_conv.h"

#include "parity/kernels/scan_cases.h"

#include "primus/base/check.h"

namespace primus::kernels {

namespace {

using cases::quiet;
using cases::spread;

struct ConvCase {
  int64_t tokens = 1, width = 1, taps = 4;
  at::ScalarType type = at::kFloat;
  bool silu = true, bias = true, state = true;
};

struct ConvInputs {
  at::Tensor x, w, bias, state, dy;
};

ConvInputs conv_inputs(const ConvCase& c) {
  ConvInputs in;
  in.x = quiet({2, c.tokens, c.width}, 1, c.type);
  in.w = quiet({c.width, c.taps}, 2);
  if (c.bias) in.bias = quiet({c.width}, 3);
  if (c.state) in.state = quiet({2, c.width, c.taps - 1}, 4, c.type);
  in.dy = quiet({2, c.tokens, c.width}, 5, c.type);
  return in;
}

std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> all;
  for (const int64_t taps : {2, 3, 4, 8}) {
    for (const int64_t tokens : {1, 2, 7, 130}) {
      for (const int64_t width : {1, 16, 37}) {
        for (const auto type : {at::kFloat, at::kBFloat16}) {
          all.push_back({tokens, width, taps, type, true, width != 16, tokens != 7});
          all.push_back({tokens, width, taps, type, false, width == 16, tokens == 7});
        }
      }
    }
  }
  return all;
}

at::Tensor as_double(const at::Tensor& t) {
  return t.defined() ? t.to(at::kDouble) : t;
}

TEST(ShortConv, EqualsTheDoubleReference) {
  for (const ConvCase& c : conv_cases()) {
    SCOPED_TRACE(testing::Message() << c.tokens << " x " << c.width << ", " << c.taps << " taps, "
                                    << at::toString(c.type));
    const ConvInputs in = conv_inputs(c);
    ShortConvOptions options;
    options.silu = c.silu;
    for (const bool packed : {false, true}) {
      if (packed && c.tokens < 130) continue;
      if (packed) options.document_start = cases::document_starts({1, 2, 60, 1, 64, 2}, 2);
      const double tolerance = c.type == at::kFloat ? 2e-6 : 0.0041;
      const ShortConvResult result = short_conv_forward(in.x, in.w, in.bias, in.state, options);
      const auto plain = reference::short_conv_forward(as_double(in.x), as_double(in.w), as_double(in.bias),
                                                       as_double(in.state), options);
      EXPECT_EQ(result.y.scalar_type(), c.type);
      EXPECT_LT(spread(result.y, plain.y), tolerance);
      EXPECT_TRUE(at::equal(result.final_state.to(at::kDouble), plain.final_state));
      const ShortConvGrads grads = short_conv_backward(in.dy, in.x, in.w, in.bias, in.state, options);
      const ShortConvGrads expected = reference::short_conv_backward(as_double(in.dy), as_double(in.x), as_double(in.w),
                                                                     as_double(in.bias), as_double(in.state), options);
      EXPECT_LT(spread(grads.dx, expected.dx), tolerance);
      EXPECT_LT(spread(grads.dw, expected.dw), 5e-6);
      ASSERT_EQ(grads.d_bias.defined(), c.bias);
      if (c.bias) {
        EXPECT_LT(spread(grads.d_bias, expected.d_bias), 5e-6);
      }
    }
  }
}

TEST(ShortConv, EqualsTorchsConvolution) {
  const ConvInputs in = conv_inputs({.tokens = 9, .width = 6, .state = false});
  const at::Tensor expected =
      at::conv1d(in.x.transpose(1, 2), in.w.unsqueeze(1), in.bias, 1, 3, 1, 6).slice(2, 0, 9).transpose(1, 2);
  EXPECT_LT(spread(short_conv_forward(in.x, in.w, in.bias, {}, {}).y, expected), 2e-6);
}

TEST(ShortConv, TakesStridedInputs) {
  const ConvInputs in = conv_inputs({.tokens = 9, .width = 18, .state = false});
  const at::Tensor w = in.w.narrow(0, 0, 6), dense = in.x.narrow(2, 7, 6).contiguous();
  for (const at::Tensor& x : {in.x.narrow(2, 7, 6), dense.transpose(0, 2).contiguous().transpose(0, 2)}) {
    EXPECT_TRUE(at::equal(short_conv_forward(x, w, {}, {}, {}).y, short_conv_forward(dense, w, {}, {}, {}).y));
    const ShortConvGrads a = short_conv_backward(in.dy.narrow(2, 1, 6), x, w, {}, {}, {});
    const ShortConvGrads b = short_conv_backward(in.dy.narrow(2, 1, 6), dense, w, {}, {}, {});
    EXPECT_TRUE(at::equal(a.dx, b.dx) && at::equal(a.dw, b.dw));
  }
}

TEST(ShortConv, PackedDocumentsEqualSeparateOnesInEveryBit) {
  const int64_t tokens = cases::total(cases::kDocuments);
  const ConvInputs in = conv_inputs({.tokens = tokens, .width = 19, .state = false});
  ShortConvOptions single;
  single.silu = true;
  ShortConvOptions packed = single;
  packed.document_start = cases::document_starts(cases::kDocuments, 2);
  const ShortConvResult whole = short_conv_forward(in.x, in.w, in.bias, {}, packed);
  const ShortConvGrads grads = short_conv_backward(in.dy, in.x, in.w, in.bias, {}, packed);
  at::Tensor dw = at::zeros_like(grads.dw);
  cases::for_each_document(cases::kDocuments, [&](int64_t first, int64_t length) {
    const at::Tensor x = in.x.narrow(1, first, length);
    EXPECT_TRUE(at::equal(whole.y.narrow(1, first, length), short_conv_forward(x, in.w, in.bias, {}, single).y));
    const auto alone = short_conv_backward(in.dy.narrow(1, first, length), x, in.w, in.bias, {}, single);
    EXPECT_TRUE(at::equal(grads.dx.narrow(1, first, length), alone.dx));
    dw += alone.dw;
  });
  EXPECT_LT(spread(grads.dw, dw), 5e-6);
}

TEST(ShortConv, PartsThatHandOverTheStateEqualTheWholeInEveryBit) {
  const ConvInputs in = conv_inputs({.tokens = 11, .width = 5});
  for (const bool packed : {false, true}) {
    at::Tensor starts;
    if (packed) starts = cases::document_starts({5, 6}, 2);
    ShortConvOptions options{true, starts};
    const ShortConvResult whole = short_conv_forward(in.x, in.w, in.bias, in.state, options);
    at::Tensor state = in.state;
    cases::for_each_document({2, 4, 1, 1, 3}, [&](int64_t first, int64_t length) {
      if (packed) options.document_start = (starts.narrow(1, first, length) - first).clamp_min(0).to(at::kInt);
      const auto part = short_conv_forward(in.x.narrow(1, first, length), in.w, in.bias, state, options);
      EXPECT_TRUE(at::equal(part.y, whole.y.narrow(1, first, length))) << first;
      state = part.final_state;
    });
    EXPECT_TRUE(at::equal(state, whole.final_state));
  }
}

TEST(ShortConv, GivesTheSameBitsWithAnyNumberOfThreads) {
  const ConvInputs in = conv_inputs({.tokens = 333, .width = 129, .type = at::kBFloat16});
  cases::expect_same_with_one_and_two_threads([&] {
    const ShortConvResult r = short_conv_forward(in.x, in.w, in.bias, in.state, {});
    const ShortConvGrads g = short_conv_backward(in.dy, in.x, in.w, in.bias, in.state, {});
    return std::vector<at::Tensor>{r.y, r.final_state, g.dx, g.dw, g.d_bias};
  });
}

TEST(ShortConv, RefusesShapesThatDoNotFit) {
  const ConvInputs in = conv_inputs({.tokens = 4, .width = 3});
  EXPECT_THROW(short_conv_forward(in.x, in.w.narrow(1, 0, 1), {}, {}, {}), InternalError);
  EXPECT_THROW(short_conv_forward(in.x, at::zeros({3, 9}), {}, {}, {}), InternalError);
  EXPECT_THROW(short_conv_forward(in.x, in.w, {}, in.state.narrow(2, 0, 2), {}), InternalError);
}

}  // namespace

}  // namespace primus::kernels
