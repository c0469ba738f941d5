// The provider's fields as a model, layer by layer. Sources: Megatron-Bridge 0.3.0 (gpt_provider, llama and qwen
// providers), Megatron-LM d3528a21 (transformer config).
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/bridge_config.h"
#include "primus/dialect/mamba_stack.h"

namespace primus::dialect {

namespace {

using spec::Activation;

Activation activation(const std::string& word) {
  if (word == "silu") return Activation::Silu;
  if (word == "quick_gelu") return Activation::QuickGelu;
  if (word == "squared_relu") return Activation::SquaredRelu;
  if (word == "gelu_tanh") return Activation::GeluTanh;
  return Activation::Gelu;
}

spec::Mlp mlp(BridgeConfig& config, int64_t hidden, bool bias) {
  spec::Mlp mlp;
  mlp.ffn_size = config.maybe_integer("model.ffn_hidden_size").value_or(4 * hidden);
  mlp.gated = config.flag("model.gated_linear_unit");
  mlp.activation = activation(config.text("model.activation_func"));
  mlp.bias = bias;
  mlp.clamp = config.number("model.activation_func_clamp_value");
  mlp.up_offset = config.number("model.glu_linear_offset");
  return mlp;
}

std::optional<spec::Rope> rope(BridgeConfig& config) {
  spec::Rope rope;
  rope.base = config.number("model.rotary_base");
  rope.fraction = config.number("model.rotary_percent");
  rope.interleaved = config.flag("model.rotary_interleaved");
  rope.position_divisor = config.maybe_number("model.seq_len_interpolation_factor").value_or(1);
  // Factor from the model; the three others are the class's whatever config.json says.
  const auto factor = config.maybe_number("model.scale_factor");
  spec::Llama3RopeScaling scaling;
  scaling.low_freq_factor = config.number("model.low_freq_factor");
  scaling.high_freq_factor = config.number("model.high_freq_factor");
  scaling.original_max_positions = config.integer("model.old_context_len");
  if (factor) {
    scaling.factor = *factor;
    rope.llama3 = scaling;
  }
  const std::string kind = config.text("model.position_embedding_type");
  return kind == "rope" || kind == "yarn" ? std::optional(rope) : std::nullopt;
}

double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

void latent_attention(BridgeConfig& config, spec::Attention& a, double eps) {
  spec::LatentAttention latent;
  latent.q_lora_rank = config.integer("model.q_lora_rank");
  latent.kv_lora_rank = config.integer("model.kv_lora_rank");
  latent.nope_head_dim = config.integer("model.qk_head_dim");
  latent.rope_head_dim = config.integer("model.qk_pos_emb_head_dim");
  latent.v_head_dim = config.integer("model.v_head_dim");
  latent.latent_norm_eps = eps;
  spec::YarnRopeScaling yarn;
  yarn.factor = config.number("model.rotary_scaling_factor");
  yarn.original_max_positions = config.integer("model.original_max_position_embeddings");
  yarn.beta_fast = config.number("model.beta_fast");
  yarn.beta_slow = config.number("model.beta_slow");
  const double all = yarn_magnitude(yarn.factor, config.number("model.mscale_all_dim"));
  yarn.cos_sin_factor = yarn_magnitude(yarn.factor, config.number("model.mscale")) / all;
  if (!config.flag("model.multi_latent_attention")) return;
  a.latent = latent;
  const auto width = static_cast<double>(std::max<int64_t>(1, latent.nope_head_dim + latent.rope_head_dim));
  a.softmax_scale = all * all / std::sqrt(width);
  spec::Rope positions;
  positions.base = config.number("model.rotary_base");
  if (yarn.factor > 1) positions.yarn = yarn;
  a.rope = positions;  // rotates rope_head_dim only
}

spec::Attention attention(Translation& t, BridgeConfig& config, int64_t hidden, bool bias, const spec::Norm& norm) {
  spec::Attention a;
  a.num_heads = std::max<int64_t>(1, config.integer("model.num_attention_heads"));
  a.num_kv_heads = config.maybe_integer("model.num_query_groups").value_or(a.num_heads);
  const auto head = config.maybe_integer("model.kv_channels");
  const bool divides = hidden >= a.num_heads && hidden % a.num_heads == 0;
  a.head_dim = head.value_or(divides ? hidden / a.num_heads : 2);
  const bool mla = config.flag("model.multi_latent_attention");
  if (!head && !divides && !mla)
    t.error("model.num_attention_heads",
            "a hidden size of " + std::to_string(hidden) + " cannot be shared out over " + std::to_string(a.num_heads) +
                " heads",
            "a divisor of the hidden size");
  const bool qkv_bias = config.flag("model.add_qkv_bias");
  a.qkv_bias = bias || qkv_bias;
  a.out_bias = bias;
  const auto scale = config.maybe_number("model.softmax_scale");
  a.softmax_scale = scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim)));
  a.dropout = config.number("model.attention_dropout");
  a.rope = rope(config);
  const bool normed = config.flag("model.qk_layernorm"), plain = config.flag("model.qk_l2_norm");
  if ((normed || plain) && !mla) a.qk_norm = spec::QkNorm{norm, normed, spec::QkNormScope::PerHead, false};
  const std::string sink = config.text("model.softmax_type");
  a.sink = sink == "learnable" ? spec::Sink::Learned : sink == "off-by-one" ? spec::Sink::Zero : spec::Sink::None;
  a.output_gate = config.flag("model.attention_output_gate");
  latent_attention(config, a, norm.eps);
  return a;
}

