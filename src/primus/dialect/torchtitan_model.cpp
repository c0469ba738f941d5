// From a flavor to the architecture, layer by layer, and the law of the first weights.
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

constexpr double kLayerStd = 0.02;
// Upstream's final norm of deepseek_v3 names no epsilon: torch's own, the distance of 1 to the next float.
constexpr double kFloatEpsilon = 0x1p-23;

spec::Norm norm(const TitanModel& m) {
  return {.kind = spec::NormKind::RmsNorm, .eps = m.norm_eps};
}

bool is_llama(const TitanModel& m) {
  return m.family == TitanFamily::Llama3 || m.family == TitanFamily::Llama4;
}

// Width of a llama's MLP: two thirds of 4 dim, times the multiplier, over the divisor, rounded up.
int64_t llama_ffn_size(const TitanModel& m, int64_t divisor) {
  auto width = static_cast<int64_t>(static_cast<double>(2 * 4 * m.dim) / 3);
  if (m.ffn_dim_multiplier) width = static_cast<int64_t>(*m.ffn_dim_multiplier * static_cast<double>(width));
  width /= divisor;
  const int64_t unit = std::max<int64_t>(1, m.multiple_of);
  return (width + unit - 1) / unit * unit;
}

int64_t dense_ffn_size(const TitanModel& m) {
  if (is_llama(m)) return llama_ffn_size(m, 1);
  return m.family == TitanFamily::Qwen3 ? m.hidden_dim : m.inter_dim;
}

int64_t expert_ffn_size(const TitanModel& m) {
  if (m.family != TitanFamily::Llama4) return m.moe_inter_dim;
  return llama_ffn_size(m, m.auto_scale_hidden_dim ? std::max<int64_t>(1, m.top_k + m.num_shared_experts) : 1);
}

bool is_moe_layer(const TitanModel& m, int64_t id) {
  switch (m.family) {
    case TitanFamily::Llama3:
      return false;
    case TitanFamily::Llama4:
      return (id + 1) % std::max<int64_t>(1, m.interleave_moe_layer_step) == 0;
    case TitanFamily::DeepSeekV3:
      return id >= m.n_dense_layers;
    case TitanFamily::Qwen3:
      return m.moe_enabled;
    case TitanFamily::GptOss:
      return true;
  }
  return false;
}

// YaRN in deepseek_v3 begins behind the length that the model was first trained with; in gpt_oss it is always on.
bool has_yarn(const TitanModel& m, int64_t sequence_length) {
  if (m.family == TitanFamily::DeepSeekV3) return sequence_length > m.original_seq_len;
  return m.family == TitanFamily::GptOss && m.rope_factor > 1;
}

spec::Rope rope(const TitanModel& m, int64_t sequence_length) {
  spec::Rope rope;
  rope.base = m.rope_theta;
  rope.interleaved = is_llama(m) || m.family == TitanFamily::DeepSeekV3;  // pairs as complex numbers
  if (is_llama(m) && m.has_rope_scaling)
    rope.llama3 = spec::Llama3RopeScaling{.factor = m.scaling_factor,
                                          .low_freq_factor = m.low_freq_factor,
                                          .high_freq_factor = m.high_freq_factor,
                                          .original_max_positions = m.original_max_position_embeddings};
  if (!has_yarn(m, sequence_length)) return rope;
  spec::YarnRopeScaling yarn{.factor = m.rope_factor, .original_max_positions = m.original_seq_len};
  const bool gpt_oss = m.family == TitanFamily::GptOss;
  yarn.beta_fast = gpt_oss ? m.ntk_beta : m.beta_fast;
  yarn.beta_slow = gpt_oss ? m.ntk_alpha : m.beta_slow;
  yarn.whole_bounds = !gpt_oss;
  yarn.cos_sin_factor = gpt_oss ? 0.1 * std::log(m.rope_factor) + 1 : 1;
  rope.yarn = yarn;
  return rope;
}

void set_latent_attention(const TitanModel& m, int64_t sequence_length, spec::Attention& a) {
  a.latent = spec::LatentAttention{.q_lora_rank = m.q_lora_rank,
                                   .kv_lora_rank = m.kv_lora_rank,
                                   .nope_head_dim = m.qk_nope_head_dim,
                                   .rope_head_dim = m.qk_rope_head_dim,
                                   .v_head_dim = m.v_head_dim,
                                   .norm_latents = true,
                                   .latent_norm_eps = m.norm_eps};
  a.head_dim = m.qk_nope_head_dim + m.qk_rope_head_dim;
  a.softmax_scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  if (!has_yarn(m, sequence_length)) return;
  const double magnitude = 0.1 * m.mscale * std::log(m.rope_factor) + 1;
  a.softmax_scale *= magnitude * magnitude;
}

