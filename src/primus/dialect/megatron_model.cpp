// Architecture, vocabulary, initialisation, recomputation. Source: Megatron-LM d3528a21, arguments and transformer
// config.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"

namespace primus::dialect {

namespace {

using spec::Activation;

// Null: 4 h, or with swiglu two thirds of it cut to a multiple of 64.
int64_t ffn_size(Translation& t, int64_t hidden, bool swiglu) {
  const auto given = t.keys.maybe_integer("ffn_hidden_size");
  if (given) return *given;
  if (!swiglu) return 4 * hidden;
  return static_cast<int64_t>(static_cast<double>(4 * hidden * 2) / 3 / 64) * 64;
}

spec::Mlp mlp(Translation& t, int64_t hidden, bool bias) {
  const bool swiglu = t.keys.flag("swiglu");
  const bool squared_relu = t.keys.flag("squared_relu");
  const bool quick_geglu = t.keys.flag("quick_geglu");
  // Upstream's fused kernel for bias and GELU computes the tanh form; it exists for the plain MLP with biases only.
  const bool tanh_form = t.keys.flag("bias_gelu_fusion") && bias;
  if (swiglu + squared_relu + quick_geglu > 1)
    t.error(squared_relu ? "squared_relu" : "quick_geglu",
            "an MLP has one activation, and more than one is switched on", "one of swiglu, squared_relu, quick_geglu",
            "set the others to false");
  spec::Mlp mlp;
  mlp.ffn_size = ffn_size(t, hidden, swiglu);
  mlp.gated = swiglu || quick_geglu;
  mlp.activation = swiglu         ? Activation::Silu
                   : squared_relu ? Activation::SquaredRelu
                   : quick_geglu  ? Activation::QuickGelu
                   : tanh_form    ? Activation::GeluTanh
                                  : Activation::Gelu;
  mlp.bias = bias || t.keys.flag("add_mlp_bias");
  if (const auto form = t.keys.maybe_text("geglu")) {
    mlp.gated = true;
    mlp.activation = *form == "erf" ? Activation::Gelu : Activation::GeluTanh;
    if (swiglu || squared_relu || quick_geglu)
      t.error("geglu", "an MLP has one activation, and more than one is switched on", "geglu or one of the switches",
              "set swiglu, squared_relu and quick_geglu to false");
  }
  const auto clamp = t.keys.maybe_number("activation_func_clamp_value");
  mlp.clamp = t.keys.maybe_number("swiglu_limit").value_or(clamp.value_or(0));
  mlp.up_offset = t.keys.number("glu_linear_offset");
  return mlp;
}

// Norms behind attention and MLP, on every layer.
void output_norms(Translation& t, spec::LayerSpec& layer) {
  const auto where = t.keys.maybe_text("sublayer_output_norms");
  if (!where) return;
  layer.norms_in_front = *where == "also";
  layer.attention_output_norm = layer.mlp_output_norm = layer.input_norm;
}

void vocabulary(Translation& t) {
  spec::Model& model = t.run.model;
  model.tied_embeddings = !t.keys.flag("untie_embeddings_and_output_weights");
  model.vocab_divisor = t.keys.integer("make_vocab_size_divisible_by");
  model.padded_vocab_size = t.keys.maybe_integer("padded_vocab_size").value_or(0);
  model.padding_id = t.keys.maybe_integer("padding_id");
  model.embedding_multiplier = t.keys.number("embedding_multiplier");
  model.logit_multiplier = t.keys.number("logit_multiplier");
  model.logit_soft_cap = t.keys.maybe_number("final_logit_softcapping").value_or(0);
}

void initialisation(Translation& t) {
  spec::Init& init = t.run.model.init;
  const double layers = static_cast<double>(std::max<size_t>(1, t.run.model.layers.size()));
  init.law = t.keys.flag("init_method_xavier_uniform") ? spec::InitLaw::XavierUniform : spec::InitLaw::Normal;
  init.std = t.keys.number("init_method_std");
  init.embedding_std = t.keys.maybe_number("embedding_init_method_std").value_or(init.std);
  // A layer of a hybrid stack adds to the stream once, not twice.
  init.residual_output_std = init.std / std::sqrt((t.keys.flag("is_hybrid_model") ? 1 : 2) * layers);
}

}  // namespace

void megatron_model(Translation& t) {
  spec::Model& model = t.run.model;
  const int64_t layers = t.needed("num_layers", 1);
  model.hidden_size = t.needed("hidden_size", 0);
  model.max_positions = t.needed("max_position_embeddings", 0);

  std::string positions = t.keys.text("position_embedding_type");
  if (t.keys.flag("use_rotary_position_embeddings")) positions = "rope";
  model.learned_positions = positions == "learned_absolute";
  model.fp32_residual = t.keys.flag("fp32_residual_connection");

  spec::Norm norm;
  norm.kind = t.keys.text("normalization") == "RMSNorm" ? spec::NormKind::RmsNorm : spec::NormKind::LayerNorm;
  norm.eps = t.keys.number("layernorm_epsilon");
  norm.zero_centered_gain = t.keys.flag("layernorm_zero_centered_gamma");

  const bool bias = t.keys.flag("add_bias_linear");
  spec::LayerSpec layer;
  layer.input_norm = layer.post_attention_norm = model.final_norm = norm;
  layer.attention = megatron_attention(t, model.hidden_size, norm, bias, positions);
  layer.mlp = mlp(t, model.hidden_size, bias);
  output_norms(t, layer);
  layer.hidden_dropout = model.embedding_dropout = t.keys.number("hidden_dropout");
  model.layers.assign(static_cast<size_t>(t.limited_layers("num_layers", layers)), layer);
  megatron_layer_kinds(t);
  megatron_moe(t);
  megatron_multi_token_prediction(t);
  vocabulary(t);
  initialisation(t);
}

void megatron_recompute(Translation& t) {
  spec::Recompute& r = t.run.recompute;
  const auto granularity = t.keys.maybe_text("recompute_granularity");
  const bool short_form = t.keys.flag("recompute_activations");
  const auto method = t.keys.maybe_text("recompute_method");
  const auto count = t.keys.maybe_integer("recompute_num_layers");
  const auto ids = t.keys.integers("recompute_layer_ids");
  std::vector<std::string> modules = t.keys.texts("recompute_modules");
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  if (short_form || granularity == "selective") {
    r.kind = spec::RecomputeKind::Selective;
    r.modules = modules.empty() ? std::vector<std::string>{"core_attn"} : std::move(modules);
    if (method)
      t.error("recompute_method", "recompute_method belongs to recompute_granularity full", "null",
              "drop it, or set recompute_granularity: full");
    return;
  }
  if (!granularity) {
    if (!ids.empty())
      t.error("recompute_layer_ids", "recompute_layer_ids needs recompute_granularity full", {},
              "set recompute_granularity: full");
    return;
  }
  r.kind = spec::RecomputeKind::Full;
  if (!ids.empty()) {
    if (method)
      t.error("recompute_method", "layers are chosen both by recompute_layer_ids and by recompute_method",
              "one of the two");
    r.layer_ids = ids;
    return;
  }
  if (!method || !count) {
    t.error("recompute_granularity", "full recomputation needs to know which layers",
            "recompute_method and recompute_num_layers, or recompute_layer_ids",
            "add recompute_method: uniform and recompute_num_layers: 1");
    return;
  }
  const bool uniform = *method == "uniform";
  if (uniform && *count < 1) t.error("recompute_num_layers", "a chunk of no layers", "at least 1");
  if (!uniform && *count == 0) t.warning("recompute_num_layers", "'recompute_num_layers: 0' recomputes nothing");
  r.layers_per_block = uniform ? std::max<int64_t>(1, *count) : 1;
  if (uniform) {
    for (int64_t i = 0; i < layers; ++i) r.layer_ids.push_back(i);
    return;
  }
  // Block: the first layers of each stage.
  int64_t first = 0;
  for (const int64_t size : megatron_stage_sizes(t)) {
    for (int64_t i = first; i < first + std::min(size, *count); ++i) r.layer_ids.push_back(i);
    first += size;
  }
}

}  // namespace primus::dialect
