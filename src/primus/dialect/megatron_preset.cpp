#include "primus/dialect/megatron_preset.h"

#include <algorithm>
#include <cmath>

#include "primus/dialect/yarn.h"

namespace primus::dialect {

namespace {

using config::Value;
using spec::Activation;

// Twelve digits: roots and logarithms do not give back the very number that was written.
double rounded(double value) {
  return std::round(value * 1e12) / 1e12;
}

// The first layer that attends; the first of all in a model that has none.
const spec::LayerSpec& first_attending(const spec::Model& model) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(), spec::attends);
  return found == model.layers.end() ? model.layers.front() : *found;
}

class Writer {
 public:
  explicit Writer(const spec::Model& model) : model_(model), layer_(first_attending(model)) {}

  ModelPreset write() {
    preset_.extends = "language_model.yaml";
    size(), vocabulary(), norms(), mlp(), attention();
    if (layer_.attention.latent) latent();
    positions(), layer_kinds(), mixers(), experts(), rest();
    return std::move(preset_);
  }

 private:
  template <class T>
  void put(const char* group, const char* key, T value) {
    preset_.lines.push_back({group, key, Value(std::move(value)), false});
  }
  template <class T>
  void put_unless(const char* group, const char* key, T value, T otherwise) {
    if (value != otherwise) put(group, key, value);
  }
  // The first layer that has experts, or none.
  const spec::Moe* moe() const {
    for (const spec::LayerSpec& layer : model_.layers)
      if (layer.moe) return &*layer.moe;
    return nullptr;
  }
  // The MLP of the dense layers; without any, of the experts.
  const spec::Mlp& dense() const {
    for (const spec::LayerSpec& layer : model_.layers)
      if (!layer.moe && layer.has_mlp) return layer.mlp;
    return moe() != nullptr ? moe()->expert : layer_.mlp;
  }
  template <class F>
  const spec::Attention* first_with(F test) const {
    for (const spec::LayerSpec& layer : model_.layers)
      if (spec::attends(layer) && test(layer.attention)) return &layer.attention;
    return nullptr;
  }
  const spec::Attention* rotated() const {
    return first_with([](const spec::Attention& a) { return a.rope.has_value(); });
  }

  void size() {
    const spec::Attention& a = layer_.attention;
    const char* group = "Size";
    put(group, "num_layers", static_cast<int64_t>(model_.layers.size()));
    put(group, "hidden_size", model_.hidden_size);
    if (dense().ffn_size > 0) put(group, "ffn_hidden_size", dense().ffn_size);
    put(group, "num_attention_heads", std::max<int64_t>(1, a.num_heads));
    const bool grouped = !a.latent && a.num_kv_heads != a.num_heads;
    put(group, "group_query_attention", grouped);
    if (grouped) put(group, "num_query_groups", a.num_kv_heads);
    if (!a.latent && a.head_dim > 0) put(group, "kv_channels", a.head_dim);
    put(group, "max_position_embeddings", model_.max_positions);
  }

  void vocabulary() {
    const char* group = "Vocabulary";
    put(group, "padded_vocab_size", model_.padded_vocab_size);
    put(group, "untie_embeddings_and_output_weights", !model_.tied_embeddings);
    put_unless(group, "embedding_multiplier", model_.embedding_multiplier, 1.0);
    put_unless(group, "logit_multiplier", model_.logit_multiplier, 1.0);
    put_unless(group, "final_logit_softcapping", model_.logit_soft_cap, 0.0);
    if (model_.padding_id) put(group, "padding_id", *model_.padding_id);
  }

