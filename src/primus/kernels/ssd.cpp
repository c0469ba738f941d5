#include "primus/kernels/ssd.h"

#include "primus/kernels/chunked_scan.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

struct SsdShape {
  int64_t batch, tokens, heads, head_width, groups, state_width;
  at::ScalarType type;  // of arithmetic and state
};

SsdShape ssd_shape(const SsdInputs& in) {
  PRIMUS_CHECK(in.x.dim() == 4 && in.dt.sizes() == in.x.sizes().slice(0, 3), "ssd: x is [B, T, H, P], dt [B, T, H]");
  PRIMUS_CHECK(in.b.dim() == 4 && in.c.sizes() == in.b.sizes() && in.b.sizes().slice(0, 2) == in.x.sizes().slice(0, 2),
               "ssd: b and c are [B, T, G, N]");
  const int64_t heads = in.x.size(2), groups = in.b.size(2);
  PRIMUS_CHECK(groups > 0 && heads % groups == 0, "ssd: heads are a multiple of groups");
  PRIMUS_CHECK(in.a.numel() == heads && (!in.d.defined() || in.d.numel() == heads), "ssd: a and d are [H]");
  const SsdShape shape{in.x.size(0),
                       in.x.size(1),
                       heads,
                       in.x.size(3),
                       groups,
                       in.b.size(3),
                       in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat};
  PRIMUS_CHECK(
      !in.initial_state.defined() ||
          in.initial_state.sizes() == at::IntArrayRef({shape.batch, heads, shape.head_width, shape.state_width}),
      "ssd: the state is [B, H, P, N]");
  PRIMUS_CHECK(in.x.is_cpu(), "ssd: CPU tensors");
  return shape;
}

struct SsdProblem {
  SsdProblem(const SsdInputs& inputs, const SsdOptions& options)
      : in(inputs),
        shape(ssd_shape(inputs)),
        layout(shape.tokens, options.chunk),
        spans(scan::spans_of(layout)),
        documents(scan::documents_of(options.document_start, shape.batch, layout, shape.type)),
        cut(shape.batch, shape.heads, shape.groups),
        a(inputs.a.to(shape.type)),
        d(inputs.d.defined() ? inputs.d.to(shape.type) : at::Tensor()) {}

  at::Tensor chunks(const at::Tensor& t, const scan::Span& span, int64_t batch_row, int64_t head) const {
    return scan::chunks_of(t.select(0, batch_row).select(1, head), layout, span, shape.type);
  }

  const SsdInputs& in;
  SsdShape shape;
  scan::Layout layout;
  std::vector<scan::Span> spans;
  std::vector<scan::Documents> documents;
  scan::HeadCut cut;
  at::Tensor a, d;
};

// A span of chunks of one head.
struct SsdChunks {
  at::Tensor x, dt, b, c;  // [n, L, P], [n, L, 1], [n, L, N] twice
  at::Tensor value;        // dt x
  scan::Decay decay;
  at::Tensor scores;            // [n, L, L] decayed c b^T
  at::Tensor reading, writing;  // c decayed from the chunk's start, b decayed to its end
};

SsdChunks ssd_chunks(const SsdProblem& p, const scan::Span& span, int64_t batch_row, int64_t group, int64_t h) {
  SsdChunks s;
  s.x = p.chunks(p.in.x, span, batch_row, h);
  const at::Tensor dt = p.chunks(p.in.dt, span, batch_row, h);
  s.dt = dt.unsqueeze(2);
  s.b = p.chunks(p.in.b, span, batch_row, group);
  s.c = p.chunks(p.in.c, span, batch_row, group);
  s.value = s.x * s.dt;
  s.decay = scan::decay_of(dt * p.a[h], p.documents[static_cast<size_t>(batch_row)], span);
  s.scores = at::bmm(s.c, s.b.transpose(1, 2)).mul_(s.decay.pair);
  s.reading = s.c * s.decay.from_state;
  s.writing = s.b * s.decay.to_state;
  return s;
}

