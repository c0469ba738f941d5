// Families without experts. Each function names what its reference (transformers 5.24, modeling_*.py) does beyond
// llama.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

// q and k normed per head, before the rotation.
void norm_queries_and_keys(Model& m) {
  for (LayerSpec& layer : m.layers) layer.attention.qk_norm = spec::QkNorm{m.final_norm};
}

bool has_windows(const Model& m) {
  for (const LayerSpec& layer : m.layers)
    if (layer.attention.window_keys) return true;
  return false;
}

int64_t first_window(const Model& m) {
  for (const LayerSpec& layer : m.layers)
    if (layer.attention.window_keys) return *layer.attention.window_keys;
  return 0;
}

Json layer_types(const Model& m) {
  Json types = Json::array();
  for (const LayerSpec& layer : m.layers)
    types.push_back(layer.attention.window_keys ? "sliding_attention" : "full_attention");
  return types;
}

// use_sliding_window, sliding_window and max_window_layers: a window counts only with the switch, and only on layers
// from max_window_layers on.
void read_switched_window(HfReader& r, Model& m, bool has_first) {
  const bool on = r.flag({"use_sliding_window"}, false, "");
  const auto width = read_window(r, on, "");
  const int64_t first = has_first ? r.integer({"max_window_layers"}, 28, "") : 0;
  const int64_t window = on ? width.value_or(0) : 0;
  if (width && !on) r.decide("attention.window_keys", "none", "sliding_window without use_sliding_window");
  read_layer_types(r, m, window, [&](int64_t i) { return window > 0 && i >= first; });
}

void write_switched_window(const Model& m, Json& out) {
  out["use_sliding_window"] = has_windows(m);
  out["sliding_window"] = has_windows(m) ? Json(first_window(m)) : Json(nullptr);
  if (!has_windows(m)) return;
  int64_t first = 0;
  while (!m.layers[static_cast<size_t>(first)].attention.window_keys) ++first;
  out["max_window_layers"] = first;
  out["layer_types"] = layer_types(m);
}

void use_output_norms(Model& m) {
  for (LayerSpec& layer : m.layers) layer.attention_output_norm = layer.mlp_output_norm = m.final_norm;
}

const char* activation_name(spec::Activation activation) {
  switch (activation) {
    case spec::Activation::Gelu:
      return "gelu";
    case spec::Activation::GeluTanh:
      return "gelu_pytorch_tanh";
    case spec::Activation::QuickGelu:
      return "quick_gelu";
    default:
      return "silu";
  }
}

void read_mlp_activation(HfReader& r, Model& m, std::initializer_list<const char*> names, const char* otherwise) {
  const spec::Activation activation = read_activation(r, names, otherwise);
  for (LayerSpec& layer : m.layers) layer.mlp.activation = activation;
}

constexpr HfDefaults kLlama{32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6, 10000};
constexpr HfDefaults kMistral{32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-6, 10000};
constexpr HfDefaults kQwen2{151936, 4096, 22016, 32, 32, 32, 0, 32768, 1e-6, 10000};
constexpr HfDefaults kQwen3{151936, 4096, 22016, 32, 32, 32, 128, 32768, 1e-6, 10000};
constexpr HfDefaults kOlmo2{50304, 4096, 11008, 32, 32, 0, 0, 2048, 1e-5, 10000, false, 1};
constexpr HfDefaults kGemma{256000, 3072, 24576, 28, 16, 16, 256, 8192, 1e-6, 10000, true, 0};
constexpr HfDefaults kGemma2{256000, 2304, 9216, 26, 8, 4, 256, 8192, 1e-6, 10000, true, 0};
constexpr HfDefaults kGlm4{151552, 4096, 13696, 40, 32, 2, 128, 131072, 1.5625e-7, 10000, false, 151329, 0.5};

}  // namespace

void read_llama(HfReader& r, Model& m) {
  read_skeleton(r, m, kLlama);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  read_attention_bias(r, m, false, true);
  const bool bias = r.flag({"mlp_bias"}, false, "mlp.bias");
  for (LayerSpec& layer : m.layers) layer.mlp.bias = bias;
}