spec::Attention attention(const TitanModel& m, int64_t id, int64_t sequence_length) {
  spec::Attention a;
  a.num_heads = m.n_heads;
  a.num_kv_heads = m.n_kv_heads.value_or(m.n_heads);
  a.head_dim = is_llama(m) ? m.dim / std::max<int64_t>(1, m.n_heads) : m.head_dim;
  a.softmax_scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, a.head_dim)));
  a.rope = rope(m, sequence_length);
  if (m.family == TitanFamily::DeepSeekV3) set_latent_attention(m, sequence_length, a);
  if (m.family == TitanFamily::Qwen3 && m.qk_norm) a.qk_norm = spec::QkNorm{.norm = norm(m)};
  if (m.every_n_layers_nope && *m.every_n_layers_nope > 1) {
    if (id % *m.every_n_layers_nope == 0)
      a.rope.reset();
    else if (m.attn_type == "flex")
      a.chunk_size = m.fixed_attn_block_size;
  }
  if (m.family == TitanFamily::GptOss) {
    a.qkv_bias = a.out_bias = true;
    a.sink = spec::Sink::Learned;
    if (id % 2 == 0) a.window_keys = m.sliding_window_size;
  }
  return a;
}

spec::Router router(const TitanModel& m, bool forced_balance) {
  spec::Router r;
  r.score = m.score_func == "softmax" ? spec::RouterScore::Softmax : spec::RouterScore::Sigmoid;
  r.normalise_over_all = true;
  r.renormalise = m.route_norm;
  r.scale = m.route_scale;
  r.bias = m.gate_bias;
  if (m.num_expert_groups)
    r.groups = spec::GroupLimit{
        .num_groups = *m.num_expert_groups, .top_groups = m.num_limited_groups.value_or(1), .sum_of = 2};
  // qwen3 is built with the optimizer that never moves the bias, so it stays zero.
  if (m.load_balance_coeff && m.family != TitanFamily::Qwen3)
    r.expert_bias = spec::ExpertBias{.update_rate = *m.load_balance_coeff, .centred = true};
  r.weight_on_input = m.score_before_experts;
  if (forced_balance && m.family != TitanFamily::GptOss) r.forced_balance = spec::ForcedBalance::RoundRobin;
  return r;
}

spec::Mlp expert(const TitanModel& m) {
  spec::Mlp mlp{.ffn_size = expert_ffn_size(m)};
  if (m.family != TitanFamily::GptOss) return mlp;
  mlp.activation = spec::Activation::QuickGelu;
  mlp.bias = true;
  mlp.clamp = m.swiglu_limit;
  mlp.up_offset = 1;
  return mlp;
}

spec::LayerInit layer_init(const TitanModel& m, int64_t id) {
  const bool by_depth = m.depth_init || m.family == TitanFamily::DeepSeekV3 || m.family == TitanFamily::GptOss;
  const double depth = static_cast<double>(by_depth ? id + 1 : m.n_layers);
  const double outward = kLayerStd / std::sqrt(2 * depth);
  spec::LayerInit init{.attention_out_std = outward,
                       .mlp_up_std = outward,  // upstream's w3 starts like w2
                       .mlp_down_std = outward,
                       .router_std = outward};
  if (m.family == TitanFamily::GptOss) init.qkv_std = init.mlp_gate_std = init.bias_std = init.sink_std = outward;
  return init;
}

spec::LayerSpec layer(const TitanModel& m, int64_t id, int64_t sequence_length, bool forced_balance) {
  spec::LayerSpec layer;
  layer.input_norm = layer.post_attention_norm = norm(m);
  layer.attention = attention(m, id, sequence_length);
  layer.mlp.ffn_size = dense_ffn_size(m);
  layer.init = layer_init(m, id);
  if (!is_moe_layer(m, id)) return layer;
  spec::Moe moe;
  moe.num_experts = m.num_experts;
  moe.top_k = m.top_k;
  moe.expert = expert(m);
  moe.shared_ffn_size = expert_ffn_size(m) * m.num_shared_experts;
  moe.router = router(m, forced_balance);
  layer.moe = moe;
  return layer;
}