// states [n, P, N]: becomes the state before every chunk; state [P, N]: from before the span to after it.
void ssd_scan_states(const SsdChunks& s, const at::Tensor& states, at::Tensor state) {
  const at::Tensor written = at::bmm(s.value.transpose(1, 2), s.writing);
  for (int64_t i = 0; i < written.size(0); ++i) {
    states[i].copy_(state);
    state.mul_(s.decay.across[i]).add_(written[i]);
  }
}

// out: [T, P] of this head; kept: [chunks, P, N] or undefined; state [P, N]: from first to last.
void ssd_head_forward(const SsdProblem& p, const scan::HeadTask& task, int64_t h, const at::Tensor& out,
                      const at::Tensor& kept, const at::Tensor& state) {
  for (const scan::Span& span : p.spans) {
    const SsdChunks s = ssd_chunks(p, span, task.b, task.group, h);
    const at::Tensor states =
        kept.defined() ? kept.narrow(0, span.first_chunk, span.num_chunks)
                       : at::empty({span.num_chunks, p.shape.head_width, p.shape.state_width}, state.options());
    ssd_scan_states(s, states, state);
    at::Tensor chunk_out = at::bmm(s.scores, s.value).baddbmm_(s.reading, states.transpose(1, 2));
    if (p.d.defined()) chunk_out.add_(s.x * p.d[h]);
    scan::put_rows(chunk_out, span, out);
  }
}

struct SsdSpanGrads {
  at::Tensor dx, d_dt, db, dc;  // [n, L, ..]
  at::Tensor da, dd;            // scalars
};

// states: before every chunk. d_state [P, N]: of the state after the span; becomes that of the state before it.
SsdSpanGrads ssd_span_backward(const SsdProblem& p, const SsdChunks& s, int64_t h, const at::Tensor& dout,
                               const at::Tensor& states, at::Tensor d_state) {
  const auto row_dot = [](const at::Tensor& u, const at::Tensor& w) { return (u * w).sum(-1, true); };
  const at::Tensor by_reading = at::bmm(dout.transpose(1, 2), s.reading);
  const at::Tensor d_states = at::empty_like(states);  // of the state after every chunk
  for (int64_t i = dout.size(0) - 1; i >= 0; --i) {
    d_states[i].copy_(d_state);
    d_state.mul_(s.decay.across[i]).add_(by_reading[i]);
  }
  const at::Tensor d_scores = at::bmm(dout, s.value.transpose(1, 2));
  const at::Tensor d_reading = at::bmm(dout, states);
  const at::Tensor d_writing = at::bmm(s.value, d_states);
  const at::Tensor d_value = at::bmm(s.scores.transpose(1, 2), dout).baddbmm_(s.writing, d_states.transpose(1, 2));
  const at::Tensor d_product = d_scores * s.decay.pair;
  const at::Tensor d_log_decay = scan::log_decay_gradient(
      d_scores * s.scores, row_dot(d_reading, s.c) * s.decay.from_state, row_dot(d_writing, s.b) * s.decay.to_state,
      (d_states * states).sum({1, 2}, true) * s.decay.across);
  SsdSpanGrads grads;
  grads.dc = at::bmm(d_product, s.b).add_(d_reading * s.decay.from_state);
  grads.db = at::bmm(d_product.transpose(1, 2), s.c).add_(d_writing * s.decay.to_state);
  grads.dx = d_value * s.dt;
  grads.d_dt = row_dot(d_value, s.x).squeeze(2) + d_log_decay * p.a[h];
  grads.da = (d_log_decay * s.dt.squeeze(2)).sum();
  if (p.d.defined()) {
    grads.dx.add_(dout * p.d[h]);
    grads.dd = (dout * s.x).sum();
  }
  return grads;
}

}  // namespace

