// Which `model.<argument>` belongs to which family, and what it sets.
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/torchtitan_flavors.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kAll = "llama3|llama4|deepseek_v3|qwen3|gpt_oss";
constexpr std::string_view kLlamas = "llama3|llama4", kDeepSeek = "deepseek_v3", kQwen = "qwen3", kGptOss = "gpt_oss";
constexpr std::string_view kMoe = "llama4|deepseek_v3|qwen3|gpt_oss";
using M = TitanModel;

constexpr TitanArgument kArguments[] = {
    {"model.dim", kAll, &M::dim},
    {"model.n_layers", kAll, &M::n_layers},
    {"model.n_heads", kAll, &M::n_heads},
    {"model.n_kv_heads", "llama3|llama4|qwen3|gpt_oss", &M::n_kv_heads},
    {"model.head_dim", "qwen3|gpt_oss", &M::head_dim},
    {"model.vocab_size", kAll, &M::vocab_size},
    {"model.norm_eps", kAll, &M::norm_eps},
    {"model.rope_theta", kAll, &M::rope_theta},
    {"model.attn_type", kAll, &M::attn_type},
    {"model.attn_mask_type", kAll, &M::attn_mask_type},
    {"model.depth_init", "llama3|llama4|qwen3", &M::depth_init},
    {"model.multiple_of", kLlamas, &M::multiple_of},
    {"model.ffn_dim_multiplier", kLlamas, &M::ffn_dim_multiplier},
    {"model.rope_scaling_args.scaling_factor", kLlamas, &M::scaling_factor},
    {"model.rope_scaling_args.low_freq_factor", kLlamas, &M::low_freq_factor},
    {"model.rope_scaling_args.high_freq_factor", kLlamas, &M::high_freq_factor},
    {"model.rope_scaling_args.original_max_position_embeddings", kLlamas, &M::original_max_position_embeddings},
    {"model.every_n_layers_nope", "llama4", &M::every_n_layers_nope},
    {"model.fixed_attn_block_size", "llama4", &M::fixed_attn_block_size},
    {"model.interleave_moe_layer_step", "llama4", &M::interleave_moe_layer_step},
    {"model.auto_scale_hidden_dim", "llama4", &M::auto_scale_hidden_dim},
    {"model.hidden_dim", kQwen, &M::hidden_dim},
    {"model.qk_norm", kQwen, &M::qk_norm},
    {"model.enable_weight_tying", kQwen, &M::enable_weight_tying},
    {"model.moe_enabled", kQwen, &M::moe_enabled},
    {"model.moe_inter_dim", "deepseek_v3|qwen3|gpt_oss", &M::moe_inter_dim},
    {"model.inter_dim", kDeepSeek, &M::inter_dim},
    {"model.n_dense_layers", kDeepSeek, &M::n_dense_layers},
    {"model.q_lora_rank", kDeepSeek, &M::q_lora_rank},
    {"model.kv_lora_rank", kDeepSeek, &M::kv_lora_rank},
    {"model.qk_nope_head_dim", kDeepSeek, &M::qk_nope_head_dim},
    {"model.qk_rope_head_dim", kDeepSeek, &M::qk_rope_head_dim},
    {"model.v_head_dim", kDeepSeek, &M::v_head_dim},
    {"model.original_seq_len", "deepseek_v3|gpt_oss", &M::original_seq_len},
    {"model.rope_factor", "deepseek_v3|gpt_oss", &M::rope_factor},
    {"model.beta_fast", kDeepSeek, &M::beta_fast},
    {"model.beta_slow", kDeepSeek, &M::beta_slow},
    {"model.mscale", kDeepSeek, &M::mscale},
    {"model.swiglu_limit", kGptOss, &M::swiglu_limit},
    {"model.sliding_window_size", kGptOss, &M::sliding_window_size},
    {"model.ntk_alpha", kGptOss, &M::ntk_alpha},
    {"model.ntk_beta", kGptOss, &M::ntk_beta},
    {"model.moe_args.num_experts", kMoe, &M::num_experts},
    {"model.moe_args.num_shared_experts", kMoe, &M::num_shared_experts},
    {"model.moe_args.top_k", kMoe, &M::top_k},
    {"model.moe_args.score_func", kMoe, &M::score_func},
    {"model.moe_args.route_norm", kMoe, &M::route_norm},
    {"model.moe_args.route_scale", kMoe, &M::route_scale},
    {"model.moe_args.gate_bias", kMoe, &M::gate_bias},
    {"model.moe_args.score_before_experts", kMoe, &M::score_before_experts},
    {"model.moe_args.num_expert_groups", kMoe, &M::num_expert_groups},
    {"model.moe_args.num_limited_groups", kMoe, &M::num_limited_groups},
    {"model.moe_args.load_balance_coeff", kMoe, &M::load_balance_coeff},
};

}  // namespace

std::span<const TitanArgument> titan_arguments() {
  return kArguments;
}

bool has_argument(const TitanArgument& argument, std::string_view family_name) {
  const std::vector<std::string> families = split(argument.families, '|');
  const std::string name = family_name == "llama3_ft" ? "llama3" : std::string(family_name);
  return std::find(families.begin(), families.end(), name) != families.end();
}

}  // namespace primus::dialect
