#include "primus/kernels/chunked_scan.h"

#include <limits>

#include "primus/base/check.h"

namespace primus::kernels::scan {

Layout::Layout(int64_t num_tokens, int64_t largest_chunk)
    : tokens(num_tokens), chunk(std::min(num_tokens, largest_chunk)), num_chunks(0) {
  PRIMUS_CHECK(num_tokens >= 1 && largest_chunk >= 1, "scan: at least one token and chunks of at least one");
  num_chunks = (tokens + chunk - 1) / chunk;
}

std::vector<Span> spans_of(const Layout& layout) {
  std::vector<Span> spans;
  for (int64_t chunk = 0; chunk < layout.num_chunks; chunk += kChunksPerSpan) {
    const int64_t count = std::min(kChunksPerSpan, layout.num_chunks - chunk);
    const int64_t first = chunk * layout.chunk;
    spans.push_back({chunk, count, first, std::min(count * layout.chunk, layout.tokens - first)});
  }
  return spans;
}

at::Tensor chunks_of(const at::Tensor& rows, const Layout& layout, const Span& span, at::ScalarType type) {
  at::DimVector flat(rows.sizes());
  flat[0] = span.num_chunks * layout.chunk;
  at::Tensor chunks = at::empty(flat, rows.options().dtype(type));
  chunks.narrow(0, 0, span.num_tokens).copy_(rows.narrow(0, span.first_token, span.num_tokens));
  chunks.slice(0, span.num_tokens).zero_();
  at::DimVector shape{span.num_chunks, layout.chunk};
  shape.insert(shape.end(), flat.begin() + 1, flat.end());
  return chunks.view(shape);
}

namespace {

at::Tensor span_rows(const at::Tensor& chunks, const Span& span) {
  return chunks.flatten(0, 1).narrow(0, 0, span.num_tokens);
}

at::Tensor later_positions(int64_t chunk) {  // bool [L, L]: j after i
  return at::ones({chunk, chunk}, at::kBool).triu(1);
}

// starts: int32 [T] of one row
Documents documents_of_row(const at::Tensor& starts, const Layout& layout, at::ScalarType type) {
  const at::Tensor position = at::arange(layout.tokens, at::kInt);
  const at::Tensor is_start = (starts == position).logical_and(position > 0);
  const at::Tensor index = is_start.cumsum(0);  // of the document, from 0
  at::Tensor padded = index[layout.tokens - 1].expand({layout.num_chunks * layout.chunk}).clone();
  padded.narrow(0, 0, layout.tokens).copy_(index);
  const at::Tensor of_position = padded.view({layout.num_chunks, layout.chunk});
  const at::Tensor last = of_position.select(1, layout.chunk - 1);
  at::Tensor before = at::zeros_like(last);
  before.slice(0, 1).copy_(last.slice(0, 0, layout.num_chunks - 1));
  const at::Tensor differs = of_position.unsqueeze(2) != of_position.unsqueeze(1);
  return {differs.logical_or(later_positions(layout.chunk)), (of_position == before.unsqueeze(1)).to(type),
          (of_position == last.unsqueeze(1)).to(type), (last == before).to(type)};
}

}  // namespace

void put_rows(const at::Tensor& chunks, const Span& span, const at::Tensor& to) {
  to.narrow(0, span.first_token, span.num_tokens).copy_(span_rows(chunks, span));
}

void add_rows(const at::Tensor& chunks, const Span& span, const at::Tensor& to) {
  to.narrow(0, span.first_token, span.num_tokens).add_(span_rows(chunks, span));
}

std::vector<Documents> documents_of(const at::Tensor& document_start, int64_t num_batch, const Layout& layout,
                                    at::ScalarType type) {
  if (!document_start.defined()) {
    return {static_cast<size_t>(num_batch), Documents{later_positions(layout.chunk).unsqueeze(0), {}, {}, {}}};
  }
  PRIMUS_CHECK(document_start.scalar_type() == at::kInt && document_start.dim() == 2 &&
                   document_start.size(0) == num_batch && document_start.size(1) == layout.tokens,
               "scan: document starts are int32 [B, T]");
  std::vector<Documents> rows;
  for (int64_t b = 0; b < num_batch; ++b) rows.push_back(documents_of_row(document_start[b], layout, type));
  return rows;
}

Decay decay_of(const at::Tensor& log_decay, const Documents& documents, const Span& span) {
  const auto of_span = [&](const at::Tensor& t) {
    return t.size(0) == 1 ? t : t.narrow(0, span.first_chunk, span.num_chunks);
  };
  // Sums in f64: one strong decay in the chunk would take the digits of the weak ones after it. Masked before exp: a
  // difference backwards in time may overflow.
  const auto type = log_decay.scalar_type();
  const at::Tensor sum = log_decay.to(at::kDouble).cumsum(1);
  const at::Tensor last = sum.slice(1, sum.size(1) - 1);
  Decay decay;
  decay.pair = (sum.unsqueeze(2) - sum.unsqueeze(1))
                   .to(type)
                   .masked_fill_(of_span(documents.blocked), -std::numeric_limits<double>::infinity())
                   .exp_();
  at::Tensor from_state = sum.to(type).exp(), to_state = (last - sum).to(type).exp_(), across = last.to(type).exp();
  if (documents.reads.defined()) {
    from_state.mul_(of_span(documents.reads));
    to_state.mul_(of_span(documents.writes));
    across.mul_(of_span(documents.passes).unsqueeze(1));
  }
  decay.from_state = from_state.unsqueeze(2);
  decay.to_state = to_state.unsqueeze(2);
  decay.across = across.unsqueeze(2);
  return decay;
}

at::Tensor log_decay_gradient(const at::Tensor& pair, const at::Tensor& from_state, const at::Tensor& to_state,
                              const at::Tensor& across) {
  const int64_t n = pair.size(0), chunk = pair.size(1);
  // Large terms of both signs nearly cancel: in f32 their sums would lose what is left.
  const at::Tensor to = to_state.view({n, chunk}).to(at::kDouble);
  at::Tensor d_sum =
      pair.sum(2, false, at::kDouble) - pair.sum(1, false, at::kDouble) + from_state.view({n, chunk}) - to;
  d_sum.select(1, chunk - 1).add_(to.sum(1) + across.view({n}));
  return d_sum.flip({1}).cumsum(1).flip({1}).to(pair.scalar_type());
}

HeadTask head_task(const HeadCut& cut, int64_t task) {
  const int64_t slab = task % cut.slabs, group = task / cut.slabs % cut.groups;
  const int64_t first = group * cut.per_group;
  return {task / (cut.slabs * cut.groups), group, group * cut.slabs + slab, first + slab * cut.per_group / cut.slabs,
          first + (slab + 1) * cut.per_group / cut.slabs};
}

at::Tensor sum_slabs(const at::Tensor& partial, const HeadCut& cut, at::ScalarType type) {
  const at::Tensor parts = partial.view({partial.size(0), partial.size(1), cut.groups, cut.slabs, partial.size(3)});
  at::Tensor sum = parts.select(3, 0);
  for (int64_t slab = 1; slab < cut.slabs; ++slab) sum = sum + parts.select(3, slab);
  return sum.to(type).contiguous();
}

}  // namespace primus::kernels::scan
