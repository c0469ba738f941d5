#include "primus/kernels/gated_delta.h"

#include <cmath>

#include "primus/kernels/chunked_scan.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

using scan::chunks_of;

constexpr double kNormEps = 1e-6;

struct DeltaShape {
  int64_t batch, tokens, groups, heads, key_width, value_width;
  at::ScalarType type;  // of arithmetic and state
};

DeltaShape delta_shape(const GatedDeltaInputs& in) {
  PRIMUS_CHECK(in.q.dim() == 4 && in.k.sizes() == in.q.sizes(), "gated delta: q and k are [B, T, G, K]");
  PRIMUS_CHECK(in.v.dim() == 4 && in.v.size(0) == in.q.size(0) && in.v.size(1) == in.q.size(1) && in.q.size(2) > 0 &&
                   in.v.size(2) % in.q.size(2) == 0,
               "gated delta: v is [B, T, H, V] with H a multiple of G");
  PRIMUS_CHECK(in.g.sizes() == in.v.sizes().slice(0, 3) && in.beta.sizes() == in.g.sizes(),
               "gated delta: g and beta are [B, T, H]");
  const bool wide = in.v.scalar_type() == at::kDouble;
  const DeltaShape shape{in.v.size(0),
                         in.v.size(1),
                         in.q.size(2),
                         in.v.size(2),
                         in.q.size(3),
                         in.v.size(3),
                         wide ? at::kDouble : at::kFloat};
  PRIMUS_CHECK(
      !in.initial_state.defined() ||
          in.initial_state.sizes() == at::IntArrayRef({shape.batch, shape.heads, shape.key_width, shape.value_width}),
      "gated delta: the state is [B, H, K, V]");
  PRIMUS_CHECK(in.v.is_cpu(), "gated delta: CPU tensors");
  return shape;
}

// q or k as the recurrence sees it: x * factor, or x / norm * factor.
struct Direction {
  at::Tensor unit;  // [n, L, K]
  at::Tensor rate;  // [n, L, 1]: unit = x * rate; undefined: rate 1
  double factor;
};

Direction direction_of(at::Tensor x, bool normalize, double factor) {
  if (!normalize) return {x, {}, factor};
  const at::Tensor rate = (x.square().sum(-1, true) + kNormEps).rsqrt_();
  return {x.mul_(rate), rate, factor};
}

// The gradient of x from that of factor * unit.
at::Tensor direction_gradient(const Direction& direction, const at::Tensor& d_scaled) {
  const at::Tensor d_unit = direction.factor == 1 ? d_scaled : d_scaled * direction.factor;
  if (!direction.rate.defined()) return d_unit;
  return (d_unit - direction.unit * (d_unit * direction.unit).sum(-1, true)) * direction.rate;
}

// Everything of a span of chunks of one head that the state does not enter.
struct DeltaChunks {
  Direction query, key;
  at::Tensor q, k, v, beta;  // [n, L, K], .., [n, L, 1]; q scaled
  scan::Decay decay;
  at::Tensor k_beta;   // beta k
  at::Tensor system;   // [n, L, L]: below the diagonal, how later positions are corrected by earlier ones; + I
  at::Tensor inverse;  // of it
  at::Tensor scores;   // [n, L, L]: decayed q k^T, the diagonal included
  at::Tensor values, old_reads;  // system^-1 of beta v, and of decayed beta k: what the old state takes part in
  at::Tensor reading, writing;   // q decayed from the chunk's start, k decayed to its end
};

