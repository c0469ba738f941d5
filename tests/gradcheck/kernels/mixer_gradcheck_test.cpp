// Gradients of short convolutions, scans and gated norms against central differences, in double: the chunked forms,
// which compute in double too, and the references.
#include <gtest/gtest.h>

#include "gradcheck/kernels/numeric_gradient.h"

#include "primus/kernels/gated_delta.h"
#include "primus/kernels/gated_norm.h"
#include "primus/kernels/short_conv.h"
#include "primus/kernels/ssd.h"

namespace primus::kernels {

namespace {

using numeric::expect_close;
using numeric::random;

// Two documents that start inside chunks of four, in a sequence that ends inside one.
at::Tensor three_documents() {
  return at::tensor({0, 0, 0, 0, 0, 5, 5, 5, 8, 8}, at::kInt).unsqueeze(0);
}

TEST(ShortConvGradient, AgreesWithCentralDifferences) {
  for (const bool silu : {false, true}) {
    const at::Tensor x = random({1, 10, 3}, 1), w = random({3, 4}, 2), bias = random({3}, 3),
                     dy = random({1, 10, 3}, 4);
    const at::Tensor state = random({1, 3, 3}, 5);
    const ShortConvOptions options{silu, three_documents()};
    const ShortConvGrads grads = short_conv_backward(dy, x, w, bias, state, options);
    const auto y = [&](const at::Tensor& x_, const at::Tensor& w_, const at::Tensor& bias_) {
      return short_conv_forward(x_, w_, bias_, state, options).y;
    };
    expect_close(grads.dx, numeric::gradient([&](const at::Tensor& t) { return y(t, w, bias); }, x, dy));
    expect_close(grads.dw, numeric::gradient([&](const at::Tensor& t) { return y(x, t, bias); }, w, dy));
    expect_close(grads.d_bias, numeric::gradient([&](const at::Tensor& t) { return y(x, w, t); }, bias, dy));
  }
}

TEST(GatedNormGradient, AgreesWithCentralDifferences) {
  for (const auto order : {GateOrder::NormFirst, GateOrder::GateFirst}) {
    const GatedNormOptions options{1e-3, order, 3};
    const at::Tensor x = random({4, 6}, 1), z = random({4, 6}, 2), gain = random({6}, 3), dy = random({4, 6}, 4);
    const auto y = [&](const at::Tensor& x_, const at::Tensor& z_, const at::Tensor& gain_) {
      return std::get<0>(gated_rms_norm_forward(x_, z_, gain_, options));
    };
    const at::Tensor rstd = std::get<1>(gated_rms_norm_forward(x, z, gain, options));
    const auto [dx, dz, d_gain] = gated_rms_norm_backward(dy, x, z, gain, rstd, options);
    expect_close(dx, numeric::gradient([&](const at::Tensor& t) { return y(t, z, gain); }, x, dy));
    expect_close(dz, numeric::gradient([&](const at::Tensor& t) { return y(x, t, gain); }, z, dy));
    expect_close(d_gain, numeric::gradient([&](const at::Tensor& t) { return y(x, z, t); }, gain, dy));
  }
}

// Both results in one row of numbers.
at::Tensor joined(const at::Tensor& out, const at::Tensor& state) {
  return at::cat({out.flatten(), state.flatten()});
}

// For every member of the inputs: `changed` is the input with that member replaced.
template <class Inputs>
void expect_numeric(const Inputs& in, at::Tensor Inputs::* member, const at::Tensor& analytic,
                    const at::Tensor& d_joined, const std::function<at::Tensor(const Inputs&)>& f) {
  const auto of_member = [&](const at::Tensor& t) {
    Inputs changed = in;
    changed.*member = t;
    return f(changed);
  };
  expect_close(analytic, numeric::gradient(of_member, in.*member, d_joined));
}

TEST(GatedDeltaGradient, AgreesWithCentralDifferences) {
  GatedDeltaInputs in;
  in.q = random({1, 10, 1, 3}, 1);
  in.k = random({1, 10, 1, 3}, 2);
  in.v = random({1, 10, 2, 2}, 3);
  in.g = -random({1, 10, 2}, 4).abs();
  in.beta = random({1, 10, 2}, 5).sigmoid();
  in.initial_state = random({1, 2, 3, 2}, 6);
  const at::Tensor dout = random(in.v.sizes(), 7), d_state = random(in.initial_state.sizes(), 8);
  for (const bool packed : {false, true}) {
    for (const bool normalize : {false, true}) {
      GatedDeltaOptions options;
      options.normalize_qk = normalize;
      options.chunk = 4;
      if (packed) options.document_start = three_documents();
      const GatedDeltaResult result = gated_delta_forward(in, options);
      for (const bool chunked : {false, true}) {
        SCOPED_TRACE(testing::Message() << packed << normalize << chunked);
        const GatedDeltaGrads grads = chunked ? gated_delta_backward(dout, d_state, in, result.chunk_states, options)
                                              : reference::gated_delta_backward(dout, d_state, in, options);
        const auto f = [&](const GatedDeltaInputs& t) {
          const auto r = chunked ? gated_delta_forward(t, options) : reference::gated_delta_forward(t, options);
          return joined(r.out, r.final_state);
        };
        const auto expect = [&](at::Tensor GatedDeltaInputs::* member, const at::Tensor& analytic) {
          expect_numeric<GatedDeltaInputs>(in, member, analytic, joined(dout, d_state), f);
        };
        expect(&GatedDeltaInputs::q, grads.dq);
        expect(&GatedDeltaInputs::k, grads.dk);
        expect(&GatedDeltaInputs::v, grads.dv);
        expect(&GatedDeltaInputs::g, grads.dg);
        expect(&GatedDeltaInputs::beta, grads.d_beta);
        expect(&GatedDeltaInputs::initial_state, grads.d_initial_state);
      }
    }
  }
}

TEST(SsdGradient, AgreesWithCentralDifferences) {
  SsdInputs in;
  in.x = random({1, 10, 4, 2}, 1);
  in.dt = random({1, 10, 4}, 2).exp() * 0.3;
  in.a = -random({4}, 3).exp();
  in.b = random({1, 10, 2, 3}, 4);
  in.c = random({1, 10, 2, 3}, 5);
  in.d = random({4}, 6);
  in.initial_state = random({1, 4, 2, 3}, 7);
  const at::Tensor dout = random(in.x.sizes(), 8), d_state = random(in.initial_state.sizes(), 9);
  for (const bool packed : {false, true}) {
    SsdOptions options;
    options.chunk = 4;
    if (packed) options.document_start = three_documents();
    const SsdResult result = ssd_forward(in, options);
    for (const bool chunked : {false, true}) {
      SCOPED_TRACE(testing::Message() << packed << chunked);
      const SsdGrads grads = chunked ? ssd_backward(dout, d_state, in, result.chunk_states, options)
                                     : reference::ssd_backward(dout, d_state, in, options);
      const auto f = [&](const SsdInputs& t) {
        const auto r = chunked ? ssd_forward(t, options) : reference::ssd_forward(t, options);
        return joined(r.out, r.final_state);
      };
      const auto expect = [&](at::Tensor SsdInputs::* member, const at::Tensor& analytic) {
        expect_numeric<SsdInputs>(in, member, analytic, joined(dout, d_state), f);
      };
      expect(&SsdInputs::x, grads.dx);
      expect(&SsdInputs::dt, grads.d_dt);
      expect(&SsdInputs::a, grads.da);
      expect(&SsdInputs::b, grads.db);
      expect(&SsdInputs::c, grads.dc);
      expect(&SsdInputs::d, grads.dd);
      expect(&SsdInputs::initial_state, grads.d_initial_state);
    }
  }
}

}  // namespace

}  // namespace primus::kernels