template <class T>
void override_argument(Translation& t, const TitanArgument& argument, T& member) {
  if constexpr (std::is_same_v<T, int64_t>) {
    member = t.keys.maybe_integer(argument.key).value_or(member);
  } else if constexpr (std::is_same_v<T, double>) {
    member = t.keys.maybe_number(argument.key).value_or(member);
  } else if constexpr (std::is_same_v<T, bool>) {
    member = t.keys.maybe_flag(argument.key).value_or(member);
  } else if constexpr (std::is_same_v<T, std::string>) {
    member = t.keys.maybe_text(argument.key).value_or(member);
  } else {
    if constexpr (std::is_same_v<T, std::optional<int64_t>>)
      member = t.keys.maybe_integer(argument.key).has_value() ? t.keys.maybe_integer(argument.key) : member;
    else
      member = t.keys.maybe_number(argument.key).has_value() ? t.keys.maybe_number(argument.key) : member;
    const config::Value* value = find_value(t.keys.module().params, argument.key);
    if (value != nullptr && value->is_null()) member.reset();  // upstream's None
  }
}

// The names of a family's arguments without "model.", for the error about one that it lacks.
std::string arguments_of(std::string_view family) {
  std::vector<std::string> names;
  for (const TitanArgument& argument : titan_arguments())
    if (has_argument(argument, family)) names.emplace_back(argument.key.substr(6));
  return join(names, ", ");
}

void apply_overrides(Translation& t, const std::string& family, TitanModel& model) {
  const TitanModel flavor = model;
  std::string_view moe_key;
  bool is_moe_given = false;
  for (const TitanArgument& argument : titan_arguments()) {
    TitanModel unread = model;
    const bool known = has_argument(argument, family);
    TitanModel& target = known ? model : unread;  // taken all the same: every key is read once
    std::visit([&](auto member) { override_argument(t, argument, target.*member); }, argument.member);
    if (!t.keys.is_given(argument.key)) continue;
    if (!known)
      t.error(argument.key, family + " has no argument '" + std::string(argument.key.substr(6)) + "'",
              arguments_of(family));
    if (argument.key.starts_with("model.rope_scaling_args.")) model.has_rope_scaling = true;
    if (argument.key.starts_with("model.moe_args.")) is_moe_given = true, moe_key = argument.key;
  }
  // Upstream builds the whole of moe_args anew from the given keys, so that the flavor's other values are lost there.
  if (is_moe_given && (flavor.score_func != "sigmoid" || flavor.top_k != 1 || flavor.num_shared_experts != 1))
    t.warning(
        moe_key,
        "the flavor's other moe_args are kept here; upstream gives every one that is not written its class default",
        "write all of moe_args where the run must mean the same upstream");
}

}  // namespace

std::optional<TitanModel> titan_selected_model(Translation& t) {
  const std::string flavor = t.keys.text("model.flavor");
  std::string name = t.keys.text("model.name");
  const config::Value* written = find_value(t.keys.module().params, "model.name");
  if (written != nullptr && written->is_string()) name = written->as_string();
  const std::optional<TitanFamily> family = titan_family(name);
  std::optional<TitanModel> model = family ? titan_model(*family, flavor) : std::nullopt;
  TitanModel placeholder;
  apply_overrides(t, family ? name : "llama3", model ? *model : placeholder);
  if (family && !model)
    t.error("model.flavor", "TorchTitan v0.2.2 has no flavor '" + flavor + "' of " + name,
            join(titan_flavors(*family), ", "),
            "take a flavor that exists and set its sizes: model.n_layers, model.dim, model.n_heads, ...");
  return model;
}

void titan_expand_model(Translation& t, const TitanModel& m) {
  spec::Model& model = t.run.model;
  const int64_t length = t.run.data.sequence_length;
  const bool forced_balance = t.keys.flag("debug.moe_force_load_balance");
  model.hidden_size = m.dim;
  model.vocab_size = model.padded_vocab_size = m.vocab_size;
  model.vocab_divisor = 1;
  model.max_positions = length;  // as upstream does at the start
  model.tied_embeddings = m.family == TitanFamily::Qwen3 && m.enable_weight_tying;
  model.final_norm = norm(m);
  if (m.family == TitanFamily::DeepSeekV3) model.final_norm.eps = kFloatEpsilon;
  model.flops_formula = spec::FlopsFormula::TorchTitan;
  for (int64_t id = 0; id < m.n_layers; ++id) model.layers.push_back(layer(m, id, length, forced_balance));
  spec::Init& init = model.init;
  init.std = kLayerStd;
  init.embedding_std = 1;
  init.layer_cut = 2;
  init.head_std = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, m.dim)));
  init.head_cut = 3 * init.head_std;
  t.run.data.reset_attention_mask = m.attn_type != "sdpa" && m.attn_mask_type == "block_causal";
  if (forced_balance && m.family == TitanFamily::GptOss)
    t.warning("debug.moe_force_load_balance",
              "upstream does not pass this key on to gpt_oss: the router chooses freely", "drop the key");
}

}  // namespace primus::dialect
