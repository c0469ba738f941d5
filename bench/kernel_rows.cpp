// Rows that need nothing but the kernels room: products, attention, loss head.
#include <fmt/format.h>

#include "bench/bench.h"

#include "primus/kernels/attention.h"
#include "primus/kernels/gemm.h"
#include "primus/kernels/linear_cross_entropy.h"
#include "primus/tensor/memory_meter.h"

namespace primus::bench {
namespace {

at::Tensor noise(at::IntArrayRef shape, at::ScalarType dtype, double scale = 1) {
  return (scale * at::randn(shape, at::kFloat)).to(dtype);
}

const char* short_name(at::ScalarType dtype) {
  return dtype == at::kFloat ? "f32" : "bf16";
}

Row gemm_row(const kernels::GemmRoute& route, at::ScalarType dtype, double peak) {
  constexpr int64_t kTokens = 1024, kIn = 768, kOut = 2048;
  const at::Tensor x = noise({kTokens, kIn}, dtype), w = noise({kOut, kIn}, dtype), dy = noise({kTokens, kOut}, dtype);
  at::Tensor main_grad = at::zeros({kOut, kIn}, at::kFloat);
  const std::vector<double> seconds =
      best_seconds(20, {[&] { kernels::linear_forward(route, x, w); }, [&] { kernels::linear_dgrad(route, dy, w); },
                        [&] { kernels::linear_wgrad(route, dy, x, main_grad, true); }});
  const double flops = 2e-9 * kTokens * kIn * kOut;
  const double total = 3 * flops / (seconds[0] + seconds[1] + seconds[2]);
  return {.id = std::string("a.gemm.") + short_name(dtype),
          .what = fmt::format("forward, dgrad and accumulating wgrad, {}, {} x {} x {}", short_name(dtype), kTokens,
                              kIn, kOut),
          .against = "multiply-add probe",
          .ratio = total / peak,
          .target = 0.90,
          .detail = fmt::format("{:.0f} of {:.0f} GFLOP/s (forward {:.0f}, dgrad {:.0f}, wgrad {:.0f}), {}", total,
                                peak, flops / seconds[0], flops / seconds[1], flops / seconds[2], route.to_string())};
}

// Copies of keys for every head, made outside of the measurement: torch's kernel has no grouped heads.
Row attention_row(at::ScalarType dtype, int64_t t, int rounds) {
  constexpr int64_t kHeads = 12, kGroups = 4, kDim = 64;
  const at::Tensor q = noise({1, t, kHeads, kDim}, dtype), dout = noise({1, t, kHeads, kDim}, dtype);
  const at::Tensor k = noise({1, t, kGroups, kDim}, dtype), v = noise({1, t, kGroups, kDim}, dtype);
  const at::Tensor k_all = k.repeat_interleave(kHeads / kGroups, 2), v_all = v.repeat_interleave(kHeads / kGroups, 2);
  const kernels::AttentionRoute own;
  const kernels::AttentionRoute torch{kernels::AttentionMethod::Torch, kernels::AttentionMethod::Torch};
  const auto pass = [&](const kernels::AttentionRoute& route, const at::Tensor& keys, const at::Tensor& values) {
    const auto [out, lse] = kernels::attention_forward(route, q, keys, values, {});
    kernels::attention_backward(route, dout, q, keys, values, out, lse, {});
  };
  const std::vector<double> seconds =
      best_seconds(rounds, {[&] { pass(own, k, v); }, [&] { pass(torch, k_all, v_all); }});
  const double flops = 7e-9 * static_cast<double>(t * t) * kHeads * kDim;  // causal: half of 4 + 10
  return {.id = fmt::format("attention.{}.{}", short_name(dtype), t),
          .what = fmt::format("causal attention forward + backward, {}, {} tokens, 12 heads of 64, 4 groups",
                              short_name(dtype), t),
          .against = "torch flash attention with the same BLAS",
          .ratio = seconds[1] / seconds[0],
          .target = 1.0,
          .detail = fmt::format("{:.0f} against {:.0f} GFLOP/s", flops / seconds[0], flops / seconds[1])};
}

// Memory beyond inputs and results of a forward and a backward pass, against one head's whole matrix of scores.
Row attention_memory_row(at::ScalarType dtype) {
  constexpr int64_t kTokens = 4096, kHeads = 12, kDim = 64;
  const at::Tensor q = noise({1, kTokens, kHeads, kDim}, dtype), dout = noise({1, kTokens, kHeads, kDim}, dtype);
  const tensor::MemoryMeter meter;
  const auto [out, lse] = kernels::attention_forward({}, q, q, q, {});
  const kernels::AttentionGrads grads = kernels::attention_backward({}, dout, q, q, q, out, lse, {});
  const auto extra = static_cast<double>(meter.peak_bytes() - meter.current_bytes());
  const double scores = 4.0 * kHeads * kTokens * kTokens;
  return {
      .id = std::string("attention.memory.") + short_name(dtype),
      .what = fmt::format("causal attention, extra memory, {}, {} tokens, 12 heads of 64", short_name(dtype), kTokens),
      .against = "whole fp32 scores",
      .ratio = extra / scores,
      .target = 0.15,
      .at_least = false,
      .detail = fmt::format("{:.1f} of {:.1f} MB", 1e-6 * extra, 1e-6 * scores)};
}

struct LossHead {
  static constexpr int64_t kTokens = 1024, kVocab = 32000, kHidden = 768;
  at::Tensor x, w, labels, weights, main_grad;

