// Attention as its definition says, in double precision with whole matrices.
#include <cmath>
#include <limits>

#include "primus/kernels/attention.h"

namespace primus::kernels {
namespace {

struct Problem {
  at::Tensor q, k, v;  // f64 [B, H, T or S, D], keys repeated for every head of their group
  double scale;
  at::Tensor cap;   // f64, fits [B, H, T, S]; undefined: none
  at::Tensor seen;  // f64 [B, T, S] 1 or 0
  at::Tensor keep;  // f64 [B, H, T, S]: dropout factors
};

at::Tensor heads(const at::Tensor& t, int64_t num_heads) {
  return t.to(at::kDouble).transpose(1, 2).repeat_interleave(num_heads / t.size(2), 1);
}

at::Tensor seen_keys(int64_t num_batch, int64_t t, int64_t s, const AttentionOptions& options) {
  at::Tensor seen = at::zeros({num_batch, t, s}, at::kDouble);
  auto see = seen.accessor<double, 3>();
  for (int64_t b = 0; b < num_batch; ++b) {
    for (int64_t query = 0; query < t; ++query) {
      for (int64_t key = 0; key < s; ++key) {
        bool visible = !options.causal || key <= query + s - t;
        if (options.document_start.defined()) {
          const auto start = options.document_start.accessor<int32_t, 2>();
          visible = visible && (options.causal ? key >= start[b][query] : start[b][query] == start[b][key]);
        }
        see[b][query][key] = visible ? 1 : 0;
      }
    }
  }
  return seen;
}

at::Tensor keep_factors(int64_t num_batch, int64_t num_heads, int64_t t, int64_t s, const AttentionDropout& dropout) {
  at::Tensor keep = at::ones({num_batch, num_heads, t, s}, at::kDouble);
  if (dropout.p == 0) return keep;
  auto factor = keep.accessor<double, 4>();
  for (int64_t b = 0; b < num_batch; ++b) {
    for (int64_t h = 0; h < num_heads; ++h) {
      for (int64_t query = 0; query < t; ++query) {
        for (int64_t key = 0; key < s; ++key) {
          uint8_t kept = 0;
          dropout.keep(dropout.context, b, h, query, key, 1, &kept);
          factor[b][h][query][key] = kept ? 1 / (1 - dropout.p) : 0;
        }
      }
    }
  }
  return keep;
}

at::Tensor caps(const AttentionOptions& options) {
  if (options.score_cap == 0) return {};
  const at::Tensor one = at::full({1, 1}, options.score_cap, at::kDouble);
  const at::Tensor all = options.cap_factors.defined() ? one * options.cap_factors.to(at::kDouble) : one;
  return all.unsqueeze(1).unsqueeze(-1);
}

Problem problem(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options) {
  const int64_t b = q.size(0), t = q.size(1), h = q.size(2), s = k.size(1);
  const double scale =
      options.softmax_scale != 0 ? options.softmax_scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  return {heads(q, h),
          heads(k, h),
          heads(v, h),
          scale,
          caps(options),
          seen_keys(b, t, s, options),
          keep_factors(b, h, t, s, options.dropout)};
}

at::Tensor raw_scores(const Problem& p) {
  return p.scale * at::matmul(p.q, p.k.transpose(2, 3));
}

// Capped and masked scores [B, H, T, S].
at::Tensor scores(const Problem& p) {
  at::Tensor s = raw_scores(p);
  if (p.cap.defined()) s = p.cap * (s / p.cap).tanh();
  return s.masked_fill(p.seen.unsqueeze(1) == 0, -std::numeric_limits<double>::infinity());
}

// softmax over keys; a query that sees nothing has no probability anywhere.
at::Tensor probabilities(const at::Tensor& s) {
  return at::softmax(s, -1).nan_to_num(0.0);
}

at::Tensor group_sums(const at::Tensor& grad, const at::Tensor& like) {  // [B, H, S, D] to [B, S, G, D]
  const int64_t g = like.size(2);
  const at::Tensor groups = grad.reshape({grad.size(0), g, grad.size(1) / g, grad.size(2), grad.size(3)});
  return groups.sum(2).transpose(1, 2).to(like.scalar_type()).contiguous();
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> attention_forward_reference(const at::Tensor& q, const at::Tensor& k,
                                                               const at::Tensor& v, const AttentionOptions& options) {
  const Problem p = problem(q, k, v, options);
  const at::Tensor s = scores(p);
  const at::Tensor out = at::matmul(probabilities(s) * p.keep, p.v);
  const at::Tensor lse = at::logsumexp(s, {-1}).to(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  return {out.transpose(1, 2).to(q.scalar_type()).contiguous(), lse};
}

AttentionGrads attention_backward_reference(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                            const at::Tensor& v, const AttentionOptions& options) {
  const Problem p = problem(q, k, v, options);
  const at::Tensor probability = probabilities(scores(p));
  const at::Tensor dout_heads = heads(dout, q.size(2));
  const at::Tensor dprobability = at::matmul(dout_heads, p.v.transpose(2, 3)) * p.keep;
  // softmax: ds = p (dp - sum over keys of p dp)
  at::Tensor ds = probability * (dprobability - (probability * dprobability).sum(-1, true)) * p.scale;
  if (p.cap.defined()) ds = ds * (1 - (raw_scores(p) / p.cap).tanh().square());
  AttentionGrads grads;
  grads.dq = at::matmul(ds, p.k).transpose(1, 2).to(q.scalar_type()).contiguous();
  grads.dk = group_sums(at::matmul(ds.transpose(2, 3), p.q), k);
  grads.dv = group_sums(at::matmul((probability * p.keep).transpose(2, 3), dout_heads), v);
  return grads;
}

}  // namespace primus::kernels