struct DeltaProblem {
  DeltaProblem(const GatedDeltaInputs& inputs, const GatedDeltaOptions& o)
      : in(inputs),
        options(o),
        shape(delta_shape(inputs)),
        layout(shape.tokens, o.chunk),
        spans(scan::spans_of(layout)),
        documents(scan::documents_of(o.document_start, shape.batch, layout, shape.type)),
        cut(shape.batch, shape.heads, shape.groups),
        scale(o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(shape.key_width))) {}

  at::Tensor initial(int64_t b, int64_t h) const {  // [K, V], to be written to
    const auto like = in.v.options().dtype(shape.type);
    if (!in.initial_state.defined()) return at::zeros({shape.key_width, shape.value_width}, like);
    return in.initial_state[b][h].to(shape.type, /*non_blocking=*/false, /*copy=*/true);
  }

  const GatedDeltaInputs& in;
  const GatedDeltaOptions& options;
  DeltaShape shape;
  scan::Layout layout;
  std::vector<scan::Span> spans;
  std::vector<scan::Documents> documents;
  scan::HeadCut cut;
  double scale;
};

at::Tensor inverse_of(const at::Tensor& system) {  // reads the strictly lower part only
  const at::Tensor one = at::eye(system.size(1), system.options()).expand_as(system);
  return at::linalg_solve_triangular(system, one, /*upper=*/false, /*left=*/true, /*unitriangular=*/true);
}

DeltaChunks delta_chunks(const DeltaProblem& p, const scan::Span& span, int64_t b, int64_t group, int64_t h) {
  const auto rows = [&](const at::Tensor& t, int64_t head) {
    return chunks_of(t.select(0, b).select(1, head), p.layout, span, p.shape.type);
  };
  DeltaChunks c;
  c.query = direction_of(rows(p.in.q, group), p.options.normalize_qk, p.scale);
  c.key = direction_of(rows(p.in.k, group), p.options.normalize_qk, 1);
  c.q = c.query.unit * p.scale;
  c.k = c.key.unit;
  c.v = rows(p.in.v, h);
  c.beta = rows(p.in.beta, h).unsqueeze(2);
  c.decay = scan::decay_of(rows(p.in.g, h), p.documents[static_cast<size_t>(b)], span);
  c.k_beta = c.k * c.beta;
  const at::Tensor k_t = c.k.transpose(1, 2);
  c.system = at::bmm(c.k_beta, k_t).mul_(c.decay.pair);
  c.scores = at::bmm(c.q, k_t).mul_(c.decay.pair);
  c.inverse = inverse_of(c.system);
  c.values = at::bmm(c.inverse, c.v * c.beta);
  c.old_reads = at::bmm(c.inverse, c.k_beta * c.decay.from_state);
  c.reading = c.q * c.decay.from_state;
  c.writing = c.k * c.decay.to_state;
  return c;
}

// out: [T, V] of this head; states: [N, K, V] or undefined. Returns the state after the last chunk.
at::Tensor delta_head_forward(const DeltaProblem& p, int64_t b, int64_t group, int64_t h, const at::Tensor& out,
                              const at::Tensor& states) {
  at::Tensor state = p.initial(b, h);
  for (const scan::Span& span : p.spans) {
    const DeltaChunks c = delta_chunks(p, span, b, group, h);
    const at::Tensor chunk_out = at::empty_like(c.v);
    for (int64_t i = 0; i < span.num_chunks; ++i) {
      if (states.defined()) states[span.first_chunk + i].copy_(state);
      const at::Tensor written = at::addmm(c.values[i], c.old_reads[i], state, 1, -1);
      at::Tensor chunk = chunk_out[i];
      at::mm_out(chunk, c.reading[i], state);
      chunk.addmm_(c.scores[i], written);
      state.mul_(c.decay.across[i]).addmm_(c.writing[i].t(), written);
    }
    scan::put_rows(chunk_out, span, out);
  }
  return state;
}

// Gradients of one span's tensors: what the scan over its chunks, last first, leaves for whole products.
struct DeltaScanGrads {
  at::Tensor states;     // [n, K, V] before every chunk
  at::Tensor d_states;   // [n, K, V] gradient of the state after every chunk
  at::Tensor written;    // [n, L, V] the corrected values
  at::Tensor d_written;  // [n, L, V]
};