spec::Router router(BridgeConfig& config, int64_t top_k) {
  spec::Router r;
  const bool sigmoid = config.text("model.moe_router_score_function") == "sigmoid";
  const bool pre = config.flag("model.moe_router_pre_softmax");
  r.score = sigmoid ? spec::RouterScore::Sigmoid : spec::RouterScore::Softmax;
  r.normalise_over_all = !sigmoid && pre;
  r.renormalise = sigmoid && top_k > 1;
  r.scale = config.maybe_number("model.moe_router_topk_scaling_factor").value_or(1);
  const auto groups = config.maybe_integer("model.moe_router_num_groups");
  const auto chosen = config.maybe_integer("model.moe_router_group_topk");
  if (groups && chosen && *chosen > 0)
    r.groups = spec::GroupLimit{*groups, *chosen, spec::GroupScore::SumOfTop, std::max<int64_t>(1, top_k / *chosen)};
  const double rate = config.number("model.moe_router_bias_update_rate");
  if (config.flag("model.moe_router_enable_expert_bias")) r.expert_bias = spec::ExpertBias{rate, false};
  const std::string balance = config.text("model.moe_router_load_balancing_type");
  const double coefficient = config.number("model.moe_aux_loss_coeff");
  r.sinkhorn = balance == "sinkhorn";
  if (coefficient != 0 && balance.ends_with("aux_loss")) {
    const auto scope = balance == "seq_aux_loss"      ? spec::BalanceScope::Sequence
                       : balance == "global_aux_loss" ? spec::BalanceScope::GlobalBatch
                                                      : spec::BalanceScope::MicroBatch;
    r.balance_losses.push_back({scope, coefficient});
  }
  r.z_loss = config.number("model.moe_z_loss_coeff");
  r.input_jitter = config.number("model.moe_input_jitter_eps");
  const std::string dtype = config.text("model.moe_router_dtype");
  r.dtype = dtype == "fp32"   ? spec::RouterDtype::Float32
            : dtype == "fp64" ? spec::RouterDtype::Float64
                              : spec::RouterDtype::Model;
  if (config.flag("model.moe_router_force_load_balancing")) r.forced_balance = spec::ForcedBalance::Random;
  r.weight_on_input = config.flag("model.moe_apply_probs_on_input");
  return r;
}

std::optional<spec::Moe> moe(BridgeConfig& config, const spec::Mlp& dense) {
  spec::Moe moe;
  moe.num_experts = config.integer("model.num_moe_experts");
  moe.top_k = config.integer("model.moe_router_topk");
  moe.expert = dense;
  moe.expert.ffn_size = config.maybe_integer("model.moe_ffn_hidden_size").value_or(dense.ffn_size);
  moe.shared_ffn_size = config.integer("model.moe_shared_expert_intermediate_size");
  moe.shared_gate = config.flag("model.moe_shared_expert_gate");
  moe.router = router(config, moe.top_k);
  const auto capacity = config.maybe_number("model.moe_expert_capacity_factor");
  const bool pad = config.flag("model.moe_pad_expert_input_to_capacity");
  const bool by_position = config.text("model.moe_token_drop_policy") == "position";
  if (capacity && *capacity >= 0)
    moe.capacity = spec::Capacity{*capacity, pad,
                                  by_position ? spec::DropPolicy::LastPosition : spec::DropPolicy::LowestProbability};
  return moe.num_experts > 0 ? std::optional(moe) : std::nullopt;
}

// A period N means every N-th layer from the first; a list says it layer by layer, and repeats.
std::vector<bool> pattern(const std::string& text, size_t layers) {
  std::vector<bool> on(layers, true);
  if (const auto period = parse_int(text)) {
    for (size_t i = 0; i < layers; ++i) on[i] = *period > 0 && static_cast<int64_t>(i) % *period == 0;
    return on;
  }
  std::vector<bool> given;
  for (const char c : text)
    if (c == '0' || c == '1') given.push_back(c == '1');
  for (size_t i = 0; i < layers && !given.empty(); ++i) on[i] = given[i % given.size()];
  return on;
}