SsdResult ssd_forward(const SsdInputs& in, const SsdOptions& options) {
  const SsdProblem p(in, options);
  const SsdShape& n = p.shape;
  const auto wide = in.x.options().dtype(n.type);
  SsdResult result;
  result.out = at::empty(in.x.sizes(), in.x.options());
  result.final_state = in.initial_state.defined() ? in.initial_state.to(n.type, false, /*copy=*/true).contiguous()
                                                  : at::zeros({n.batch, n.heads, n.head_width, n.state_width}, wide);
  if (options.keep_states) {
    result.chunk_states = at::empty({n.batch, n.heads, p.layout.num_chunks, n.head_width, n.state_width}, wide);
  }
  scan::for_each_head_task(p.cut, [&](const scan::HeadTask& task) {
    for (int64_t h = task.first_head; h < task.last_head; ++h) {
      ssd_head_forward(p, task, h, result.out.select(0, task.b).select(1, h),
                       options.keep_states ? result.chunk_states[task.b][h] : at::Tensor(),
                       result.final_state[task.b][h]);
    }
  });
  return result;
}

SsdGrads ssd_backward(const at::Tensor& dout, const at::Tensor& d_final_state, const SsdInputs& in,
                      const at::Tensor& chunk_states, const SsdOptions& options) {
  const SsdProblem p(in, options);
  const SsdShape& n = p.shape;
  PRIMUS_CHECK(dout.sizes() == in.x.sizes(), "ssd backward: dout is of x's shape");
  PRIMUS_CHECK(chunk_states.defined() && chunk_states.size(2) == p.layout.num_chunks,
               "ssd backward: chunk states of the forward pass");
  const auto wide = in.x.options().dtype(n.type);
  const at::Tensor db = at::zeros({n.batch, n.tokens, n.groups * p.cut.slabs, n.state_width}, wide);
  const at::Tensor dc = at::zeros_like(db);
  const at::Tensor da = at::zeros({n.batch, n.heads}, wide), dd = at::zeros_like(da);
  const at::Tensor d_initial = d_final_state.defined()
                                   ? d_final_state.to(n.type, false, /*copy=*/true).contiguous()
                                   : at::zeros({n.batch, n.heads, n.head_width, n.state_width}, wide);
  SsdGrads grads;
  grads.dx = at::empty(in.x.sizes(), in.x.options());
  grads.d_dt = at::empty({n.batch, n.tokens, n.heads}, wide);
  scan::for_each_head_task(p.cut, [&](const scan::HeadTask& task) {
    const auto rows = [&](const at::Tensor& t, int64_t head) { return t.select(0, task.b).select(1, head); };
    for (int64_t h = task.first_head; h < task.last_head; ++h) {
      for (auto span = p.spans.rbegin(); span != p.spans.rend(); ++span) {
        const SsdChunks s = ssd_chunks(p, *span, task.b, task.group, h);
        const at::Tensor states = chunk_states[task.b][h].narrow(0, span->first_chunk, span->num_chunks);
        const SsdSpanGrads g =
            ssd_span_backward(p, s, h, p.chunks(dout, *span, task.b, h), states, d_initial[task.b][h]);
        scan::put_rows(g.dx, *span, rows(grads.dx, h));
        scan::put_rows(g.d_dt, *span, rows(grads.d_dt, h));
        scan::add_rows(g.db, *span, rows(db, task.slab));
        scan::add_rows(g.dc, *span, rows(dc, task.slab));
        da[task.b][h].add_(g.da);
        if (g.dd.defined()) dd[task.b][h].add_(g.dd);
      }
    }
  });
  grads.db = scan::sum_slabs(db, p.cut, in.b.scalar_type());
  grads.dc = scan::sum_slabs(dc, p.cut, in.c.scalar_type());
  grads.da = da.sum(0);
  if (in.d.defined()) grads.dd = dd.sum(0);
  if (in.initial_state.defined()) grads.d_initial_state = d_initial;
  return grads;
}

}  // namespace primus::kernels