// d_state [K, V]: of the state after the span; becomes that of the state before it.
DeltaScanGrads delta_scan_backward(const DeltaChunks& c, const at::Tensor& dout, const at::Tensor& states,
                                   at::Tensor d_state) {
  DeltaScanGrads s;
  s.states = states;
  s.d_states = at::empty_like(states);
  s.written = at::baddbmm(c.values, c.old_reads, states, 1, -1);
  s.d_written = at::bmm(c.scores.transpose(1, 2), dout);
  const at::Tensor by_reading = at::bmm(c.reading.transpose(1, 2), dout);
  for (int64_t i = dout.size(0) - 1; i >= 0; --i) {
    s.d_states[i].copy_(d_state);
    at::Tensor d_written = s.d_written[i];
    d_written.addmm_(c.writing[i], d_state);
    d_state.mul_(c.decay.across[i]).add_(by_reading[i]).addmm_(c.old_reads[i].t(), d_written, 1, -1);
  }
  return s;
}

struct DeltaSpanGrads {
  at::Tensor dq, dk, dv, dg, d_beta;  // [n, L, ..]
};

DeltaSpanGrads delta_span_backward(const DeltaChunks& c, const DeltaScanGrads& s, const at::Tensor& dout) {
  const auto row_dot = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1, true); };
  const auto product_t = [](const at::Tensor& a, const at::Tensor& b) { return at::bmm(a, b.transpose(1, 2)); };
  const at::Tensor d_scores = product_t(dout, s.written);
  const at::Tensor d_reading = product_t(dout, s.states);
  const at::Tensor d_writing = product_t(s.written, s.d_states);
  const at::Tensor d_old_reads = product_t(s.d_written, s.states).neg_();
  // y = M^-1 x: dx = M^-T dy, dM = -dx y^T.
  const at::Tensor inverse_t = c.inverse.transpose(1, 2);
  const at::Tensor d_v_beta = at::bmm(inverse_t, s.d_written);
  const at::Tensor d_decayed_k_beta = at::bmm(inverse_t, d_old_reads);
  const at::Tensor d_system =
      product_t(d_v_beta, c.values).add_(product_t(d_decayed_k_beta, c.old_reads)).neg_().tril_(-1);
  const at::Tensor d_system_product = d_system * c.decay.pair;
  const at::Tensor d_scores_product = d_scores * c.decay.pair;
  at::Tensor d_k_beta = at::bmm(d_system_product, c.k).add_(d_decayed_k_beta * c.decay.from_state);
  at::Tensor dq = at::bmm(d_scores_product, c.k).add_(d_reading * c.decay.from_state);
  at::Tensor dk = at::bmm(d_system_product.transpose(1, 2), c.k_beta)
                      .add_(at::bmm(d_scores_product.transpose(1, 2), c.q))
                      .add_(d_writing * c.decay.to_state)
                      .add_(d_k_beta * c.beta);
  const at::Tensor d_pair = d_system.mul(c.system).add_(d_scores * c.scores);
  const at::Tensor d_from = (row_dot(d_decayed_k_beta, c.k_beta) + row_dot(d_reading, c.q)) * c.decay.from_state;
  const at::Tensor d_to = row_dot(d_writing, c.k) * c.decay.to_state;
  const at::Tensor d_across = (s.d_states * s.states).sum({1, 2}, true) * c.decay.across;
  DeltaSpanGrads grads;
  grads.dq = direction_gradient(c.query, dq);
  grads.dk = direction_gradient(c.key, dk);
  grads.dv = d_v_beta * c.beta;
  grads.dg = scan::log_decay_gradient(d_pair, d_from, d_to, d_across);
  grads.d_beta = (row_dot(d_k_beta, c.k) + row_dot(d_v_beta, c.v)).squeeze(2);
  return grads;
}

}  // namespace