Json write_llama(const Model& m) {
  Json out = write_skeleton(m, "llama", "LlamaForCausalLM");
  const LayerSpec& layer = m.layers.front();
  out["hidden_act"] = activation_name(layer.mlp.activation);
  out["attention_bias"] = layer.attention.qkv_bias;
  out["mlp_bias"] = layer.mlp.bias;
  return out;
}

void read_mistral(HfReader& r, Model& m) {
  read_skeleton(r, m, kMistral);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  // Null: no window. Absent: 4096.
  const auto given = read_window(r, true, "attention.window_keys");
  const int64_t window = given.value_or(r.is_null("sliding_window") ? 0 : 4096);
  if (!given)
    r.decide("attention.window_keys", window > 0 ? "4096" : "none",
             window > 0 ? "sliding_window is absent: the default of mistral" : "sliding_window is null");
  read_layer_types(r, m, window, [&](int64_t) { return window > 0; });
}

Json write_mistral(const Model& m) {
  Json out = write_skeleton(m, "mistral", "MistralForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  out["sliding_window"] = has_windows(m) ? Json(first_window(m)) : Json(nullptr);
  const auto in_full = [](const LayerSpec& layer) { return !layer.attention.window_keys; };
  if (has_windows(m) && std::any_of(m.layers.begin(), m.layers.end(), in_full)) out["layer_types"] = layer_types(m);
  return out;
}

void read_qwen2(HfReader& r, Model& m) {
  read_skeleton(r, m, kQwen2);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  for (LayerSpec& layer : m.layers) layer.attention.qkv_bias = true;
  r.decide("attention.qkv_bias", "true", "qwen2 always has biases on q, k and v, and none on the output");
  read_switched_window(r, m, true);
}

Json write_qwen2(const Model& m) {
  Json out = write_skeleton(m, "qwen2", "Qwen2ForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  write_switched_window(m, out);
  return out;
}

void read_qwen3(HfReader& r, Model& m) {
  read_skeleton(r, m, kQwen3);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  read_attention_bias(r, m, false, true);
  norm_queries_and_keys(m);
  r.decide("attention.qk_norm", "per head, before the rotation", "qwen3 always has it");
  read_switched_window(r, m, true);
}

Json write_qwen3(const Model& m) {
  Json out = write_skeleton(m, "qwen3", "Qwen3ForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  write_switched_window(m, out);
  return out;
}

void read_olmo2(HfReader& r, Model& m) {
  read_skeleton(r, m, kOlmo2);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  read_attention_bias(r, m, false, true);
  norm_queries_and_keys(m);
  use_output_norms(m);
  for (LayerSpec& layer : m.layers) {
    layer.norms_in_front = false;
    layer.attention.qk_norm->scope = spec::QkNormScope::WholeProjection;
  }
  r.decide("layer.norms_in_front", "false", "olmo2 norms the outputs of attention and MLP instead of their inputs");
  r.decide("attention.qk_norm", "over the whole projection", "olmo2 always has it");
}

Json write_olmo2(const Model& m) {
  Json out = write_skeleton(m, "olmo2", "Olmo2ForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  return out;
}

namespace {

void finish_gemma(HfReader& r, Model& m) {
  r.demand("use_bidirectional_attention", false, "attention in both directions");
  read_attention_bias(r, m, false, true);
  m.embedding_multiplier = std::sqrt(static_cast<double>(m.hidden_size));
  r.decide("model.embedding_multiplier", "sqrt(hidden_size)", "gemma scales its embeddings");
  m.final_norm.zero_centered_gain = true;
  for (LayerSpec& layer : m.layers)
    layer.input_norm.zero_centered_gain = layer.post_attention_norm.zero_centered_gain = true;
  r.decide("norm.zero_centered_gain", "true", "gemma's norms multiply by 1 + weight");
}

}  // namespace

void read_gemma(HfReader& r, Model& m) {
  read_skeleton(r, m, kGemma);
  r.ignore({"hidden_activation"}, "the reference reads hidden_act");
  read_mlp_activation(r, m, {"hidden_act"}, "gelu_pytorch_tanh");
  // The published files say gelu and mean the form with tanh; the reference replaces the word.
  for (LayerSpec& layer : m.layers)
    if (layer.mlp.activation == spec::Activation::Gelu) layer.mlp.activation = spec::Activation::GeluTanh;
  r.decide("mlp.activation", "gelu, with tanh where the file says gelu", "gemma");
  finish_gemma(r, m);
}

Json write_gemma(const Model& m) {
  Json out = write_skeleton(m, "gemma", "GemmaForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  return out;
}

void read_gemma2(HfReader& r, Model& m) {
  read_skeleton(r, m, kGemma2);
  r.ignore({"hidden_act"}, "the reference reads hidden_activation");
  read_mlp_activation(r, m, {"hidden_activation"}, "gelu_pytorch_tanh");
  finish_gemma(r, m);
  use_output_norms(m);
  const double scalar = r.number({"query_pre_attn_scalar"}, 256, "attention.softmax_scale");
  const auto cap = r.maybe_number({"attn_logit_softcapping"}, "attention.logit_soft_cap");
  const auto final_cap = r.maybe_number({"final_logit_softcapping"}, "model.logit_soft_cap");
  m.logit_soft_cap = final_cap.value_or(r.is_null("final_logit_softcapping") ? 0 : 30);
  for (LayerSpec& layer : m.layers) {
    layer.attention.softmax_scale = 1 / std::sqrt(scalar);
    layer.attention.logit_soft_cap = cap.value_or(r.is_null("attn_logit_softcapping") ? 0 : 50);
  }
  const bool no_window = r.is_null("sliding_window");
  const int64_t window = no_window ? 0 : r.integer({"sliding_window"}, 4096, "attention.window_keys");
  read_layer_types(r, m, window, [](int64_t i) { return i % 2 == 0; });
}

Json write_gemma2(const Model& m) {
  Json out = write_skeleton(m, "gemma2", "Gemma2ForCausalLM");
  const spec::Attention& a = m.layers.front().attention;
  out.erase("hidden_act");
  out["hidden_activation"] = activation_name(m.layers.front().mlp.activation);
  out["attention_bias"] = a.qkv_bias;
  // The nearest whole number where there is one: a root does not give back the very number that was read.
  const double scalar = 1 / (a.softmax_scale * a.softmax_scale);
  out["query_pre_attn_scalar"] = whole_if_near(scalar);
  out["attn_logit_softcapping"] = a.logit_soft_cap == 0 ? Json(nullptr) : Json(a.logit_soft_cap);
  out["final_logit_softcapping"] = m.logit_soft_cap == 0 ? Json(nullptr) : Json(m.logit_soft_cap);
  out["sliding_window"] = has_windows(m) ? Json(first_window(m)) : Json(nullptr);
  out["layer_types"] = layer_types(m);
  return out;
}

void read_glm4(HfReader& r, Model& m) {
  read_skeleton(r, m, kGlm4);
  read_mlp_activation(r, m, {"hidden_act"}, "silu");
  read_attention_bias(r, m, true, false);
  use_output_norms(m);
  for (LayerSpec& layer : m.layers) layer.attention.rope->interleaved = true;
  r.decide("rope.interleaved", "true", "glm4 rotates adjacent pairs");
  r.decide("layer.attention_output_norm", "true", "glm4 norms the outputs of attention and MLP too");
}

Json write_glm4(const Model& m) {
  Json out = write_skeleton(m, "glm4", "Glm4ForCausalLM");
  out["hidden_act"] = activation_name(m.layers.front().mlp.activation);
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  out["partial_rotary_factor"] = m.layers.front().attention.rope ? m.layers.front().attention.rope->fraction : 1;
  return out;
}

void read_gpt2(HfReader& r, Model& m) {
  m.hidden_size = r.integer({"n_embd", "hidden_size"}, 768, "model.hidden_size", 1);
  m.vocab_size = m.padded_vocab_size = r.integer({"vocab_size"}, 50257, "model.vocab_size", 1);
  m.vocab_divisor = 1;
  m.max_positions = r.integer({"n_positions", "max_position_embeddings"}, 1024, "model.max_positions", 1);
  m.learned_positions = true;
  const int64_t layers = r.num_layers({"n_layer", "num_hidden_layers"}, 12);
  LayerSpec layer;
  m.final_norm = {spec::NormKind::LayerNorm, r.number({"layer_norm_epsilon"}, 1e-5, "norm.eps"), false};
  layer.input_norm = layer.post_attention_norm = m.final_norm;
  spec::Attention& a = layer.attention;
  a.num_heads = a.num_kv_heads = r.integer({"n_head", "num_attention_heads"}, 12, "attention.num_heads", 1);
  if (m.hidden_size % a.num_heads != 0)
    r.error("n_head",
            "a width of " + std::to_string(m.hidden_size) + " cannot be shared out over " +
                std::to_string(a.num_heads) + " heads",
            "a divisor of " + std::to_string(m.hidden_size));
  a.head_dim = std::max<int64_t>(1, m.hidden_size / a.num_heads);
  a.qkv_bias = a.out_bias = layer.mlp.bias = true;
  a.dropout = r.number({"attn_pdrop"}, 0.1, "attention.dropout");
  layer.hidden_dropout = r.number({"resid_pdrop"}, 0.1, "layer.hidden_dropout");
  m.embedding_dropout = r.number({"embd_pdrop"}, 0.1, "model.embedding_dropout");
  const auto inner = r.maybe_integer({"n_inner"}, "mlp.ffn_size");
  layer.mlp.ffn_size = inner.value_or(4 * m.hidden_size);
  if (!inner) r.decide("mlp.ffn_size", std::to_string(layer.mlp.ffn_size), "n_inner is absent: 4 n_embd");
  layer.mlp.gated = false;
  layer.mlp.activation = read_activation(r, {"activation_function"}, "gelu_new");
  const bool scaled = r.flag({"scale_attn_weights"}, true, "attention.softmax_scale");
  const bool by_layer = r.flag({"scale_attn_by_inverse_layer_idx"}, false, "");
  r.demand("add_cross_attention", false, "attention to another model");
  r.ignore({"pad_token_id"}, "gpt2 trains every row of its embedding");
  m.tied_embeddings = r.flag({"tie_word_embeddings"}, true, "model.tied_embeddings");
  m.init.std = m.init.embedding_std = r.number({"initializer_range"}, 0.02, "init.std");
  m.init.residual_output_std = m.init.std / std::sqrt(2 * static_cast<double>(layers));
  m.layers.assign(static_cast<size_t>(layers), layer);
  for (size_t i = 0; i < m.layers.size(); ++i)
    m.layers[i].attention.softmax_scale =
        (scaled ? 1 / std::sqrt(static_cast<double>(a.head_dim)) : 1) / (by_layer ? static_cast<double>(i + 1) : 1);
}

Json write_gpt2(const Model& m) {
  const LayerSpec& layer = m.layers.front();
  const bool by_layer = m.layers.size() > 1 && m.layers[1].attention.softmax_scale != layer.attention.softmax_scale;
  return {{"architectures", Json::array({"GPT2LMHeadModel"})},
          {"model_type", "gpt2"},
          {"vocab_size", m.vocab_size},
          {"n_positions", m.max_positions},
          {"n_embd", m.hidden_size},
          {"n_layer", m.layers.size()},
          {"n_head", layer.attention.num_heads},
          {"n_inner", layer.mlp.ffn_size},
          {"activation_function",
           layer.mlp.activation == spec::Activation::GeluTanh ? "gelu_new" : activation_name(layer.mlp.activation)},
          {"layer_norm_epsilon", m.final_norm.eps},
          {"attn_pdrop", layer.attention.dropout},
          {"resid_pdrop", layer.hidden_dropout},
          {"embd_pdrop", m.embedding_dropout},
          {"scale_attn_weights", layer.attention.softmax_scale != 1 || layer.attention.head_dim == 1},
          {"scale_attn_by_inverse_layer_idx", by_layer},
          {"initializer_range", m.init.std},
          {"tie_word_embeddings", m.tied_embeddings},
          {"use_cache", true}};
}

}  // namespace primus::hub
