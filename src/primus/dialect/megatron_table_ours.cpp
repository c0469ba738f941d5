// Table data: additions of this project, so that every published architecture has a file of this dialect. Upstream
// knows none of these keys: a run that sets one cannot be exported.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr Parameter kOursRows[] = {
    // ------------------------------------------------------------------------------------------------ rotation
    honoured("llama3_rope_factor", kFloat, "8.0", "Factor of use_rope_scaling (upstream: always 8).", "rope.llama3")
        .of_ours()
        .at_least(1),
    honoured("llama3_rope_low_freq_factor", kFloat, "1.0", "Its low band (upstream: always 1).", "rope.llama3")
        .of_ours(),
    honoured("llama3_rope_high_freq_factor", kFloat, "4.0", "Its high band (upstream: always 4).", "rope.llama3")
        .of_ours(),
    honoured("llama3_rope_original_max_positions", kInt, "8192",
             "Positions before the extension (upstream: always so).", "rope.llama3")
        .of_ours()
        .at_least(1)
        .in_unit("tokens"),
    honoured("rope_position_divisor", kFloat, "1.0", "Linear scaling: positions are divided by it.",
             "model.layers.attention.rope.yarn")
        .of_ours()
        .at_least(1),
    honoured("yarn_rotary_scaling_factor", kFloat, "1.0", "YaRN without latent attention: factor.",
             "model.layers.attention.rope.yarn")
        .of_ours()
        .at_least(1),
    honoured("yarn_original_max_position_embeddings", kInt, "4096", "YaRN: positions before the extension.",
             "model.layers.attention.rope.yarn.original_max_positions")
        .of_ours()
        .at_least(1)
        .in_unit("tokens"),
    honoured("yarn_beta_fast", kFloat, "32.0", "YaRN: fast bound.", "model.layers.attention.rope.yarn.beta_fast")
        .of_ours(),
    honoured("yarn_beta_slow", kFloat, "1.0", "YaRN: slow bound.", "model.layers.attention.rope.yarn.beta_slow")
        .of_ours(),
    honoured("yarn_mscale", kMaybeFloat, "null", "YaRN: magnitude; null: 1, with 0.1 ln(factor) + 1.",
             "model.layers.attention.rope.yarn.cos_sin_factor")
        .of_ours(),
    honoured("yarn_mscale_all_dim", kMaybeFloat, "null", "YaRN: what that magnitude is divided by.",
             "model.layers.attention.rope.yarn.cos_sin_factor")
        .of_ours(),
    honoured("yarn_correction_range_round_to_int", kBool, "true", "YaRN: the ends of the ramp are whole numbers.",
             "model.layers.attention.rope.yarn.whole_bounds")
        .of_ours(),
    // ------------------------------------------------------------------------------------------------ attention
    honoured("add_attention_output_bias", kBool, "false", "A bias on the attention's output projection alone.",
             "attention.out_bias")
        .of_ours(),
    honoured("attention_logit_soft_cap", kMaybeFloat, "null", "Attention scores become cap x tanh(scores / cap).",
             "model.layers.attention.logit_soft_cap")
        .of_ours()
        .at_least(0),
    honoured("qk_norm_after_rope", kBool, "false",
             "Query and key norms behind the rotation, in layers with rotation only (Llama 4).",
             "model.layers.attention.qk_norm")
        .of_ours(),
    honoured("qk_norm_scope", kText, "head", "What a query or key norm spans: a head, or all heads (OLMo 2).",
             "model.layers.attention.qk_norm")
        .of_ours()
        .in("head|projection"),
    honoured("attention_chunk_size", kMaybeInt, "null",
             "Layers with rotation attend inside chunks of so many tokens (Llama 4).",
             "model.layers.attention.chunk_size")
        .of_ours()
        .at_least(1)
        .in_unit("tokens"),
    honoured("attention_temperature_scale", kMaybeFloat, "null",
             "Queries of layers without rotation grow: 1 + scale ln(1 + floor((position + 1) / floor scale)).",
             "model.layers.attention.temperature")
        .of_ours(),
    honoured("attention_temperature_floor_scale", kFloat, "8192.0", "Its floor scale.",
             "model.layers.attention.temperature")
        .of_ours()
        .at_least(1)
        .in_unit("tokens"),
    honoured("attention_temperature_log_length", kMaybeInt, "null",
             "Capped scores of queries behind this position grow: ln(position) / ln(length), in all layers (Grok 2).",
             "model.layers.attention.temperature")
        .of_ours()
        .at_least(2)
        .in_unit("tokens"),
    honoured("latent_norm_epsilon", kMaybeFloat, "null", "Epsilon of the latents' norms; null: layernorm_epsilon.",
             "model.layers.attention.latent")
        .of_ours()
        .at_least(0),
    // ------------------------------------------------------------------------------------------------ norms, MLP
    honoured("sublayer_output_norms", kMaybeText, "null",
             "Norms on the outputs of attention and MLP: also (Grok, GLM 4, Gemma 2), or only there (OLMo 2).",
             "model.layers.mlp_output_norm")
        .of_ours()
        .in("also|only"),
    honoured("geglu", kMaybeText, "null", "Gated MLP with GELU: its erf or its tanh form.", "mlp.activation mlp.gated")
        .of_ours()
        .in("erf|tanh"),
    honoured("add_mlp_bias", kBool, "false", "Biases on the MLP alone.", "mlp.bias").of_ours(),
    honoured("linear_output_norm_zero_centered", kMaybeBool, "null",
             "The norm of a gated delta net multiplies by 1 + weight; null: as the other norms.",
             "model.layers.gated_delta.output_norm.zero_centered_gain")
        .of_ours(),
    honoured("moe_router_sum_floor", kFloat, "1e-20",
             "Added to the sum by which the weights of a token's experts are divided (upstream: always so).",
             "model.layers.moe.router.sum_floor")
        .of_ours()
        .at_least(0),
    honoured("moe_router_bias", kBool, "false", "The router is a linear layer with a bias (GPT-OSS).",
             "model.layers.moe.router.bias")
        .of_ours()
        .under("num_experts"),
    honoured("moe_output_multiplier", kFloat, "1.0",
             "The sum of experts and shared expert is multiplied by it (Grok 2: 1 / sqrt 2).",
             "model.layers.moe.output_multiplier")
        .of_ours()
        .under("num_experts"),
    honoured("moe_router_group_score", kMaybeText, "null",
             "Score of a group: its two best added, or its best; null: its best top-k over groups added.",
             "model.layers.moe.router.groups")
        .of_ours()
        .in("top2|max")
        .under("num_experts"),
    // ------------------------------------------------------------------------------------------------ embedding and
    // head
    honoured("embedding_multiplier", kFloat, "1.0", "Embeddings are multiplied by it (Grok, Gemma).",
             "model.embedding_multiplier")
        .of_ours(),
    honoured("logit_multiplier", kFloat, "1.0", "Logits are multiplied by it (Grok).", "model.logit_multiplier")
        .of_ours(),
    honoured("padding_id", kMaybeInt, "null", "Its row of the embedding is never trained.", "model.padding_id")
        .of_ours()
        .at_least(0),
};

}  // namespace

std::span<const Parameter> megatron_our_rows() {
  return kOursRows;
}

}  // namespace primus::dialect