void vary_layers(BridgeConfig& config, spec::Model& model, const std::optional<spec::Moe>& experts) {
  const size_t layers = model.layers.size();
  const std::vector<bool> has_experts = pattern(config.text("model.moe_layer_freq"), layers);
  const std::vector<int64_t> window = config.integers("model.window_size");
  const auto skip = config.maybe_text("model.window_attn_skip_freq");
  const auto no_rope = config.maybe_text("model.no_rope_freq");
  const auto skip_period = skip ? parse_int(*skip) : std::nullopt;
  const auto rope_period = no_rope ? parse_int(*no_rope) : std::nullopt;
  for (size_t i = 0; i < layers; ++i) {
    spec::LayerSpec& layer = model.layers[i];
    const auto number = static_cast<int64_t>(i) + 1;
    if (experts && has_experts[i]) layer.moe = experts;
    // (w, 0) shows w earlier tokens and the token itself; with a period N every N-th layer sees everything.
    const bool sees_all = skip_period && *skip_period > 0 && number % *skip_period == 0;
    if (window.size() == 2 && !sees_all) layer.attention.window_keys = window[0] + 1;
    if (rope_period && *rope_period > 0 && number % *rope_period == 0) layer.attention.rope.reset();
  }
}

// Positions are "none" in the providers of Mamba stacks alone.
void mamba_layers(Translation& t, BridgeConfig& config) {
  MambaStack stack{.prefix = "model."};
  stack.head_dim = config.integer("model.mamba_head_dim");
  stack.state_dim = config.integer("model.mamba_state_dim");
  stack.num_groups = config.integer("model.mamba_num_groups");
  stack.num_heads = config.maybe_integer("model.mamba_num_heads");
  stack.attention_ratio = config.number("model.hybrid_attention_ratio");
  stack.mlp_ratio = config.number("model.hybrid_mlp_ratio");
  stack.pattern = config.maybe_text("model.hybrid_override_pattern");
  const bool mixed = stack.pattern || stack.attention_ratio > 0 || stack.mlp_ratio > 0;
  if (!mixed && config.text("model.position_embedding_type") != "none") return;
  if (!t.run.model.layers.front().attention.latent) return use_mamba_stack(t, stack);
  for (spec::LayerSpec& layer : t.run.model.layers) layer.other_mixer = "mamba among latent attention";  // zebra
}

void vocabulary(BridgeConfig& config, spec::Model& model, int64_t tensor_ranks) {
  model.vocab_divisor = config.integer("model.make_vocab_size_divisible_by");
  model.tied_embeddings = config.flag("model.share_embeddings_and_output_weights");
  const auto rows = config.maybe_integer("model.vocab_size");
  const bool pad = config.flag("model.should_pad_vocab");
  model.vocab_size = rows.value_or(0);
  if (!rows) return;  // the tokenizer decides
  // The model is built without padding unless it is asked for; what is reported is padded either way.
  (void)pad;
  model.padded_vocab_size = padded_vocab_size(*rows, model.vocab_divisor, tensor_ranks);
}

}  // namespace

void bridge_model(Translation& t, BridgeConfig& config) {
  spec::Model& model = t.run.model;
  model.flops_formula = spec::FlopsFormula::MegatronBridge;
  model.hidden_size = config.integer("model.hidden_size");
  model.max_positions = config.integer("model.seq_length");
  model.learned_positions = config.text("model.position_embedding_type") == "learned_absolute";
  model.fp32_residual = config.flag("model.fp32_residual_connection");

  spec::Norm norm;
  norm.kind = config.text("model.normalization") == "RMSNorm" ? spec::NormKind::RmsNorm : spec::NormKind::LayerNorm;
  norm.eps = config.number("model.layernorm_epsilon");
  norm.zero_centered_gain = config.flag("model.layernorm_zero_centered_gamma");

  const bool bias = config.flag("model.add_bias_linear");
  spec::LayerSpec layer;
  layer.input_norm = layer.post_attention_norm = model.final_norm = norm;
  layer.attention = attention(t, config, model.hidden_size, bias, norm);
  layer.mlp = mlp(config, model.hidden_size, bias);
  layer.hidden_dropout = model.embedding_dropout = config.number("model.hidden_dropout");
  const int64_t layers = t.limited_layers("model.num_layers", config.integer("model.num_layers"));
  model.layers.assign(static_cast<size_t>(std::max<int64_t>(1, layers)), layer);
  vary_layers(config, model, moe(config, layer.mlp));
  mamba_layers(t, config);

  const int64_t depth = config.integer("model.mtp_num_layers");
  const double weight = config.number("model.mtp_loss_scaling_factor");
  if (depth > 0) model.mtp = spec::MultiTokenPrediction{depth, weight};
  model.init.std = model.init.embedding_std = config.number("model.init_method_std");
  model.init.residual_output_std = model.init.std / std::sqrt(2.0 * static_cast<double>(model.layers.size()));
  vocabulary(config, model, t.run.parallel.tensor);
}

}  // namespace primus::dialect
