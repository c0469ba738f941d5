#include "primus/spec/model_size.h"

namespace primus::spec {

namespace {

int64_t norm_parameters(const Norm& norm, int64_t width) {
  return norm.kind == NormKind::LayerNorm ? 2 * width : width;
}

int64_t layer_parameters(const LayerSpec& layer, int64_t hidden) {
  const Attention& a = layer.attention;
  const int64_t q = a.num_heads * a.head_dim;
  const int64_t qkv = q + 2 * a.num_kv_heads * a.head_dim;
  const int64_t fc1 = layer.mlp.ffn_size * (layer.mlp.gated ? 2 : 1);
  int64_t count = hidden * qkv + (a.qkv_bias ? qkv : 0);
  count += q * hidden + (a.out_bias ? hidden : 0);
  count += hidden * fc1 + layer.mlp.ffn_size * hidden + (layer.mlp.bias ? fc1 + hidden : 0);
  return count + norm_parameters(layer.input_norm, hidden) + norm_parameters(layer.post_attention_norm, hidden);
}

}  // namespace

ModelSize count_parameters(const Model& model, bool padded) {
  const int64_t rows = padded ? model.padded_vocab_size : model.vocab_size;
  ModelSize size;
  size.embedding = rows * model.hidden_size + (model.learned_positions ? model.max_positions * model.hidden_size : 0);
  for (const LayerSpec& layer : model.layers) size.layers += layer_parameters(layer, model.hidden_size);
  size.final_norm = norm_parameters(model.final_norm, model.hidden_size);
  size.head = model.tied_embeddings ? 0 : rows * model.hidden_size;
  return size;
}

double flops_per_token(const Model& model, int64_t sequence_length) {
  const auto h = static_cast<double>(model.hidden_size);
  const auto s = static_cast<double>(sequence_length);
  double flops = 6 * h * static_cast<double>(model.padded_vocab_size);
  for (const LayerSpec& layer : model.layers) {
    const double q = static_cast<double>(layer.attention.num_heads * layer.attention.head_dim);
    const double kv = static_cast<double>(layer.attention.num_kv_heads * layer.attention.head_dim);
    flops += 6 * (h * (q + 2 * kv) + q * s / 2 * 2 + q * h);
    flops += 6 * h * static_cast<double>(layer.mlp.ffn_size) * (layer.mlp.gated ? 3 : 2);
  }
  return flops;
}

}  // namespace primus::spec
