// Sequence mixers against transformers' own functions (make_mixers.py says which, versions and command).
#include <cmath>
#include <gtest/gtest.h>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/kernels/gated_delta.h"
#include "primus/kernels/gated_norm.h"
#include "primus/kernels/short_conv.h"
#include "primus/kernels/ssd.h"

namespace primus::kernels {

namespace {

at::Tensor wave(double seed, at::IntArrayRef shape) {
  at::Tensor t = at::empty(shape, at::kDouble);
  double* const values = t.mutable_data_ptr<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    const auto x = static_cast<double>(i);
    values[i] = std::sin(seed + 0.7 * x + 0.013 * x * x);
  }
  return t.to(at::kFloat);
}

class Golden {
 public:
  Golden() : values_(value_or_throw(parse_json(value_or_throw(read_text_file(kPath)), kPath))) {}

  void expect(const std::string& name, const at::Tensor& got) const {
    const auto numbers = values_.at(name).get<std::vector<double>>();
    ASSERT_EQ(got.numel(), static_cast<int64_t>(numbers.size())) << name;
    const at::Tensor expected = at::tensor(numbers, at::kDouble);
    const double scale = expected.abs().max().item<double>();
    EXPECT_LT((got.to(at::kDouble).flatten() - expected).abs().max().item<double>(), 3e-6 * scale) << name;
  }

 private:
  static constexpr const char* kPath = "tests/golden/kernels/mixers.json";
  Json values_;
};

TEST(MixerGolden, GatedDeltaRuleOfQwen3Next) {
  const Golden golden;
  const GatedDeltaInputs in{wave(1, {1, 67, 1, 6}),           wave(2, {1, 67, 1, 6}),        wave(3, {1, 67, 2, 5}),
                            wave(4, {1, 67, 2}).abs() * -0.5, wave(5, {1, 67, 2}).sigmoid(), wave(6, {1, 2, 6, 5})};
  GatedDeltaOptions options;
  options.normalize_qk = true;
  const at::Tensor dout = wave(7, in.v.sizes()), d_state = wave(8, in.initial_state.sizes());
  const GatedDeltaResult chunked = gated_delta_forward(in, options),
                         plain = reference::gated_delta_forward(in, options);
  const GatedDeltaGrads of_chunks = gated_delta_backward(dout, d_state, in, chunked.chunk_states, options);
  const GatedDeltaGrads of_plain = reference::gated_delta_backward(dout, d_state, in, options);
  for (const auto& [result, grads] : {std::pair(chunked, of_chunks), std::pair(plain, of_plain)}) {
    for (const std::string form : {"chunk", "recurrent"}) {
      golden.expect("gated_delta." + form + ".out", result.out);
      golden.expect("gated_delta." + form + ".final_state", result.final_state);
    }
    golden.expect("gated_delta.d_q", grads.dq);
    golden.expect("gated_delta.d_k", grads.dk);
    golden.expect("gated_delta.d_v", grads.dv);
    golden.expect("gated_delta.d_g", grads.dg);
    golden.expect("gated_delta.d_beta", grads.d_beta);
    golden.expect("gated_delta.d_state", grads.d_initial_state);
  }
}

SsdInputs golden_ssd_inputs() {
  return {wave(11, {1, 21, 4, 3}), at::softplus(wave(12, {1, 21, 4})),
          -wave(13, {4}).exp(),    wave(14, {1, 21, 2, 5}),
          wave(15, {1, 21, 2, 5}), wave(16, {4}),
          wave(17, {1, 4, 3, 5})};
}

TEST(MixerGolden, ScanOfMamba2) {
  const Golden golden;
  const SsdInputs in = golden_ssd_inputs();
  SsdOptions options;
  options.chunk = 8;
  const at::Tensor dout = wave(18, in.x.sizes()), d_state = wave(19, in.initial_state.sizes());
  const SsdResult chunked = ssd_forward(in, options), plain = reference::ssd_forward(in, options);
  const SsdGrads of_chunks = ssd_backward(dout, d_state, in, chunked.chunk_states, options);
  const SsdGrads of_plain = reference::ssd_backward(dout, d_state, in, options);
  for (const auto& [result, grads] : {std::pair(chunked, of_chunks), std::pair(plain, of_plain)}) {
    golden.expect("ssd.out", result.out);
    golden.expect("ssd.final_state", result.final_state);
    golden.expect("ssd.d_x", grads.dx);
    golden.expect("ssd.d_dt", grads.d_dt);
    golden.expect("ssd.d_a", grads.da);
    golden.expect("ssd.d_b", grads.db);
    golden.expect("ssd.d_c", grads.dc);
    golden.expect("ssd.d_d", grads.dd);
    golden.expect("ssd.d_state", grads.d_initial_state);
  }
}

TEST(MixerGolden, OneGeneratedTokenOfMamba2) {
  const Golden golden;
  SsdInputs in = golden_ssd_inputs();
  for (at::Tensor* t : {&in.x, &in.dt, &in.b, &in.c}) *t = t->narrow(1, 0, 1);
  const SsdResult result = ssd_forward(in, {});
  golden.expect("ssd.step.out", result.out);
  golden.expect("ssd.step.state", result.final_state);
}

TEST(MixerGolden, ShortConvolutionsOfQwen3NextMamba2AndLfm2) {
  const Golden golden;
  const at::Tensor x = wave(21, {1, 9, 5}), w = wave(22, {5, 4}), bias = wave(23, {5}), state = wave(25, {1, 5, 3});
  ShortConvOptions silu;
  silu.silu = true;
  golden.expect("short_conv.silu.y", short_conv_forward(x, w, bias, {}, silu).y);
  const ShortConvGrads grads = short_conv_backward(wave(24, x.sizes()), x, w, bias, {}, silu);
  golden.expect("short_conv.silu.d_x", grads.dx);
  golden.expect("short_conv.silu.d_w", grads.dw);
  golden.expect("short_conv.silu.d_bias", grads.d_bias);
  golden.expect("short_conv.lfm2.y", short_conv_forward(x, w.narrow(1, 0, 3), {}, {}, {}).y);
  const ShortConvResult step = short_conv_forward(x.narrow(1, 0, 1), w, bias, state, silu);
  golden.expect("short_conv.step.y", step.y);
  golden.expect("short_conv.step.state", step.final_state);
}

TEST(MixerGolden, GatedNormsOfQwen3NextAndMamba2) {
  const Golden golden;
  const at::Tensor x = wave(31, {3, 12}), z = wave(32, {3, 12}), gain = 1 + wave(33, {12});
  for (const auto order : {GateOrder::NormFirst, GateOrder::GateFirst}) {
    const bool gate_first = order == GateOrder::GateFirst;
    const std::string name = gate_first ? "gated_norm.gate_first." : "gated_norm.norm_first.";
    const GatedNormOptions options{1e-3, order, gate_first ? 4 : 0};
    const auto [y, rstd] = gated_rms_norm_forward(x, z, gain, options);
    golden.expect(name + "y", y);
    const auto [dx, dz, d_gain] = gated_rms_norm_backward(wave(34, {3, 12}), x, z, gain, rstd, options);
    golden.expect(name + "d_x", dx);
    golden.expect(name + "d_z", dz);
    golden.expect(name + "d_gain", d_gain);
  }
}

}  // namespace

}  // namespace primus::kernels
