#include "primus/spec/model_size.h"

#include <algorithm>

namespace primus::spec {

namespace {

int64_t norm_parameters(const Norm& norm, int64_t width) {
  return norm.kind == NormKind::LayerNorm ? 2 * width : width;
}

int64_t latent_attention_parameters(const Attention& a, int64_t hidden) {
  const LatentAttention& m = *a.latent;
  const int64_t q_head = m.nope_head_dim + m.rope_head_dim;
  const int64_t norms = m.norm_latents ? 1 : 0;
  int64_t count = m.q_lora_rank == 0
                      ? hidden * a.num_heads * q_head
                      : hidden * m.q_lora_rank + norms * m.q_lora_rank + m.q_lora_rank * a.num_heads * q_head;
  count += hidden * (m.kv_lora_rank + m.rope_head_dim) + norms * m.kv_lora_rank;
  count += m.kv_lora_rank * a.num_heads * (m.nope_head_dim + m.v_head_dim);
  if (a.qkv_bias) count += m.q_lora_rank + m.kv_lora_rank + m.rope_head_dim;  // on the projections to the latents
  if (a.output_gate) count += hidden * a.num_heads * m.v_head_dim;
  return count + a.num_heads * m.v_head_dim * hidden + (a.out_bias ? hidden : 0);
}

int64_t attention_parameters(const Attention& a, int64_t hidden) {
  if (a.latent) return latent_attention_parameters(a, hidden);
  const int64_t q = a.num_heads * a.head_dim;
  const int64_t kv = a.num_kv_heads * a.head_dim;
  const int64_t projected = q * (a.output_gate ? 2 : 1) + (a.values_are_keys ? 1 : 2) * kv;
  int64_t count = hidden * projected + (a.qkv_bias ? projected : 0);
  count += q * hidden + (a.out_bias ? hidden : 0);
  if (a.sink == Sink::Learned) count += a.num_heads;
  if (a.value_norm && a.value_norm->has_gain) count += norm_parameters(a.value_norm->norm, a.head_dim);
  if (a.qk_norm && a.qk_norm->has_gain) {
    const bool per_head = a.qk_norm->scope == QkNormScope::PerHead;
    count += norm_parameters(a.qk_norm->norm, per_head ? a.head_dim : q);
    count += norm_parameters(a.qk_norm->norm, per_head ? a.head_dim : kv);
  }
  return count;
}

int64_t mlp_parameters(const Mlp& mlp, int64_t hidden) {
  const int64_t fc1 = mlp.ffn_size * (mlp.gated ? 2 : 1);
  return hidden * fc1 + mlp.ffn_size * hidden + (mlp.bias ? fc1 + hidden : 0);
}

int64_t routed_parameters(const Moe& moe, int64_t hidden, int64_t num_experts) {
  const int64_t width = moe.latent_size > 0 ? moe.latent_size : hidden;
  return num_experts * mlp_parameters(moe.expert, width) + 2 * hidden * moe.latent_size;
}

int64_t shared_parameters(const Moe& moe, int64_t hidden) {
  if (moe.shared_ffn_size == 0) return 0;
  Mlp shared = moe.expert;
  shared.ffn_size = moe.shared_ffn_size;
  return mlp_parameters(shared, hidden) + (moe.shared_gate ? hidden : 0);
}

int64_t layer_norm_parameters(const LayerSpec& layer, int64_t hidden) {
  int64_t count = 0;
  const auto add = [&](const Norm& norm) { count += norm_parameters(norm, hidden); };
  if (layer.has_mixer && layer.attention_output_norm) add(*layer.attention_output_norm);
  if (layer.has_mlp && layer.mlp_output_norm) add(*layer.mlp_output_norm);
  if (layer.has_mixer && layer.norms_in_front) add(layer.input_norm);
  if (layer.has_mlp && layer.norms_in_front) add(layer.post_attention_norm);
  return count;
}

int64_t short_conv_parameters(const ShortConv& c, int64_t hidden) {
  return hidden * (4 * hidden + c.kernel_size) + (c.bias ? 5 * hidden : 0);
}

// The decay of a head is made of two numbers, A and the bias of its step.
int64_t gated_delta_parameters(const GatedDelta& g, int64_t hidden) {
  const int64_t qk = 2 * g.num_key_heads * g.key_head_dim, v = g.num_value_heads * g.value_head_dim;
  return hidden * (qk + 2 * v + 2 * g.num_value_heads) + g.kernel_size * (qk + v) + 2 * g.num_value_heads +
         norm_parameters(g.output_norm, g.value_head_dim) + v * hidden;
}

int64_t mamba2_parameters(const Mamba2& m, int64_t hidden) {
  const int64_t inner = m.num_heads * m.head_dim, channels = inner + 2 * m.num_groups * m.state_dim;
  const int64_t in = inner + channels + m.num_heads;
  int64_t count = hidden * in + channels * m.kernel_size + 3 * m.num_heads + inner + inner * hidden;
  if (m.conv_bias) count += channels;
  return count + (m.bias ? in + hidden : 0);
}

int64_t mixer_parameters(const LayerSpec& layer, int64_t hidden) {
  if (layer.short_conv) return short_conv_parameters(*layer.short_conv, hidden);
  if (layer.gated_delta) return gated_delta_parameters(*layer.gated_delta, hidden);
  if (layer.mamba2) return mamba2_parameters(*layer.mamba2, hidden);
  return attends(layer) ? attention_parameters(layer.attention, hidden) : 0;
}

void add_layer(const LayerSpec& layer, int64_t hidden, LayerParts& parts) {
  (attends(layer) ? parts.attention : parts.other_mixers) += mixer_parameters(layer, hidden);
  parts.norms += layer_norm_parameters(layer, hidden);
  if (!layer.has_mlp) return;
  if (!layer.moe) {
    parts.dense_mlp += mlp_parameters(layer.mlp, hidden);
    return;
  }
  const Moe& moe = *layer.moe;
  parts.experts += routed_parameters(moe, hidden, moe.num_experts);
  parts.active_experts += routed_parameters(moe, hidden, moe.top_k);
  parts.shared_experts += shared_parameters(moe, hidden);
  parts.routers += moe.num_experts * hidden + (moe.router.bias ? moe.num_experts : 0);
}

int64_t sum(const LayerParts& parts, bool active) {
  return parts.attention + parts.other_mixers + parts.dense_mlp + (active ? parts.active_experts : parts.experts) +
         parts.shared_experts + parts.routers + parts.norms;
}

}  // namespace

LayerParts count_layer_parts(const Model& model) {
  LayerParts parts;
  for (const LayerSpec& layer : model.layers) add_layer(layer, model.hidden_size, parts);
  return parts;
}

ModelSize count_parameters(const Model& model, bool padded) {
  const int64_t rows = padded ? model.padded_vocab_size : model.vocab_size;
  ModelSize size;
  size.embedding = rows * model.hidden_size + (model.learned_positions ? model.max_positions * model.hidden_size : 0);
  const LayerParts parts = count_layer_parts(model);
  size.layers = sum(parts, false);
  size.active_layers = sum(parts, true);
  if (model.mtp && !model.layers.empty()) {
    // Per depth: two norms and one layer like the last one's, the projection of both halves, a final norm.
    LayerParts last;
    add_layer(model.layers.back(), model.hidden_size, last);
    const int64_t depth = sum(last, false) + 2 * model.hidden_size * model.hidden_size +
                          2 * norm_parameters(model.layers.back().input_norm, model.hidden_size) +
                          norm_parameters(model.final_norm, model.hidden_size);
    size.mtp = model.mtp->depth * depth;
  }
  size.final_norm = norm_parameters(model.final_norm, model.hidden_size);
  size.head = model.tied_embeddings ? 0 : rows * model.hidden_size;
  return size;
}

bool has_known_size(const Model& model) {
  return std::all_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) { return layer.other_mixer.empty(); });
}

}  // namespace primus::spec
