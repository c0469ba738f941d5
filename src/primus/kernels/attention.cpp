#include "primus/kernels/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <chrono>
#include <cmath>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/kernels/attention_tiled.h"

namespace primus::kernels {
namespace {

const tile::Kernels& tiles_for(at::ScalarType dtype, AttentionMethod method) {
  const tile::Kernels* pairs = tile::bf16_pair_kernels();
  if (dtype == at::kBFloat16 && method != AttentionMethod::TiledFloat32 && pairs != nullptr) return *pairs;
  return tile::float_kernels();
}

AttentionMethod method_for(const AttentionRoute& route, at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? route.bf16 : route.f32;
}

bool fits_torch(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  return !options.document_start.defined() && options.dropout.p == 0 && options.score_cap == 0 &&
         q.size(1) == k.size(1);
}

void check_inputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options) {
  PRIMUS_CHECK(
      q.dim() == 4 && k.dim() == 4 && v.sizes() == k.sizes() && k.size(0) == q.size(0) && k.size(3) == q.size(3),
      "attention: q [B, T, H, D] and k, v [B, S, G, D] do not fit");
  PRIMUS_CHECK(k.size(2) > 0 && q.size(2) % k.size(2) == 0, "attention: heads must be a multiple of key/value heads");
  PRIMUS_CHECK(q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type(), "attention: dtypes differ");
  if (options.document_start.defined()) {
    const at::Tensor& start = options.document_start;
    PRIMUS_CHECK(start.scalar_type() == at::kInt && start.is_contiguous() && start.dim() == 2 &&
                     start.size(0) == q.size(0) && start.size(1) == q.size(1) && q.size(1) == k.size(1),
                 "attention: document_start must be int32 [B, T] with T == S");
  }
  PRIMUS_CHECK(options.dropout.p >= 0 && options.dropout.p < 1 && (options.dropout.p == 0 || options.dropout.keep),
               "attention: dropout needs 0 <= p < 1 and a keep function");
  PRIMUS_CHECK(options.score_cap == 0 || options.dropout.p == 0, "attention: a score cap and dropout together");
  const at::Tensor& factors = options.cap_factors;
  PRIMUS_CHECK(
      !factors.defined() || (options.score_cap != 0 && factors.scalar_type() == at::kFloat && factors.is_contiguous() &&
                             factors.dim() == 2 && (factors.size(0) == 1 || factors.size(0) == q.size(0)) &&
                             factors.size(1) == q.size(1)),
      "attention: cap_factors must be f32 [B or 1, T], of a score cap");
}

at::Tensor rows_contiguous(const at::Tensor& t) {
  return t.stride(-1) == 1 || t.size(-1) == 1 ? t : t.contiguous();
}

std::optional<double> torch_scale(const AttentionOptions& options) {
  return options.softmax_scale != 0 ? std::optional<double>(options.softmax_scale) : std::nullopt;
}

// [B, S, G, D] to [B, H, S, D]; a copy only when heads share keys.
at::Tensor heads_of(const at::Tensor& k, int64_t num_heads) {
  const at::Tensor t = k.transpose(1, 2);
  return k.size(2) == num_heads ? t : t.repeat_interleave(num_heads / k.size(2), 1);
}

at::Tensor sum_groups(const at::Tensor& grad_bhsd, int64_t num_groups) {
  const int64_t b = grad_bhsd.size(0), h = grad_bhsd.size(1), s = grad_bhsd.size(2), d = grad_bhsd.size(3);
  if (h == num_groups) return grad_bhsd.transpose(1, 2);
  return grad_bhsd.reshape({b, num_groups, h / num_groups, s, d}).sum(2, false, at::kFloat).transpose(1, 2);
}

std::tuple<at::Tensor, at::Tensor> forward_torch(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionOptions& options) {
  const auto [out, lse] =
      at::_scaled_dot_product_flash_attention_for_cpu(q.transpose(1, 2), heads_of(k, q.size(2)), heads_of(v, q.size(2)),
                                                      0.0, options.causal, std::nullopt, torch_scale(options));
  return {out.transpose(1, 2).contiguous(), lse.contiguous()};
}

void backward_torch(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& out, const at::Tensor& lse, const AttentionOptions& options,
                    AttentionGrads& into) {
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      dout.transpose(1, 2), q.transpose(1, 2), heads_of(k, q.size(2)), heads_of(v, q.size(2)), out.transpose(1, 2), lse,
      0.0, options.causal, std::nullopt, torch_scale(options));
  into.dq.copy_(dq.transpose(1, 2));
  into.dk.copy_(sum_groups(dk, k.size(2)));
  into.dv.copy_(sum_groups(dv, k.size(2)));
}

std::string_view name_of(AttentionMethod method) {
  switch (method) {
    case AttentionMethod::Tiled:
      return "tiled";
    case AttentionMethod::TiledFloat32:
      return "tiled_float32";
    case AttentionMethod::Torch:
      return "torch";
  }
  return "?";
}

double best_seconds(const AttentionRoute& route, at::ScalarType dtype) {
  const at::Tensor q = at::linspace(-1, 1, 256 * 4 * 64, at::kFloat).view({1, 256, 4, 64}).to(dtype);
  AttentionOptions options;
  double best = 1e30;
  for (int round = 0; round < 4; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto [out, lse] = attention_forward(route, q, q, q, options);
    attention_backward(route, q, q, q, q, out, lse, options);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (round > 0) best = std::min(best, passed.count());
  }
  return best;
}

}  // namespace

