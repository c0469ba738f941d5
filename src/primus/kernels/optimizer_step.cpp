#include "primus/kernels/optimizer_step.h"

#include <cmath>
#include <string>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

struct Spans {
  at::Tensor master;
  at::Tensor grad;
  at::Tensor first;
  at::Tensor second;
  at::Tensor bf16_copy;
};

void check_span(const at::Tensor& t, const at::Tensor& master, const char* name) {
  PRIMUS_CHECK(t.numel() == master.numel() && t.is_contiguous(), std::string("optimizer step: the span of ") + name);
}

template <class Factors>
void run_step(const Spans& spans, const Factors& factors) {
  with_element(spans.grad.scalar_type(), [&](auto element) {
    using G = decltype(element);
    const simd::StepSpans<G> pointers{pointer<float>(spans.master), pointer<G>(spans.grad),
                                      spans.first.defined() ? pointer<float>(spans.first) : nullptr,
                                      spans.second.defined() ? pointer<float>(spans.second) : nullptr,
                                      spans.bf16_copy.defined() ? pointer<simd::Bf16>(spans.bf16_copy) : nullptr};
    parallel_ranges(spans.master.numel(), 16384, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<Factors, simd::AdamWFactors>) {
        simd::loops<G>().adamw(pointers, factors, begin, end);
      } else {
        simd::loops<G>().sgd(pointers, factors, begin, end);
      }
    });
  });
}

void check_spans(const Spans& spans) {
  check_span(spans.master, spans.master, "the master weights");
  check_span(spans.grad, spans.master, "the gradient");
  if (spans.first.defined()) check_span(spans.first, spans.master, "the first state");
  if (spans.second.defined()) check_span(spans.second, spans.master, "the second state");
  if (spans.bf16_copy.defined()) check_span(spans.bf16_copy, spans.master, "the bf16 copy");
}

bool takes_fast_path(const Spans& spans) {
  return spans.master.is_cpu() && spans.master.scalar_type() == at::kFloat && is_float_or_bf16(spans.grad);
}

}  // namespace

void adamw_step(at::Tensor master, const at::Tensor& grad, at::Tensor m, at::Tensor v, at::Tensor bf16_copy,
                const AdamWOptions& options) {
  const Spans spans{master, grad, m, v, bf16_copy};
  PRIMUS_CHECK(options.step >= 1, "adamw: steps count from 1");
  PRIMUS_CHECK(spans.first.defined() && spans.second.defined(), "adamw needs m and v");
  check_spans(spans);
  if (!takes_fast_path(spans)) {
    reference::adamw_step(master, grad, m, v, bf16_copy, options);
    return;
  }
  const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(options.step));
  const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(options.step));
  simd::AdamWFactors f;
  f.grad_scale = static_cast<float>(options.grad_scale);
  f.l2 = options.decoupled ? 0.0F : static_cast<float>(options.weight_decay);
  f.keep = options.decoupled ? static_cast<float>(1 - options.lr * options.weight_decay) : 1.0F;
  f.beta1 = static_cast<float>(options.beta1);
  f.one_minus_beta1 = static_cast<float>(1 - options.beta1);
  f.beta2 = static_cast<float>(options.beta2);
  f.one_minus_beta2 = static_cast<float>(1 - options.beta2);
  f.step_size = static_cast<float>(options.lr / correction1);
  f.root_scale = static_cast<float>(1 / std::sqrt(correction2));
  f.eps = static_cast<float>(options.eps);
  f.eps_root = static_cast<float>(options.eps_root * correction2);
  run_step(spans, f);
}

void sgd_step(at::Tensor master, const at::Tensor& grad, at::Tensor buffer, at::Tensor bf16_copy,
              const SgdOptions& options) {
  PRIMUS_CHECK(options.momentum == 0 || buffer.defined(), "sgd with momentum needs its buffer");
  const Spans spans{master, grad, options.momentum == 0 ? at::Tensor() : buffer, at::Tensor(), bf16_copy};
  check_spans(spans);
  if (!takes_fast_path(spans)) {
    reference::sgd_step(master, grad, buffer, bf16_copy, options);
    return;
  }
  simd::SgdFactors f;
  f.grad_scale = static_cast<float>(options.grad_scale);
  f.l2 = static_cast<float>(options.weight_decay);
  f.lr = static_cast<float>(options.lr);
  f.momentum = static_cast<float>(options.momentum);
  f.old_share = options.first_step ? 0.0F : f.momentum;
  f.nesterov = options.nesterov && options.momentum != 0 ? 1.0F : 0.0F;
  run_step(spans, f);
}

}  // namespace primus::kernels
