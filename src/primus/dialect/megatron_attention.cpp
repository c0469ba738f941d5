// Attention of every kind. Source: Megatron-LM d3528a21, transformer (attention, multi_latent_attention,
// dot_product_attention, transformer config).
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/megatron_pattern.h"
#include "primus/dialect/yarn.h"

namespace primus::dialect {

namespace {

// YaRN without latent attention: the magnitude goes into cosine and sine.
spec::YarnRopeScaling plain_yarn(Translation& t) {
  spec::YarnRopeScaling y;
  y.factor = t.keys.number("yarn_rotary_scaling_factor");
  y.original_max_positions = t.keys.integer("yarn_original_max_position_embeddings");
  y.beta_fast = t.keys.number("yarn_beta_fast");
  y.beta_slow = t.keys.number("yarn_beta_slow");
  y.whole_bounds = t.keys.flag("yarn_correction_range_round_to_int");
  const auto mscale = t.keys.maybe_number("yarn_mscale"), all_dim = t.keys.maybe_number("yarn_mscale_all_dim");
  y.cos_sin_factor = mscale && all_dim ? yarn_magnitude(y.factor, *mscale) / yarn_magnitude(y.factor, *all_dim)
                                       : yarn_magnitude(y.factor, 1);
  return y;
}

std::optional<spec::Rope> plain_rope(Translation& t, const std::string& positions) {
  spec::Rope rope;
  rope.base = t.keys.number("rotary_base");
  rope.fraction = t.keys.number("rotary_percent");
  rope.interleaved = t.keys.flag("rotary_interleaved");
  rope.position_divisor = t.keys.number("rope_position_divisor");
  // Factor 8 whatever upstream's own keys say: its model builder passes the switch on, not the numbers.
  spec::Llama3RopeScaling llama3;
  llama3.factor = t.keys.number("llama3_rope_factor");
  llama3.low_freq_factor = t.keys.number("llama3_rope_low_freq_factor");
  llama3.high_freq_factor = t.keys.number("llama3_rope_high_freq_factor");
  llama3.original_max_positions = t.keys.integer("llama3_rope_original_max_positions");
  if (t.keys.flag("use_rope_scaling")) rope.llama3 = llama3;
  const spec::YarnRopeScaling scaling = plain_yarn(t);
  if (positions == "yarn") rope.yarn = scaling;
  return positions == "rope" || positions == "yarn" ? std::optional(rope) : std::nullopt;
}

struct Yarn {
  spec::YarnRopeScaling scaling;
  double softmax_factor = 1;  // on the scores of latent attention
};

Yarn yarn(Translation& t) {
  Yarn y;
  y.scaling.factor = t.keys.number("rotary_scaling_factor");
  y.scaling.original_max_positions = t.keys.maybe_integer("original_max_position_embeddings").value_or(4096);
  y.scaling.beta_fast = t.keys.number("beta_fast");
  y.scaling.beta_slow = t.keys.number("beta_slow");
  const double mscale = t.keys.number("mscale"), all_dim = t.keys.number("mscale_all_dim");
  const double of_scores = yarn_magnitude(y.scaling.factor, all_dim);
  y.scaling.cos_sin_factor = yarn_magnitude(y.scaling.factor, mscale) / of_scores;
  y.softmax_factor = of_scores * of_scores;
  return y;
}

void latent(Translation& t, spec::Attention& a, const spec::Norm& norm, bool norms) {
  spec::LatentAttention m;
  m.q_lora_rank = t.keys.maybe_integer("q_lora_rank").value_or(0);
  m.kv_lora_rank = t.keys.integer("kv_lora_rank");
  m.nope_head_dim = t.keys.integer("qk_head_dim");
  m.rope_head_dim = t.keys.integer("qk_pos_emb_head_dim");
  m.v_head_dim = t.keys.integer("v_head_dim");
  m.norm_latents = norms;
  m.latent_norm_eps = t.keys.maybe_number("latent_norm_epsilon").value_or(norm.eps);
  const auto type = t.keys.maybe_text("rope_type");
  const Yarn y = yarn(t);
  const bool no_positions = t.keys.flag("mla_use_nope");
  const bool gated = t.keys.flag("mla_use_output_gate");
  const bool on = t.keys.flag("multi_latent_attention");
  if (!on) return;
  if (t.keys.flag("group_query_attention"))
    t.error("group_query_attention", "latent attention has one key/value latent for all heads, so no groups",
            "group_query_attention: false");
  a.qkv_bias = t.keys.flag("add_qkv_bias");  // add_bias_linear reaches the output projection only
  a.head_dim = m.nope_head_dim + m.rope_head_dim;
  a.num_kv_heads = a.num_heads;
  a.softmax_scale = y.softmax_factor / std::sqrt(static_cast<double>(a.head_dim));
  a.output_gate = a.output_gate || gated;
  a.latent = m;
  spec::Rope rope;
  rope.base = t.keys.number("rotary_base");
  rope.interleaved = true;  // upstream reorders pairs into halves first: the scores are those of pairs
  if (type != "rope") rope.yarn = y.scaling;
  a.rope = no_positions ? std::nullopt : std::optional(rope);
}

void query_key_norms(Translation& t, spec::Attention& a, const spec::Norm& norm, bool norms) {
  const bool by_length = t.keys.flag("qk_l2_norm");
  const bool after_rope = t.keys.flag("qk_norm_after_rope");
  const bool whole = t.keys.text("qk_norm_scope") == "projection";
  if (a.latent || (!norms && !by_length)) return;
  if (norms && by_length) t.error("qk_l2_norm", "queries and keys are normalised twice", "qk_layernorm or qk_l2_norm");
  spec::QkNorm qk;
  qk.norm = norm;
  if (by_length) qk.norm = {spec::NormKind::RmsNorm, norm.eps, false};
  qk.has_gain = !by_length;
  qk.after_rope = after_rope;
  qk.scope = whole ? spec::QkNormScope::WholeProjection : spec::QkNormScope::PerHead;
  a.qk_norm = qk;
}

// window_size [w, 0]: the key's own position and w before it.
void windows(Translation& t) {
  auto& layers = t.run.model.layers;
  const auto count = static_cast<int64_t>(layers.size());
  const std::vector<int64_t> window = t.keys.integers("window_size");
  Diagnostics unread;
  Translation quiet{t.keys, t.run, window.empty() ? unread : t.out, t.options};
  const LayerPattern pattern = layer_pattern(quiet, "window_attn_skip_freq", count);
  if (window.empty()) return;
  if (window.size() != 2)
    return t.error("window_size", "a window is two numbers, not " + std::to_string(window.size()),
                   "[keys before, keys after]");
  if (window[0] < 0) return;  // -1: no bound
  const bool listed = std::holds_alternative<std::vector<int64_t>>(pattern);
  for (int64_t i = 0; i < count; ++i)
    if (in_period(pattern, i, false) == listed) layers[static_cast<size_t>(i)].attention.window_keys = window[0] + 1;
}

void sinks(Translation& t) {
  const std::string type = t.keys.text("softmax_type");
  const bool turbo = t.keys.flag("use_sink_attention");
  const int64_t window = t.keys.integer("sink_sliding_window");
  const bool even_only = t.keys.flag("sink_window_even_layers_only");
  for (size_t i = 0; i < t.run.model.layers.size(); ++i) {
    spec::Attention& a = t.run.model.layers[i].attention;
    if (type == "off-by-one") a.sink = spec::Sink::Zero;
    if (type == "learnable" || turbo) a.sink = spec::Sink::Learned;
    if (turbo && window > 0 && (i % 2 == 0 || !even_only)) a.window_keys = window + 1;
  }
}

// Llama 4 alternates: layers with rotation attend inside chunks, those without see everything and are tempered.
void layers_without_rotation(Translation& t) {
  auto& layers = t.run.model.layers;
  const auto count = static_cast<int64_t>(layers.size());
  const LayerPattern pattern = layer_pattern(t, "no_rope_freq", count);
  const auto chunk = t.keys.maybe_integer("attention_chunk_size");
  const auto scale = t.keys.maybe_number("attention_temperature_scale");
  const double floor_scale = t.keys.number("attention_temperature_floor_scale");
  const auto log_length = t.keys.maybe_integer("attention_temperature_log_length");
  if (scale && log_length)
    t.error("attention_temperature_log_length", "scores grow by two rules",
            "attention_temperature_scale or attention_temperature_log_length");
  for (int64_t i = 0; i < count; ++i) {
    spec::Attention& a = layers[static_cast<size_t>(i)].attention;
    if (log_length) a.temperature = spec::TemperatureTuning{.log_length = *log_length};
    if (!in_period(pattern, i, false)) {
      a.chunk_size = chunk;
      continue;
    }
    a.rope.reset();
    if (scale) a.temperature = spec::TemperatureTuning{*scale, floor_scale};
    if (a.qk_norm && a.qk_norm->after_rope) a.qk_norm.reset();  // a norm behind the rotation goes with it
  }
}

}  // namespace

spec::Attention megatron_attention(Translation& t, int64_t hidden, const spec::Norm& norm, bool bias,
                                   const std::string& positions) {
  spec::Attention a;
  a.num_heads = t.needed("num_attention_heads", 1);
  const bool grouped = t.keys.flag("group_query_attention");
  const bool is_latent = t.keys.flag("multi_latent_attention");
  const auto groups = t.keys.maybe_integer("num_query_groups");
  a.num_kv_heads = grouped ? groups.value_or(a.num_heads) : a.num_heads;
  if (!grouped && !is_latent && groups && *groups != a.num_heads && t.keys.is_given("num_query_groups"))
    t.warning("num_query_groups",
              "'num_query_groups: " + std::to_string(*groups) +
                  "' has no effect while group_query_attention is false: every head has keys and values of its own",
              "set group_query_attention: true if the groups are meant");
  const auto head = t.keys.maybe_integer("kv_channels");
  const bool divides = hidden >= a.num_heads && hidden % a.num_heads == 0;
  a.head_dim = head.value_or(divides ? hidden / a.num_heads : 2);
  if (!head && !divides && hidden > 0 && !is_latent)
    t.error("num_attention_heads",
            "a hidden size of " + std::to_string(hidden) + " cannot be shared out over " + std::to_string(a.num_heads) +
                " heads",
            "a divisor of hidden_size, or kv_channels");
  const bool qkv_bias = t.keys.flag("add_qkv_bias");
  a.qkv_bias = bias || qkv_bias;
  a.out_bias = bias || t.keys.flag("add_attention_output_bias");
  a.softmax_scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  a.dropout = t.keys.number("attention_dropout");
  a.rope = plain_rope(t, positions);
  a.logit_soft_cap = t.keys.maybe_number("attention_logit_soft_cap").value_or(0);
  a.output_gate = t.keys.flag("attention_output_gate");
  const bool norms = t.keys.flag("qk_layernorm");
  latent(t, a, norm, norms);
  query_key_norms(t, a, norm, norms);
  a.softmax_scale = t.keys.maybe_number("softmax_scale").value_or(a.softmax_scale);
  return a;
}

void megatron_layer_kinds(Translation& t) {
  windows(t);
  sinks(t);
  layers_without_rotation(t);
  megatron_mixers(t);
}

}  // namespace primus::dialect