  void norms() {
    const char* group = "Norms";
    const spec::Norm& norm = model_.final_norm;
    put(group, "normalization", std::string(norm.kind == spec::NormKind::RmsNorm ? "RMSNorm" : "LayerNorm"));
    put(group, "layernorm_epsilon", norm.eps);
    put(group, "norm_epsilon", norm.eps);  // read by nobody; said so that the two do not differ
    put_unless(group, "layernorm_zero_centered_gamma", norm.zero_centered_gain, false);
    if (layer_.attention_output_norm)
      put(group, "sublayer_output_norms", std::string(layer_.norms_in_front ? "also" : "only"));
    if (layer_.attention.latent) put(group, "qk_layernorm", layer_.attention.latent->norm_latents);
    const spec::Attention* normed = first_with([](const spec::Attention& a) { return a.qk_norm.has_value(); });
    if (normed == nullptr) return;
    const spec::QkNorm& qk = *normed->qk_norm;
    put(group, qk.has_gain ? "qk_layernorm" : "qk_l2_norm", true);
    put_unless(group, "qk_norm_after_rope", qk.after_rope, false);
    if (qk.scope == spec::QkNormScope::WholeProjection) put(group, "qk_norm_scope", std::string("projection"));
  }

  void mlp() {
    const char* group = "Activation and biases";
    const spec::Mlp& mlp = dense();
    const spec::Attention& a = layer_.attention;
    put(group, "swiglu", mlp.gated && mlp.activation == Activation::Silu);
    put_unless(group, "quick_geglu", mlp.gated && mlp.activation == Activation::QuickGelu, false);
    put_unless(group, "squared_relu", !mlp.gated && mlp.activation == Activation::SquaredRelu, false);
    if (mlp.gated && mlp.activation == Activation::Gelu) put(group, "geglu", std::string("erf"));
    if (mlp.gated && mlp.activation == Activation::GeluTanh) put(group, "geglu", std::string("tanh"));
    if (!mlp.gated && mlp.activation == Activation::Gelu) put(group, "bias_gelu_fusion", false);
    put_unless(group, "activation_func_clamp_value", mlp.clamp, 0.0);
    put_unless(group, "glu_linear_offset", mlp.up_offset, 0.0);
    const bool all = mlp.bias && a.qkv_bias && a.out_bias && !a.latent;
    put(group, "add_bias_linear", all);
    if (all) return;
    put_unless(group, "add_qkv_bias", a.qkv_bias, false);
    put_unless(group, "add_attention_output_bias", a.out_bias, false);
    put_unless(group, "add_mlp_bias", mlp.bias, false);
  }

  void attention() {
    const char* group = "Attention";
    const spec::Attention& a = layer_.attention;
    put(group, "attention_dropout", a.dropout);
    put(group, "hidden_dropout", layer_.hidden_dropout);
    if (!a.latent && a.head_dim > 0 && a.softmax_scale != 1 / std::sqrt(static_cast<double>(a.head_dim)))
      put(group, "softmax_scale", a.softmax_scale);
    put_unless(group, "attention_logit_soft_cap", a.logit_soft_cap, 0.0);
    if (a.sink == spec::Sink::Learned) put(group, "softmax_type", std::string("learnable"));
    if (a.sink == spec::Sink::Zero) put(group, "softmax_type", std::string("off-by-one"));
    put_unless(group, "attention_output_gate", a.output_gate && !a.latent, false);
  }

  void latent() {
    const char* group = "Multi-head latent attention";
    const spec::LatentAttention& m = *layer_.attention.latent;
    put(group, "multi_latent_attention", true);
    if (m.q_lora_rank > 0) put(group, "q_lora_rank", m.q_lora_rank);
    put(group, "kv_lora_rank", m.kv_lora_rank);
    put(group, "qk_head_dim", m.nope_head_dim);
    put(group, "qk_pos_emb_head_dim", m.rope_head_dim);
    put(group, "v_head_dim", m.v_head_dim);
    put_unless(group, "latent_norm_epsilon", m.latent_norm_eps, model_.final_norm.eps);
    put_unless(group, "mla_use_output_gate", layer_.attention.output_gate, false);
  }