GatedDeltaResult gated_delta_forward(const GatedDeltaInputs& in, const GatedDeltaOptions& options) {
  const DeltaProblem p(in, options);
  const DeltaShape& n = p.shape;
  const auto wide = in.v.options().dtype(n.type);
  GatedDeltaResult result;
  result.out = at::empty({n.batch, n.tokens, n.heads, n.value_width}, in.v.options());
  result.final_state = at::empty({n.batch, n.heads, n.key_width, n.value_width}, wide);
  if (options.keep_states) {
    result.chunk_states = at::empty({n.batch, n.heads, p.layout.num_chunks, n.key_width, n.value_width}, wide);
  }
  scan::for_each_head_task(p.cut, [&](const scan::HeadTask& task) {
    for (int64_t h = task.first_head; h < task.last_head; ++h) {
      const at::Tensor states = options.keep_states ? result.chunk_states[task.b][h] : at::Tensor();
      const at::Tensor out = result.out.select(0, task.b).select(1, h);
      result.final_state[task.b][h].copy_(delta_head_forward(p, task.b, task.group, h, out, states));
    }
  });
  return result;
}

GatedDeltaGrads gated_delta_backward(const at::Tensor& dout, const at::Tensor& d_final_state,
                                     const GatedDeltaInputs& in, const at::Tensor& chunk_states,
                                     const GatedDeltaOptions& options) {
  const DeltaProblem p(in, options);
  const DeltaShape& n = p.shape;
  PRIMUS_CHECK(dout.sizes() == in.v.sizes(), "gated delta backward: dout is of v's shape");
  PRIMUS_CHECK(chunk_states.defined() && chunk_states.size(2) == p.layout.num_chunks,
               "gated delta backward: chunk states of the forward pass");
  const auto wide = in.v.options().dtype(n.type);
  const at::Tensor dq = at::zeros({n.batch, n.tokens, n.groups * p.cut.slabs, n.key_width}, wide);
  const at::Tensor dk = at::zeros_like(dq);
  const at::Tensor d_initial = at::empty({n.batch, n.heads, n.key_width, n.value_width}, wide);
  GatedDeltaGrads grads;
  grads.dv = at::empty({n.batch, n.tokens, n.heads, n.value_width}, in.v.options());
  grads.dg = at::empty({n.batch, n.tokens, n.heads}, wide);
  grads.d_beta = at::empty_like(grads.dg);
  scan::for_each_head_task(p.cut, [&](const scan::HeadTask& task) {
    const auto rows = [&](const at::Tensor& t, int64_t head) { return t.select(0, task.b).select(1, head); };
    for (int64_t h = task.first_head; h < task.last_head; ++h) {
      at::Tensor d_state = d_initial[task.b][h];
      if (d_final_state.defined()) {
        d_state.copy_(d_final_state[task.b][h]);
      } else {
        d_state.zero_();
      }
      for (auto span = p.spans.rbegin(); span != p.spans.rend(); ++span) {
        const DeltaChunks c = delta_chunks(p, *span, task.b, task.group, h);
        const at::Tensor d_chunks = chunks_of(rows(dout, h), p.layout, *span, n.type);
        const at::Tensor states = chunk_states[task.b][h].narrow(0, span->first_chunk, span->num_chunks);
        const DeltaSpanGrads g = delta_span_backward(c, delta_scan_backward(c, d_chunks, states, d_state), d_chunks);
        scan::add_rows(g.dq, *span, rows(dq, task.slab));
        scan::add_rows(g.dk, *span, rows(dk, task.slab));
        scan::put_rows(g.dv, *span, rows(grads.dv, h));
        scan::put_rows(g.dg, *span, rows(grads.dg, h));
        scan::put_rows(g.d_beta, *span, rows(grads.d_beta, h));
      }
    }
  });
  grads.dq = scan::sum_slabs(dq, p.cut, in.q.scalar_type());
  grads.dk = scan::sum_slabs(dk, p.cut, in.k.scalar_type());
  if (in.initial_state.defined()) grads.d_initial_state = d_initial;
  return grads;
}

}  // namespace primus::kernels
