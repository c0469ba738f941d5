// The gated delta rule as its definition says, token by token, in f64.
#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/gated_delta.h"

namespace primus::kernels::reference {

namespace {

struct DeltaSequence {
  at::Tensor q_rate, k_rate;  // [B, T, H, 1]: what q and k are multiplied by
  at::Tensor q, k, v;         // f64 [B, T, H, ..], for every value head; q and k normalised, q not scaled
  at::Tensor decay, beta;     // [B, T, H, 1, 1]; decay is 0 at the starts of documents
  double scale;
  std::vector<at::Tensor> states;  // T + 1 times [B, H, K, V]: before every token, and the last
};

at::Tensor rate_of(const at::Tensor& x, bool normalize) {
  return normalize ? (x.square().sum(-1, true) + 1e-6).rsqrt() : at::ones_like(x.slice(-1, 0, 1));
}

struct DeltaStep {
  at::Tensor decayed;  // exp(g) S
  at::Tensor error;    // [B, H, 1, V]: v - S'^T k
  at::Tensor k;        // [B, H, K, 1]
  at::Tensor after;    // the new state
};

DeltaStep delta_step(const DeltaSequence& s, int64_t t, const at::Tensor& state) {
  DeltaStep step;
  step.k = s.k.select(1, t).unsqueeze(-1);
  step.decayed = s.decay.select(1, t) * state;
  step.error = s.v.select(1, t).unsqueeze(-2) - (step.k * step.decayed).sum(-2, true);
  step.after = step.decayed + s.beta.select(1, t) * step.k * step.error;
  return step;
}

DeltaSequence delta_sequence(const GatedDeltaInputs& in, const GatedDeltaOptions& options) {
  PRIMUS_CHECK(in.v.size(1) >= 1, "gated delta: at least one token");
  const auto per_head = [&](const at::Tensor& t) {
    return t.to(at::kDouble).repeat_interleave(in.v.size(2) / t.size(2), 2);
  };
  DeltaSequence s;
  s.q = per_head(in.q);
  s.k = per_head(in.k);
  s.v = in.v.to(at::kDouble);
  s.q_rate = rate_of(s.q, options.normalize_qk);
  s.k_rate = rate_of(s.k, options.normalize_qk);
  s.q = s.q * s.q_rate;
  s.k = s.k * s.k_rate;
  s.decay = in.g.to(at::kDouble).exp().unsqueeze(-1).unsqueeze(-1);
  s.beta = in.beta.to(at::kDouble).unsqueeze(-1).unsqueeze(-1);
  s.scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(in.q.size(3)));
  if (options.document_start.defined()) {
    const at::Tensor position = at::arange(in.v.size(1), at::kInt);
    const at::Tensor starts = (options.document_start == position).logical_and(position > 0);
    s.decay = s.decay * starts.logical_not().to(at::kDouble).view({in.v.size(0), -1, 1, 1, 1});
  }
  at::Tensor state = in.initial_state.defined()
                         ? in.initial_state.to(at::kDouble)
                         : at::zeros({in.v.size(0), in.v.size(2), in.q.size(3), in.v.size(3)}, at::kDouble);
  for (int64_t t = 0; t < in.v.size(1); ++t) {
    s.states.push_back(state);
    state = delta_step(s, t, state).after;
  }
  s.states.push_back(state);
  return s;
}

// Gradient of x from that of x * rate, summed over the value heads of a group.
at::Tensor input_gradient(const at::Tensor& d_unit, const at::Tensor& unit, const at::Tensor& rate, bool normalized,
                          const at::Tensor& like) {
  const at::Tensor grad = normalized ? rate * (d_unit - unit * (unit * d_unit).sum(-1, true)) : d_unit;
  const int64_t groups = like.size(2);
  return grad.view({grad.size(0), grad.size(1), groups, grad.size(2) / groups, grad.size(3)})
      .sum(3)
      .to(like.scalar_type());
}

at::ScalarType result_type(const GatedDeltaInputs& in) {
  return in.v.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

GatedDeltaResult gated_delta_forward(const GatedDeltaInputs& in, const GatedDeltaOptions& options) {
  const DeltaSequence s = delta_sequence(in, options);
  std::vector<at::Tensor> outs;
  for (int64_t t = 0; t < in.v.size(1); ++t) {
    outs.push_back((s.states[static_cast<size_t>(t) + 1] * s.q.select(1, t).unsqueeze(-1)).sum(-2) * s.scale);
  }
  return {at::stack(outs, 1).to(in.v.scalar_type()), s.states.back().to(result_type(in)), {}};
}

GatedDeltaGrads gated_delta_backward(const at::Tensor& dout, const at::Tensor& d_final_state,
                                     const GatedDeltaInputs& in, const GatedDeltaOptions& options) {
  const DeltaSequence s = delta_sequence(in, options);
  const at::Tensor scaled_dout = dout.to(at::kDouble) * s.scale;
  at::Tensor d_state = d_final_state.defined() ? d_final_state.to(at::kDouble) : at::zeros_like(s.states.back());
  at::Tensor dq = at::empty_like(s.q), dk = at::empty_like(s.k), dv = at::empty_like(s.v);
  at::Tensor dg = at::empty(in.g.sizes(), at::kDouble), d_beta = at::empty_like(dg);
  for (int64_t t = in.v.size(1) - 1; t >= 0; --t) {
    const DeltaStep step = delta_step(s, t, s.states[static_cast<size_t>(t)]);
    const at::Tensor dout_t = scaled_dout.select(1, t).unsqueeze(-2), beta = s.beta.select(1, t);
    d_state = d_state + s.q.select(1, t).unsqueeze(-1) * dout_t;
    dq.select(1, t).copy_((step.after * dout_t).sum(-1));
    const at::Tensor d_correction = (d_state * step.k).sum(-2, true);  // of beta * error
    const at::Tensor d_error = beta * d_correction;
    dv.select(1, t).copy_(d_error.squeeze(-2));
    d_beta.select(1, t).copy_((d_correction * step.error).sum({2, 3}));
    dk.select(1, t).copy_((beta * d_state * step.error).sum(-1) - (step.decayed * d_error).sum(-1));
    const at::Tensor d_decayed = d_state - step.k * d_error;
    dg.select(1, t).copy_((d_decayed * step.decayed).sum({2, 3}));
    d_state = s.decay.select(1, t) * d_decayed;
  }
  GatedDeltaGrads grads;
  grads.dq = input_gradient(dq, s.q, s.q_rate, options.normalize_qk, in.q);
  grads.dk = input_gradient(dk, s.k, s.k_rate, options.normalize_qk, in.k);
  grads.dv = dv.to(in.v.scalar_type());
  grads.dg = dg.to(result_type(in));
  grads.d_beta = d_beta.to(result_type(in));
  if (in.initial_state.defined()) grads.d_initial_state = d_state.to(result_type(in));
  return grads;
}

}  // namespace primus::kernels::reference