std::string AttentionRoute::to_string() const {
  return "f32=" + std::string(name_of(f32)) + ",bf16=" + std::string(name_of(bf16));
}

Result<AttentionRoute> AttentionRoute::parse(std::string_view text) {
  AttentionRoute route;
  int num_read = 0;
  for (const std::string& part : split(text, ',')) {
    for (const AttentionMethod method :
         {AttentionMethod::Tiled, AttentionMethod::TiledFloat32, AttentionMethod::Torch}) {
      if (part == "f32=" + std::string(name_of(method))) route.f32 = method, ++num_read;
      if (part == "bf16=" + std::string(name_of(method))) route.bf16 = method, ++num_read;
    }
  }
  if (num_read == 2) return route;
  Diagnostic error = error_at({}, "not an attention route");
  error.found = std::string(text);
  error.expected = "a line such as 'f32=tiled,bf16=tiled'";
  return error;
}

AttentionRoute choose_attention_route() {
  const at::NoGradGuard no_grad;
  AttentionRoute route;
  const auto fastest = [&](AttentionMethod AttentionRoute::* slot, at::ScalarType dtype,
                           std::initializer_list<AttentionMethod> methods) {
    double best = 1e30;
    AttentionMethod winner = *methods.begin();
    for (const AttentionMethod method : methods) {
      route.*slot = method;
      const double seconds = best_seconds(route, dtype);
      if (seconds < 0.97 * best) best = seconds, winner = method;
    }
    route.*slot = winner;
  };
  fastest(&AttentionRoute::f32, at::kFloat, {AttentionMethod::Tiled, AttentionMethod::Torch});
  fastest(&AttentionRoute::bf16, at::kBFloat16,
          {AttentionMethod::Tiled, AttentionMethod::TiledFloat32, AttentionMethod::Torch});
  return route;
}

std::tuple<at::Tensor, at::Tensor> attention_forward(const AttentionRoute& route, const at::Tensor& q,
                                                     const at::Tensor& k, const at::Tensor& v,
                                                     const AttentionOptions& options) {
  check_inputs(q, k, v, options);
  const at::ScalarType dtype = q.scalar_type();
  if (dtype == at::kDouble) return attention_forward_reference(q, k, v, options);
  if (dtype == at::kHalf) {
    const auto [out, lse] = attention_forward(route, q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat), options);
    return {out.to(dtype), lse};
  }
  const AttentionMethod method = method_for(route, dtype);
  if (method == AttentionMethod::Torch && fits_torch(q, k, options)) return forward_torch(q, k, v, options);
  at::Tensor out = at::empty({q.size(0), q.size(1), q.size(2), q.size(3)}, q.options());
  at::Tensor lse = at::empty({q.size(0), q.size(2), q.size(1)}, q.options().dtype(at::kFloat));
  attention_forward_tiled(tiles_for(dtype, method), rows_contiguous(q), rows_contiguous(k), rows_contiguous(v), options,
                          out, lse);
  return {out, lse};
}

AttentionGrads attention_backward(const AttentionRoute& route, const at::Tensor& dout, const at::Tensor& q,
                                  const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                                  const at::Tensor& lse, const AttentionOptions& options, AttentionGrads into) {
  check_inputs(q, k, v, options);
  PRIMUS_CHECK(dout.sizes() == q.sizes() && out.sizes() == q.sizes(), "attention: dout and out must have q's shape");
  const at::ScalarType dtype = q.scalar_type();
  AttentionGrads grads = std::move(into);
  if (!grads.dq.defined()) grads.dq = at::empty(q.sizes(), q.options());
  if (!grads.dk.defined()) grads.dk = at::empty(k.sizes(), k.options());
  if (!grads.dv.defined()) grads.dv = at::empty(v.sizes(), v.options());
  if (dtype == at::kDouble || dtype == at::kHalf) {
    const auto wide = [&](const at::Tensor& t) { return dtype == at::kHalf ? t.to(at::kFloat) : t; };
    const AttentionGrads exact = dtype == at::kDouble ? attention_backward_reference(dout, q, k, v, options)
                                                      : attention_backward(route, wide(dout), wide(q), wide(k), wide(v),
                                                                           wide(out), lse, options);
    grads.dq.copy_(exact.dq), grads.dk.copy_(exact.dk), grads.dv.copy_(exact.dv);
    return grads;
  }
  const AttentionMethod method = method_for(route, dtype);
  if (method == AttentionMethod::Torch && fits_torch(q, k, options)) {
    backward_torch(dout, q, k, v, out, lse, options, grads);
    return grads;
  }
  PRIMUS_CHECK(grads.dq.stride(3) == 1 && grads.dk.stride(3) == 1 && grads.dv.stride(3) == 1,
               "attention: gradients need a contiguous last dim");
  attention_backward_tiled(tiles_for(dtype, method), rows_contiguous(dout), rows_contiguous(q), rows_contiguous(k),
                           rows_contiguous(v), rows_contiguous(out), lse.contiguous(), options, grads);
  return grads;
}

}  // namespace primus::kernels
