#include "gradcheck/models/reference_layers.h"

#include "primus/nn/attention_stream.h"

namespace primus::test {

at::Tensor ReferenceLayers::qk_normed(const at::Tensor& x_btnd, const spec::QkNorm& rule,
                                      const std::string& name) const {
  const bool whole = rule.scope == spec::QkNormScope::WholeProjection;
  const at::Tensor x = whole ? x_btnd.flatten(2) : x_btnd;
  const at::Tensor y =
      rule.has_gain ? norm(x, rule.norm, name) : x / (x.square().mean(-1, true) + rule.norm.eps).sqrt();
  return y.view(x_btnd.sizes());
}

ReferenceLayers::Heads ReferenceLayers::grouped_heads(const at::Tensor& y, const spec::Attention& a,
                                                      const std::string& name) const {
  const int64_t b = y.size(0), t = y.size(1);
  Heads heads{linear(y, name + ".q", a.qkv_bias).view({b, t, a.num_heads, a.head_dim}),
              linear(y, name + ".k", a.qkv_bias).view({b, t, a.num_kv_heads, a.head_dim}),
              linear(y, name + ".v", a.qkv_bias).view({b, t, a.num_kv_heads, a.head_dim})};
  const auto norms = [&] {
    heads.q = qk_normed(heads.q, *a.qk_norm, name + ".q_norm");
    heads.k = qk_normed(heads.k, *a.qk_norm, name + ".k_norm");
  };
  if (a.qk_norm && !a.qk_norm->after_rope) norms();
  if (a.rope) {
    heads.q = rotate(heads.q, *a.rope, positions(b, t));
    heads.k = rotate(heads.k, *a.rope, positions(b, t));
  }
  if (a.qk_norm && a.qk_norm->after_rope) norms();
  const int64_t group = a.num_heads / a.num_kv_heads;  // query head n reads key head n / group
  heads.k = heads.k.repeat_interleave(group, 2);
  heads.v = heads.v.repeat_interleave(group, 2);
  return heads;
}

// arXiv 2405.04434, equations 9 to 19 (and 37 to 47 of its appendix).
ReferenceLayers::Heads ReferenceLayers::latent_heads(const at::Tensor& y, const spec::Attention& a,
                                                     const std::string& name) const {
  const spec::LatentAttention& l = *a.latent;
  const int64_t b = y.size(0), t = y.size(1);
  const auto normed = [&](const at::Tensor& x, const std::string& which) {
    return l.norm_latents ? norm(x, {.eps = l.latent_norm_eps}, name + which) : x;
  };
  const at::Tensor queries =
      l.q_lora_rank > 0 ? linear(normed(linear(y, name + ".q_a", a.qkv_bias), ".q_a_norm"), name + ".q_b", false)
                        : linear(y, name + ".q", false);
  const std::vector<at::Tensor> q =
      queries.view({b, t, a.num_heads, -1}).split_with_sizes({l.nope_head_dim, l.rope_head_dim}, 3);
  const std::vector<at::Tensor> down =
      linear(y, name + ".kv_a", a.qkv_bias).split_with_sizes({l.kv_lora_rank, l.rope_head_dim}, 2);
  const std::vector<at::Tensor> up = linear(normed(down[0], ".kv_a_norm"), name + ".kv_b", false)
                                         .view({b, t, a.num_heads, -1})
                                         .split_with_sizes({l.nope_head_dim, l.v_head_dim}, 3);
  const auto turned = [&](const at::Tensor& x) { return a.rope ? rotate(x, *a.rope, positions(b, t)) : x; };
  const at::Tensor k_rope = turned(down[1].unsqueeze(2)).repeat({1, 1, a.num_heads, 1});
  return {at::cat({q[0], turned(q[1])}, 3), at::cat({up[0], k_rope}, 3), up[1]};
}

// 1 where the query (dim 1) sees the key (dim 2), place by place.
at::Tensor ReferenceLayers::visible(const spec::Attention& a, int64_t b, int64_t t) const {
  const at::Tensor places = positions(b, t).contiguous();
  const auto place = places.accessor<int64_t, 2>();
  at::Tensor seen = at::zeros({b, t, t}, at::kByte);
  auto see = seen.accessor<uint8_t, 3>();
  for (int64_t row = 0; row < b; ++row) {
    for (int64_t query = 0; query < t; ++query) {
      for (int64_t key = 0; key <= query; ++key) {
        const bool same_document =
            !context_.document_start.defined() || key >= context_.document_start[row][query].item<int64_t>();
        const bool in_window = !a.window_keys || query - key < *a.window_keys;
        const bool same_chunk = !a.chunk_size || place[row][query] / *a.chunk_size == place[row][key] / *a.chunk_size;
        see[row][query][key] = same_document && in_window && same_chunk;
      }
    }
  }
  return seen.to(at::kBool);
}

// Probabilities that survive dropout, scaled: [b, n, t, t].
at::Tensor ReferenceLayers::kept(const spec::Attention& a, const std::string& name, int64_t b, int64_t t) const {
  const at::Tensor keep = at::zeros({b, a.num_heads, t, t}, at::kByte);
  nn::AttentionStream stream(name, context_);
  const kernels::AttentionDropout rule = stream.dropout(a.dropout);
  for (int64_t row = 0; row < b; ++row) {
    for (int64_t n = 0; n < a.num_heads; ++n) {
      for (int64_t q = 0; q < t; ++q) rule.keep(rule.context, row, n, q, 0, t, keep[row][n][q].data_ptr<uint8_t>());
    }
  }
  return keep.to(at::kDouble) / (1 - a.dropout);
}

// [b, n, t, t]; with a sink (arXiv 2309.17453; gpt-oss) rows sum to less than 1.
at::Tensor ReferenceLayers::probabilities(const Heads& heads, const spec::Attention& a, const std::string& name) const {
  const int64_t b = heads.q.size(0), t = heads.q.size(1);
  at::Tensor q = heads.q;
  const at::Tensor place = positions(b, t).to(at::kDouble).view({b, t, 1, 1});
  if (a.temperature && a.temperature->log_length == 0) {
    q = q * (1 + a.temperature->scale * at::log(1 + at::floor((place + 1) / a.temperature->floor_scale)));
  }
  at::Tensor scores = at::einsum("bqnd,bknd->bnqk", {q, heads.k}) * a.softmax_scale;
  if (a.logit_soft_cap != 0) scores = a.logit_soft_cap * at::tanh(scores / a.logit_soft_cap);
  if (a.temperature && a.temperature->log_length > 0) {
    const auto length = static_cast<double>(a.temperature->log_length);
    scores = scores * at::where(place > length, at::log(place) / std::log(length), 1.0).view({b, 1, t, 1});
  }
  scores = scores.masked_fill(visible(a, b, t).logical_not().unsqueeze(1), -1e300);
  if (a.sink == spec::Sink::None) return at::softmax(scores, -1);
  const at::Tensor sinks =
      a.sink == spec::Sink::Learned ? weight(name + ".sinks") : at::zeros({a.num_heads}, at::kDouble);
  const at::Tensor column = sinks.view({1, a.num_heads, 1, 1}).expand({b, a.num_heads, t, 1});
  return at::softmax(at::cat({scores, column}, -1), -1).narrow(-1, 0, t);
}

at::Tensor ReferenceLayers::attention(const at::Tensor& y, const spec::Attention& a, const std::string& name) const {
  const int64_t b = y.size(0), t = y.size(1);
  const Heads heads = a.latent ? latent_heads(y, a, name) : grouped_heads(y, a, name);
  at::Tensor p = probabilities(heads, a, name);
  if (a.dropout > 0 && context_.training) p = p * kept(a, name, b, t);
  at::Tensor out = at::einsum("bnqk,bknd->bqnd", {p, heads.v}).flatten(2);
  if (a.output_gate) out = out * at::sigmoid(linear(y, name + ".gate", a.qkv_bias));
  return linear(out, name + ".o", a.out_bias);
}

}  // namespace primus::test