  explicit LossHead(at::ScalarType dtype)
      : x(noise({kTokens, kHidden}, dtype)),
        w(noise({kVocab, kHidden}, dtype, 0.02)),
        labels(at::arange(kTokens, at::kLong) * 31 % kVocab),
        weights(at::full({kTokens}, 1.0 / kTokens, at::kFloat)),
        main_grad(at::zeros({kVocab, kHidden}, at::kFloat)) {}

  kernels::CrossEntropyGrads fused() {
    return kernels::linear_cross_entropy({}, x, w, labels, weights, {}, main_grad, true);
  }
  // What autograd does: whole logits, softmax in f32, three products.
  void plain() {
    const at::Tensor logits = at::mm(x, w.t());
    const at::Tensor log_p = at::log_softmax(logits.to(at::kFloat), 1);
    at::Tensor grad = log_p.exp();
    grad.scatter_add_(1, labels.unsqueeze(1), at::full({kTokens, 1}, -1.0, at::kFloat));
    const at::Tensor dlogits = grad.mul_(weights.unsqueeze(1)).to(x.scalar_type());
    const at::Tensor dx = at::mm(dlogits, w);
    main_grad.add_(at::mm(dlogits.t(), x));
  }
};

}  // namespace

std::vector<Row> gemm_rows(const Setup& setup) {
  const Peaks& peaks = setup.peaks;
  const kernels::GemmRoute route = kernels::choose_gemm_route().route;
  std::vector<Row> rows{gemm_row(route, at::kFloat, peaks.f32_gflops)};
  if (peaks.bf16_gflops) rows.push_back(gemm_row(route, at::kBFloat16, *peaks.bf16_gflops));
  return rows;
}

std::vector<Row> attention_rows(const Setup&) {
  return {attention_row(at::kFloat, 1024, 10), attention_row(at::kBFloat16, 1024, 10),
          attention_row(at::kFloat, 4096, 3),  attention_row(at::kBFloat16, 4096, 3),
          attention_memory_row(at::kFloat),    attention_memory_row(at::kBFloat16)};
}

std::vector<Row> cross_entropy_rows(const Setup&) {
  std::vector<Row> rows;
  const double logits_bytes = 4.0 * LossHead::kTokens * LossHead::kVocab;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    LossHead head(dtype);
    const std::vector<double> seconds = best_seconds(5, {[&] { head.fused(); }, [&] { head.plain(); }});
    int64_t extra_bytes = 0;
    {
      const tensor::MemoryMeter meter;
      const kernels::CrossEntropyGrads results = head.fused();
      extra_bytes = meter.peak_bytes() - meter.current_bytes();  // the results themselves are not extra
    }
    const std::string shape = fmt::format("{}, 1024 x 32000 x 768", short_name(dtype));
    rows.push_back(
        {.id = std::string("cross-entropy.memory.") + short_name(dtype),
         .what = "loss head, extra memory, " + shape,
         .against = "whole fp32 logits",
         .ratio = static_cast<double>(extra_bytes) / logits_bytes,
         .target = 0.15,
         .at_least = false,
         .detail = fmt::format("{:.1f} of {:.1f} MB", 1e-6 * static_cast<double>(extra_bytes), 1e-6 * logits_bytes)});
    rows.push_back({.id = std::string("cross-entropy.time.") + short_name(dtype),
                    .what = "loss head forward + backward, " + shape,
                    .against = "whole logits by torch's operators",
                    .ratio = seconds[1] / seconds[0],
                    .target = 1.0,
                    .detail = fmt::format("{:.0f} against {:.0f} ms", 1e3 * seconds[0], 1e3 * seconds[1])});
  }
  return rows;
}

}  // namespace primus::bench