  void positions() {
    const char* group = "Positions";
    const spec::Attention* a = rotated();
    if (a == nullptr)
      return put(group, "position_embedding_type", std::string(model_.learned_positions ? "learned_absolute" : "none"));
    const spec::Rope& rope = *a->rope;
    const bool plain_yarn = rope.yarn && !a->latent;
    put(group, "position_embedding_type", std::string(plain_yarn ? "yarn" : "rope"));
    put(group, "rotary_base", rope.base);
    if (a->latent) return latent_positions(group, *a);
    put_unless(group, "rotary_percent", rope.fraction, 1.0);
    put_unless(group, "rotary_interleaved", rope.interleaved, false);
    put_unless(group, "rope_position_divisor", rope.position_divisor, 1.0);
    if (rope.llama3) {
      const spec::Llama3RopeScaling& l = *rope.llama3;
      put(group, "use_rope_scaling", true);
      put_unless(group, "llama3_rope_factor", l.factor, 8.0);
      put_unless(group, "llama3_rope_low_freq_factor", l.low_freq_factor, 1.0);
      put_unless(group, "llama3_rope_high_freq_factor", l.high_freq_factor, 4.0);
      put_unless(group, "llama3_rope_original_max_positions", l.original_max_positions, int64_t{8192});
    }
    if (!plain_yarn) return;
    const spec::YarnRopeScaling& y = *rope.yarn;
    put(group, "yarn_rotary_scaling_factor", y.factor);
    put(group, "yarn_original_max_position_embeddings", y.original_max_positions);
    put(group, "yarn_beta_fast", y.beta_fast);
    put(group, "yarn_beta_slow", y.beta_slow);
    put_unless(group, "yarn_correction_range_round_to_int", y.whole_bounds, true);
    if (std::abs(y.cos_sin_factor - yarn_magnitude(y.factor, 1)) < 1e-12 || y.factor <= 1) return;
    put(group, "yarn_mscale", (y.cos_sin_factor - 1) / (0.1 * std::log(y.factor)));
    put(group, "yarn_mscale_all_dim", 0.0);
  }

  void latent_positions(const char* group, const spec::Attention& a) {
    const spec::Rope& rope = *a.rope;
    put(group, "rope_type", std::string(rope.yarn ? "yarn" : "rope"));
    const double factor = rope.yarn ? rope.yarn->factor : 1;
    put(group, "rotary_scaling_factor", factor);
    if (!rope.yarn) return;
    put(group, "original_max_position_embeddings", rope.yarn->original_max_positions);
    put(group, "beta_fast", rope.yarn->beta_fast);
    put(group, "beta_slow", rope.yarn->beta_slow);
    const double log_factor = 0.1 * std::log(factor);
    const double of_scores = std::sqrt(a.softmax_scale * std::sqrt(static_cast<double>(a.head_dim)));
    const double all_dim = log_factor > 0 ? rounded((of_scores - 1) / log_factor) : 0;
    const double of_rope = rope.yarn->cos_sin_factor * yarn_magnitude(factor, all_dim);
    put(group, "mscale", log_factor > 0 ? rounded((of_rope - 1) / log_factor) : 1.0);
    put(group, "mscale_all_dim", all_dim);
  }

  // As a period where one says it (every n-th layer is not marked), else as a list.
  void put_pattern(const char* group, const char* key, const std::vector<bool>& marked, bool period_of_marked) {
    for (size_t period = 1; period <= marked.size(); ++period) {
      bool fits = true;
      for (size_t i = 0; i < marked.size() && fits; ++i)
        fits = marked[i] == (((i + 1) % period == 0) == period_of_marked);
      if (fits) return put(group, key, static_cast<int64_t>(period));
    }
    config::List list;
    for (const bool one : marked) list.emplace_back(int64_t{one});
    preset_.lines.push_back({group, key, Value(std::move(list)), false});
  }

