// The attention ops of a layer: heads, positions and masks around the kernels of kernels/attention.h.
// Legend: b micro-batch, t tokens, a query heads, g key/value heads, d head dim, q = a * d.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "primus/nn/context.h"
#include "primus/nn/parameter.h"
#include "primus/nn/rope_table.h"
#include "primus/spec/attention.h"

namespace primus::nn {

// Everything about one layer's attention that is no input. References must outlive the backward pass.
struct AttentionSetting {
  const spec::Attention* shape = nullptr;
  RopeTable rope;
  Parameter* sinks = nullptr;  // [a]; of spec::Sink::Learned
  std::string name;            // "layer.3.attn": of the random stream and of the cache
  bool recompute = false;      // keep only the inputs for the backward pass
};

// Norms of queries and keys in front of the rotation (spec::QkNorm). A norm without weights gives the same in front of
// and behind the rotation, which keeps lengths.
//   qkv [b, t, q + 2 g d], gains [d] of every head or [q], [g d] of the whole projection; null without weights
//   -> the same shape, a tensor of its own.
at::Tensor qk_norm(const at::Tensor& qkv_btx, const spec::Attention& shape, Parameter* q_gain, Parameter* k_gain);

// Causal attention straight from the fused projection, rotary positions included.
//   qkv [b, t, q + 2 g d] (q heads, then k heads, then v heads; rotated in place)  ->  [b, t, q]
at::Tensor attention(const at::Tensor& qkv_btx, const AttentionSetting& setting, const Context& context);

// The same for latent attention (arXiv 2405.04434, equations 9 to 19), keys and values already projected up.
//   q [b, t, a (nope + rope)] (rotated in place), kv [b, t, a (nope + v)], k_rope [b, t, rope], one for all heads
//   -> [b, t, a v]
at::Tensor latent_attention(const at::Tensor& q_btx, const at::Tensor& kv_btx, const at::Tensor& k_rope_btr,
                            const AttentionSetting& setting, const Context& context);

// Generation, without gradients: the columns are added to context.cache and attend to all that it holds. The first call
// may bring many columns, later ones bring one each. The same numbers as attention() up to rounding.
at::Tensor cached_attention(const at::Tensor& qkv_btx, const AttentionSetting& setting, const Context& context);
// latent [b, t, latent], up: to keys and values, [b, s, latent] -> [b, s, a (nope + v)]. The latent is what is cached.
using UpProjection = std::function<at::Tensor(const at::Tensor&)>;
at::Tensor cached_latent_attention(const at::Tensor& q_btx, const at::Tensor& latent_btl, const at::Tensor& k_rope_btr,
                                   const UpProjection& up, const AttentionSetting& setting, const Context& context);

// The first position that each token sees, from documents, window and chunks. i32 [b, t]; undefined: position 0.
at::Tensor first_visible(const spec::Attention& shape, const Context& context, int64_t num_rows, int64_t num_tokens);

}  // namespace primus::nn
