// Model FLOPs per token, by the formula of each trainer: a weight costs 6 (multiply-add 2, backward twice forward).
#include <algorithm>

#include "primus/spec/model_size.h"

namespace primus::spec {

namespace {

double wide(int64_t value) {
  return static_cast<double>(value);
}

// Forward products of a mixer that is no attention, per token, in multiply-adds: the terms of Megatron-LM's formulas
// (mamba_layer_flops; the linear attention of num_floating_point_operations), and the same count for a short
// convolution. Gates and norms are not counted.
double mixer_multiply_adds(const LayerSpec& layer, double h) {
  if (layer.short_conv) return 4 * h * h + wide(layer.short_conv->kernel_size) * h;
  if (layer.gated_delta) {
    const GatedDelta& g = *layer.gated_delta;
    const double qk = 2 * wide(g.num_key_heads * g.key_head_dim), v = wide(g.num_value_heads * g.value_head_dim);
    const double rule = 4 * v * wide(g.value_head_dim);  // k k^T, v k^T, the decayed state, its product with q
    return h * (qk + 2 * v + 2 * wide(g.num_value_heads)) + wide(g.kernel_size) * (qk + v) + rule + h * v;
  }
  if (!layer.mamba2) return 0;
  const Mamba2& m = *layer.mamba2;
  const double inner = wide(m.num_heads * m.head_dim), state = wide(m.state_dim);
  return h * (2 * inner + 2 * wide(m.num_groups) * state + wide(m.num_heads)) + 3.5 * inner * state + inner * h;
}

int64_t latent_query_dim(const LatentAttention& m) {
  return m.nope_head_dim + m.rope_head_dim;
}

// ---------------------------------------------------------------- Megatron and Megatron Bridge
// Megatron-LM num_floating_point_operations: the causal half always, windows ignored, router and norms not counted.

double megatron_attention(const Attention& a, double h, double s, bool counts_gate) {
  const double heads = wide(a.num_heads);
  if (a.latent) {
    const LatentAttention& m = *a.latent;
    const double qk = wide(latent_query_dim(m)), v = wide(m.v_head_dim);
    const double q_lora = wide(m.q_lora_rank), kv_lora = wide(m.kv_lora_rank);
    const double query = m.q_lora_rank == 0 ? h * heads * qk : q_lora * (h + heads * qk + 1);
    return 6 * (query + kv_lora * (h + heads * (wide(m.nope_head_dim) + v) + 1) + h * wide(m.rope_head_dim) +
                heads * v * h + s * heads * qk / 2 + s * heads * v / 2);
  }
  const double q = heads * wide(a.head_dim), kv = wide(a.num_kv_heads * a.head_dim);
  return 6 * (h * (q + 2 * kv + (counts_gate && a.output_gate ? q : 0)) + q * s / 2 * 2 + q * h);
}

// Only SiLU counts as gated: upstream looks at `swiglu` (Megatron) or at silu (Bridge).
double megatron_mlp(const LayerSpec& layer, double h, bool counts_latent) {
  if (!layer.has_mlp) return 0;
  const auto factor = [](const Mlp& mlp) { return mlp.gated && mlp.activation == Activation::Silu ? 3.0 : 2.0; };
  if (!layer.moe) return 6 * h * wide(layer.mlp.ffn_size) * factor(layer.mlp);
  const Moe& moe = *layer.moe;
  const double width = wide(moe.expert.ffn_size * moe.top_k) * factor(moe.expert);
  const double shared = 6 * h * wide(moe.shared_ffn_size) * factor(moe.expert);
  if (moe.latent_size == 0 || !counts_latent) return 6 * h * width + shared;
  return 6 * h * (width * wide(moe.latent_size) / h + 2 * wide(moe.latent_size)) + shared;
}

double megatron_flops(const Model& model, double s) {
  const double h = wide(model.hidden_size);
  const bool megatron = model.flops_formula == FlopsFormula::Megatron;
  const double depth = model.mtp ? wide(model.mtp->depth) : 0;
  const auto layer_flops = [&](const LayerSpec& layer) {
    return megatron_mlp(layer, h, megatron) +
           (attends(layer) ? megatron_attention(layer.attention, h, s, megatron) : 6 * mixer_multiply_adds(layer, h));
  };
  double flops = 6 * h * wide(model.padded_vocab_size) * (depth + 1) + 6 * depth * (3 * h + 2 * h * h);
  for (const LayerSpec& layer : model.layers) flops += layer_flops(layer);
  if (!model.layers.empty()) flops += depth * layer_flops(model.layers.back());
  return flops;
}

// ---------------------------------------------------------------- TorchTitan
// 6 per active parameter outside the embedding, and full attention: no causal half, windows and chunks ignored.

double torchtitan_flops(const Model& model, double s) {
  const ModelSize size = count_parameters(model, false);
  double flops = 6 * wide(size.active_layers + size.final_norm + size.head);
  for (const LayerSpec& layer : model.layers) {
    if (!attends(layer)) continue;
    const Attention& a = layer.attention;
    const int64_t width = a.latent ? latent_query_dim(*a.latent) + a.latent->v_head_dim : 2 * a.head_dim;
    flops += 6 * wide(a.num_heads * width) * s;
  }
  return flops;
}

// ---------------------------------------------------------------- MaxText
// The causal half, windows and chunks counted, the router too.

// Query-key pairs of a sequence, times two (that is how MaxText halves).
double maxtext_pairs(const Attention& a, double s) {
  if (a.window_keys) {
    const double w = std::min(wide(*a.window_keys), s);
    return 2 * (s * w - w * w / 2);
  }
  if (!a.chunk_size) return s * s;
  const double chunk = std::min(wide(*a.chunk_size), s);
  const double whole = static_cast<double>(static_cast<int64_t>(s / chunk)), rest = s - whole * chunk;
  return whole * chunk * chunk + rest * rest;
}

double maxtext_layer(const LayerSpec& layer, double emb, double s) {
  const auto ffn = [emb](const Mlp& mlp, int64_t width) { return 2 * wide(width) * emb * (mlp.gated ? 3 : 2); };
  double flops = 0;
  if (layer.has_mlp && layer.moe) {
    const Moe& moe = *layer.moe;
    flops += 2 * emb * wide(moe.num_experts) + ffn(moe.expert, moe.expert.ffn_size) * wide(moe.top_k) +
             ffn(moe.expert, moe.shared_ffn_size);
  } else if (layer.has_mlp) {
    flops += ffn(layer.mlp, layer.mlp.ffn_size);
  }
  if (!attends(layer)) return flops + 2 * mixer_multiply_adds(layer, emb);
  const Attention& a = layer.attention;
  const double heads = wide(a.num_heads), pairs_per_token = maxtext_pairs(a, s) / s;
  if (a.latent) {
    const LatentAttention& m = *a.latent;
    const double qk = wide(latent_query_dim(m)), v = wide(m.v_head_dim), rank = wide(m.q_lora_rank);
    flops += m.q_lora_rank == 0 ? 2 * emb * heads * qk : 2 * (emb * rank + rank * heads * qk);
    flops +=
        2 * (emb * wide(m.kv_lora_rank + m.rope_head_dim) + wide(m.kv_lora_rank) * heads * (wide(m.nope_head_dim) + v));
    return flops + 2 * emb * heads * v + pairs_per_token * heads * (qk + v);
  }
  const double d = wide(a.head_dim);
  flops += 2 * emb * (heads + 2 * wide(a.num_kv_heads)) * d + 2 * emb * heads * d;
  return flops + 2 * pairs_per_token * heads * d;
}

double maxtext_flops(const Model& model, double s) {
  const double emb = wide(model.hidden_size);
  double flops = 2 * emb * wide(model.vocab_size);
  for (const LayerSpec& layer : model.layers) flops += maxtext_layer(layer, emb, s);
  if (model.mtp && !model.layers.empty()) flops += wide(model.mtp->depth) * maxtext_layer(model.layers.back(), emb, s);
  return 3 * flops;
}

}  // namespace

double flops_per_token(const Model& model, int64_t sequence_length) {
  const double s = wide(sequence_length);
  switch (model.flops_formula) {
    case FlopsFormula::TorchTitan:
      return torchtitan_flops(model, s);
    case FlopsFormula::MaxText:
      return maxtext_flops(model, s);
    case FlopsFormula::Megatron:
    case FlopsFormula::MegatronBridge:
      return megatron_flops(model, s);
  }
  return 0;
}

}  // namespace primus::spec