  void layer_kinds() {
    const char* group = "Layers that differ";
    std::vector<bool> windowed, without_rotation;
    for (const spec::LayerSpec& layer : model_.layers) {
      windowed.push_back(layer.attention.window_keys.has_value());
      without_rotation.push_back(!layer.attention.rope.has_value());
    }
    const spec::Attention* window = first_with([](const spec::Attention& a) { return a.window_keys.has_value(); });
    if (window != nullptr) {
      config::List pair;
      pair.emplace_back(*window->window_keys - 1), pair.emplace_back(int64_t{0});
      preset_.lines.push_back({group, "window_size", Value(std::move(pair)), false});
      if (std::count(windowed.begin(), windowed.end(), false) > 0)
        put_pattern(group, "window_attn_skip_freq", windowed, false);
    }
    const bool mixed = rotated() != nullptr && std::count(without_rotation.begin(), without_rotation.end(), true) > 0;
    if (mixed) put_pattern(group, "no_rope_freq", without_rotation, true);
    const spec::Attention* chunked = first_with([](const spec::Attention& a) { return a.chunk_size.has_value(); });
    if (chunked != nullptr) put(group, "attention_chunk_size", *chunked->chunk_size);
    const spec::Attention* tuned = first_with([](const spec::Attention& a) { return a.temperature.has_value(); });
    if (tuned == nullptr) return;
    if (tuned->temperature->log_length > 0)
      return put(group, "attention_temperature_log_length", tuned->temperature->log_length);
    put(group, "attention_temperature_scale", tuned->temperature->scale);
    put(group, "attention_temperature_floor_scale", tuned->temperature->floor_scale);
  }

  // Of the first layer that has it.
  template <class T>
  const T* some(std::optional<T> spec::LayerSpec::* mixer) const {
    for (const spec::LayerSpec& layer : model_.layers)
      if (layer.*mixer) return &*(layer.*mixer);
    return nullptr;
  }

  void mixers() {
    if (const auto* conv = some(&spec::LayerSpec::short_conv)) {
      const char* group = "Short convolutions";
      config::List kinds;
      for (const spec::LayerSpec& layer : model_.layers)
        kinds.emplace_back(std::string(layer.short_conv ? "conv" : "full_attention"));
      preset_.lines.push_back({group, "lfm_layer_types", Value(std::move(kinds)), false});
      put(group, "conv_L_cache", conv->kernel_size);
      put(group, "conv_bias", conv->bias);
    }
    if (const auto* delta = some(&spec::LayerSpec::gated_delta)) {
      const char* group = "Linear attention";
      std::vector<bool> linear;
      for (const spec::LayerSpec& layer : model_.layers) linear.push_back(layer.gated_delta.has_value());
      put(group, "experimental_attention_variant", std::string("gated_delta_net"));
      put_pattern(group, "linear_attention_freq", linear, false);
      put(group, "linear_conv_kernel_dim", delta->kernel_size);
      put(group, "linear_num_key_heads", delta->num_key_heads);
      put(group, "linear_num_value_heads", delta->num_value_heads);
      put(group, "linear_key_head_dim", delta->key_head_dim);
      put(group, "linear_value_head_dim", delta->value_head_dim);
      const bool zero_centred = delta->output_norm.zero_centered_gain;
      if (zero_centred != model_.final_norm.zero_centered_gain)
        put(group, "linear_output_norm_zero_centered", zero_centred);
    }
    const auto* mamba = some(&spec::LayerSpec::mamba2);
    if (mamba == nullptr) return;
    const char* group = "State spaces";
    put(group, "model_type", std::string("mamba"));
    put(group, "mamba_num_heads", mamba->num_heads);
    put(group, "mamba_head_dim", mamba->head_dim);
    put(group, "mamba_num_groups", mamba->num_groups);
    put(group, "mamba_state_dim", mamba->state_dim);
    std::string pattern;
    for (const spec::LayerSpec& layer : model_.layers)
      pattern += layer.mamba2 ? 'M' : layer.has_mixer ? '*' : layer.moe ? 'E' : '-';
    if (pattern.find_first_not_of('M') != std::string::npos) put(group, "hybrid_override_pattern", pattern);
  }

