// Mamba 2's recurrence as its definition says, token by token, in f64.
#include "primus/base/check.h"
#include "primus/kernels/ssd.h"

namespace primus::kernels::reference {

namespace {

// Per head, b and c repeated for every head of their group: f64 [B, T, H, ..].
struct SsdSequence {
  at::Tensor x, dt, a, b, c, d, starts;
  std::vector<at::Tensor>
      states;  // T + 1 times [B, H, P, N]: before every token, and the last; before: zeroed at starts
};

at::Tensor wide_heads(const at::Tensor& t, int64_t heads) {
  return t.to(at::kDouble).repeat_interleave(heads / t.size(2), 2);
}

// [B, 1, 1, 1] 0 where a document starts at t, else 1.
at::Tensor keeps_state(const at::Tensor& document_start, int64_t num_batch, int64_t t) {
  if (!document_start.defined() || t == 0) return at::ones({num_batch, 1, 1, 1}, at::kDouble);
  return (document_start.select(1, t) != t).to(at::kDouble).view({-1, 1, 1, 1});
}

at::Tensor column(const at::Tensor& per_head) {  // [B, H] -> [B, H, 1, 1]
  return per_head.unsqueeze(-1).unsqueeze(-1);
}

at::Tensor outer_product(const at::Tensor& u, const at::Tensor& w) {  // [B, H, U], [B, H, W] -> [B, H, U, W]
  return u.unsqueeze(-1) * w.unsqueeze(-2);
}

at::Tensor ssd_step(const SsdSequence& s, int64_t t, const at::Tensor& state) {
  const at::Tensor dt = s.dt.select(1, t);
  return column((dt * s.a).exp()) * state + column(dt) * outer_product(s.x.select(1, t), s.b.select(1, t));
}

SsdSequence ssd_sequence(const SsdInputs& in, const SsdOptions& options) {
  const int64_t heads = in.x.size(2);
  SsdSequence s{in.x.to(at::kDouble),    in.dt.to(at::kDouble),
                in.a.to(at::kDouble),    wide_heads(in.b, heads),
                wide_heads(in.c, heads), in.d.defined() ? in.d.to(at::kDouble) : at::zeros({heads}, at::kDouble),
                options.document_start,  {}};
  at::Tensor state = in.initial_state.defined()
                         ? in.initial_state.to(at::kDouble)
                         : at::zeros({in.x.size(0), heads, in.x.size(3), in.b.size(3)}, at::kDouble);
  for (int64_t t = 0; t < in.x.size(1); ++t) {
    s.states.push_back(state * keeps_state(s.starts, in.x.size(0), t));
    state = ssd_step(s, t, s.states.back());
  }
  s.states.push_back(state);
  return s;
}

at::Tensor group_sum(const at::Tensor& grad, const at::Tensor& like) {  // [B, T, H, N] -> [B, T, G, N]
  const int64_t groups = like.size(2);
  return grad.view({grad.size(0), grad.size(1), groups, grad.size(2) / groups, grad.size(3)})
      .sum(3)
      .to(like.scalar_type());
}

}  // namespace

SsdResult ssd_forward(const SsdInputs& in, const SsdOptions& options) {
  PRIMUS_CHECK(in.x.size(1) >= 1, "ssd: at least one token");
  const SsdSequence s = ssd_sequence(in, options);
  const auto narrow = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  std::vector<at::Tensor> outs;
  for (int64_t t = 0; t < in.x.size(1); ++t) {
    const at::Tensor after = ssd_step(s, t, s.states[static_cast<size_t>(t)]);
    outs.push_back(at::matmul(after, s.c.select(1, t).unsqueeze(-1)).squeeze(-1) +
                   s.d.view({-1, 1}) * s.x.select(1, t));
  }
  return {at::stack(outs, 1).to(in.x.scalar_type()), s.states.back().to(narrow), {}};
}

SsdGrads ssd_backward(const at::Tensor& dout, const at::Tensor& d_final_state, const SsdInputs& in,
                      const SsdOptions& options) {
  const SsdSequence s = ssd_sequence(in, options);
  const at::Tensor dy = dout.to(at::kDouble);
  at::Tensor d_state = d_final_state.defined() ? d_final_state.to(at::kDouble) : at::zeros_like(s.states.back());
  at::Tensor dx = at::empty_like(s.x), d_dt = at::empty_like(s.dt), db = at::empty_like(s.b), dc = at::empty_like(s.c);
  at::Tensor da = at::zeros_like(s.a);
  for (int64_t t = in.x.size(1) - 1; t >= 0; --t) {
    const at::Tensor before = s.states[static_cast<size_t>(t)], after = ssd_step(s, t, before);
    const at::Tensor x = s.x.select(1, t), dt = s.dt.select(1, t), b = s.b.select(1, t), dy_t = dy.select(1, t);
    d_state = d_state + outer_product(dy_t, s.c.select(1, t));
    dc.select(1, t).copy_(at::matmul(dy_t.unsqueeze(-2), after).squeeze(-2));
    const at::Tensor d_value = at::matmul(d_state, b.unsqueeze(-1)).squeeze(-1);  // of dt x
    dx.select(1, t).copy_(dt.unsqueeze(-1) * d_value + s.d.view({-1, 1}) * dy_t);
    db.select(1, t).copy_(dt.unsqueeze(-1) * at::matmul(x.unsqueeze(-2), d_state).squeeze(-2));
    const at::Tensor decay = (dt * s.a).exp();
    const at::Tensor d_log_decay = decay * (d_state * before).sum({2, 3});
    d_dt.select(1, t).copy_((d_value * x).sum(-1) + d_log_decay * s.a);
    da = da + (d_log_decay * dt).sum(0);
    d_state = column(decay) * d_state * keeps_state(s.starts, in.x.size(0), t);
  }
  const auto narrow = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  SsdGrads grads;
  grads.dx = dx.to(in.x.scalar_type());
  grads.db = group_sum(db, in.b);
  grads.dc = group_sum(dc, in.c);
  grads.d_dt = d_dt.to(narrow);
  grads.da = da.to(narrow);
  if (in.d.defined()) grads.dd = (dy * s.x).sum({0, 1, 3}).to(narrow);
  if (in.initial_state.defined()) grads.d_initial_state = d_state.to(narrow);
  return grads;
}

}  // namespace primus::kernels::reference