  void experts() {
    const spec::Moe* m = moe();
    if (m == nullptr) return;
    const char* group = "Experts";
    put(group, "num_experts", m->num_experts);
    std::vector<bool> pattern;
    for (const spec::LayerSpec& layer : model_.layers) pattern.push_back(layer.moe.has_value());
    if (std::count(pattern.begin(), pattern.end(), false) == 0)
      put(group, "moe_layer_freq", int64_t{1});
    else
      put(group, "moe_layer_freq", layer_pattern_text(pattern));
    put(group, "moe_ffn_hidden_size", m->expert.ffn_size);
    if (m->shared_ffn_size > 0) put(group, "moe_shared_expert_intermediate_size", m->shared_ffn_size);
    put_unless(group, "moe_shared_expert_gate", m->shared_gate, false);
    put_unless(group, "moe_output_multiplier", m->output_multiplier, 1.0);
    if (m->latent_size > 0) put(group, "moe_latent_size", m->latent_size);
    put(group, "moe_router_topk", m->top_k);
    router(*m);
    if (!m->capacity) return;
    put(group, "moe_expert_capacity_factor", m->capacity->factor);
    put_unless(group, "moe_pad_expert_input_to_capacity", m->capacity->pad, false);
    if (m->capacity->policy == spec::DropPolicy::LastPosition)
      put(group, "moe_token_drop_policy", std::string("position"));
  }

  void router(const spec::Moe& m) {
    const char* group = "Router";
    const spec::Router& r = m.router;
    const bool softmax = r.score == spec::RouterScore::Softmax;
    put(group, "moe_router_score_function",
        std::string(softmax                                 ? "softmax"
                    : r.score == spec::RouterScore::Sigmoid ? "sigmoid"
                                                            : "sqrtsoftplus"));
    put(group, "moe_router_pre_softmax", softmax && r.normalise_over_all && !r.renormalise);
    put_unless(group, "moe_router_topk_scaling_factor", r.scale, 1.0);
    if (r.renormalise) put_unless(group, "moe_router_sum_floor", r.sum_floor, spec::Router{}.sum_floor);
    if (r.groups) {
      put(group, "moe_router_num_groups", r.groups->num_groups);
      put(group, "moe_router_group_topk", r.groups->top_groups);
      const int64_t upstreams = std::max<int64_t>(1, m.top_k / std::max<int64_t>(1, r.groups->top_groups));
      if (r.groups->score == spec::GroupScore::Max)
        put(group, "moe_router_group_score", std::string("max"));
      else if (r.groups->sum_of != upstreams)
        put(group, "moe_router_group_score", std::string("top2"));
    }
    put(group, "moe_router_enable_expert_bias", r.expert_bias.has_value());
    if (r.dtype == spec::RouterDtype::Float32) put(group, "moe_router_dtype", std::string("fp32"));
    put_unless(group, "moe_router_bias", r.bias, false);
    put_unless(group, "router_logit_softcapping", r.logit_soft_cap, 0.0);
    put_unless(group, "moe_apply_probs_on_input", r.weight_on_input, false);
  }

  void rest() {
    put("Initial weights", "init_method_std", model_.init.std);
    if (!model_.mtp) return;
    put("Multi-token prediction", "mtp_num_layers", model_.mtp->depth);
    put("Multi-token prediction", "mtp_loss_scaling_factor", model_.mtp->loss_scale);
  }

  const spec::Model& model_;
  const spec::LayerSpec& layer_;
  ModelPreset preset_;
};

}  // namespace

std::string layer_pattern_text(const std::vector<bool>& pattern) {
  size_t period = 1;
  const auto repeats = [&](size_t length) {
    for (size_t i = length; i < pattern.size(); ++i)
      if (pattern[i] != pattern[i - length]) return false;
    return pattern.size() % length == 0;
  };
  while (period < pattern.size() && !repeats(period)) ++period;
  std::string text;
  for (size_t i = 0; i < period;) {
    size_t end = i;
    while (end < period && pattern[end] == pattern[i]) ++end;
    text += (text.empty() ? "[" : "+[") + std::string(pattern[i] ? "1" : "0") + "]*" + std::to_string(end - i);
    i = end;
  }
  text = "(" + text + ")";
  return period == pattern.size() ? text : text + "*" + std::to_string(pattern.size() / period);
}

ModelPreset megatron_preset(const spec::Model& model) {
  return Writer(model).write();
}

}  // namespace primus::dialect
