// Table data: keys of families whose layers are not attention alone: Mamba, hybrids, linear attention, LFM; and of
// families that are not built: DeepSeek-V4, Kimi K3.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kLinear = "linear attention";
constexpr std::string_view kV4 = "the DeepSeek-V4 model";
constexpr std::string_view kK3 = "the Kimi-K3 model";
constexpr std::string_view kType = "model_type";

constexpr Parameter kFamilyRows[] = {
    // ------------------------------------------------------------------------------------------------ state space,
    // hybrids
    honoured("mamba_state_dim", kInt, "128", "State per head.", "model.layers.mamba2.state_dim")
        .under(kType)
        .at_least(1),
    honoured("mamba_head_dim", kInt, "64", "Width of a head.", "model.layers.mamba2.head_dim").under(kType).at_least(1),
    honoured("mamba_num_groups", kInt, "8", "Groups of heads that share B and C.", "model.layers.mamba2.num_groups")
        .under(kType)
        .at_least(1),
    honoured("mamba_num_heads", kMaybeInt, "null", "Heads; null: twice the hidden size over the width of a head.",
             "model.layers.mamba2.num_heads")
        .under(kType)
        .at_least(1),
    no_effect("mamba_expand", kInt, "2", "Inner width factor.", kUnread),
    no_effect("mamba_d_conv", kInt, "4", "Length of the convolution.", kUnread),
    no_effect("disable_mamba_mem_eff_path", kBool, "false", "Another kernel.", kKernel),
    honoured("is_hybrid_model", kBool, "false", "Attention and state-space layers mixed; changes first weights too.",
             "model.layers.mamba2 init.residual_output_std")
        .under(kType),
    honoured("hybrid_attention_ratio", kFloat, "0.0", "Share of attention layers.",
             "model.layers.mamba2 model.layers.has_mixer model.layers.has_mlp")
        .under(kType),
    honoured("hybrid_mlp_ratio", kFloat, "0.0", "Share of MLP layers.",
             "model.layers.mamba2 model.layers.has_mixer model.layers.has_mlp")
        .under(kType),
    honoured("hybrid_override_pattern", kMaybeText, "null",
             "The layers, one letter each: M (Mamba), * (attention), - (MLP), E (experts).",
             "model.layers.mamba2 model.layers.has_mixer model.layers.has_mlp")
        .under(kType),
    no_effect("use_fla_fused_swiglu", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_fused_rmsnorm", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_fused_gated_norm", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_fused_norm_gated", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_short_conv", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_triton_kda", kMaybeBool, "null", "A kernel of fla.", kKernel),
    no_effect("use_fla_kda_in_kernel_gate", kMaybeBool, "null", "A kernel of fla.", kKernel),
    not_built("use_fla_data", kMaybeBool, "null", "Data as fla reads them.", "the data reader of fla").also("false"),
    not_built("fla_cache_dir", kMaybeText, "null", "Their folder.", "the data reader of fla").under("use_fla_data"),
    not_built("fla_mla_attn", kAny, "null", "Latent attention of fla.", kLinear).under(kType),
    no_effect("fused_ce_mode", kMaybeText, "null", "A cross entropy kernel.", kKernel),
    no_effect("fused_ce_chunks", kMaybeInt, "null", "A cross entropy kernel.", kKernel),
    // ------------------------------------------------------------------------------------------------ linear attention
    honoured("linear_attention_freq", kAny, "null",
             "Which layers have linear attention: all but every n-th, or a list with 1 for linear.",
             "model.layers.gated_delta model.layers.other_mixer"),
    honoured("linear_num_key_heads", kMaybeInt, "null", "Key heads.", "model.layers.gated_delta.num_key_heads")
        .under("linear_attention_freq")
        .at_least(1),
    honoured("linear_num_value_heads", kMaybeInt, "null", "Value heads.", "model.layers.gated_delta.num_value_heads")
        .under("linear_attention_freq")
        .at_least(1),
    honoured("linear_key_head_dim", kMaybeInt, "null", "Width of a key head.", "model.layers.gated_delta.key_head_dim")
        .under("linear_attention_freq")
        .at_least(1),
    honoured("linear_value_head_dim", kMaybeInt, "null", "Width of a value head.",
             "model.layers.gated_delta.value_head_dim")
        .under("linear_attention_freq")
        .at_least(1),
    honoured("linear_conv_kernel_dim", kMaybeInt, "null", "Length of the convolution.",
             "model.layers.gated_delta.kernel_size")
        .under("linear_attention_freq")
        .at_least(1),
    not_built("use_short_conv", kBool, "false", "A short convolution before it.", kLinear)
        .under("linear_attention_freq"),
    not_built("kda_gate_lower_bound", kMaybeFloat, "null", "Bound on the gate.", kLinear)
        .under("linear_attention_freq"),
    not_built("kda_use_full_rank_gate", kBool, "false", "Kind of the gate.", kLinear).under("linear_attention_freq"),
    not_built("kda_chunk_size", kInt, "64", "Chunk of the scan.", kLinear).under("linear_attention_freq"),
    no_effect("kda_backend", kMaybeText, "null", "Kernel of the scan.", kKernel),
    // ------------------------------------------------------------------------------------------------ Kimi-K3
    not_built("attn_res_block_size", kMaybeInt, "null", "Layers per residual block.", kK3).under(kType),
    no_effect("use_kimi_k3_attention_backend", kMaybeText, "null", "Attention kernel.", kKernel),
    // ------------------------------------------------------------------------------------------------ DeepSeek-V4
    not_built("hc_mult", kInt, "1", "Residual streams.", kV4).under(kType),
    not_built("hc_sinkhorn_iters", kInt, "20", "Rounds of their mixing.", kV4).under(kType),
    not_built("hc_eps", kFloat, "1e-06", "Epsilon of their mixing.", kV4).under(kType),
    no_effect("hc_use_sinkhorn", kBool, "false", "Kind of their mixing.", kUnread),
    no_effect("hybrid_attention_enabled", kBool, "false", "Kinds of attention mixed.", kUnread),
    not_built("compress_ratios", kAny, "null", "Compression per layer.", kV4).under(kType),
    not_built("compress_rope_theta", kMaybeFloat, "null", "Rotation base of compressed keys.", kV4).under(kType),
    not_built("index_topk", kMaybeInt, "null", "Keys kept by the indexer.", kV4).under(kType),
    not_built("index_head_dim", kMaybeInt, "null", "Width of the indexer's head.", kV4).under(kType),
    not_built("index_n_heads", kMaybeInt, "null", "Heads of the indexer.", kV4).under(kType),
    not_built("attn_sliding_window", kMaybeInt, "null", "Attention window.", kV4).under(kType),
    not_built("attn_sink", kBool, "false", "Attention sinks.", kV4).under(kType),
    no_effect("use_v4_attention_backend", kMaybeText, "null", "Attention kernel.", kKernel),
    no_effect("use_v4_csa_attention_backend", kMaybeText, "null", "Attention kernel.", kKernel),
    not_built("use_v4_fp8_indexer", kBool, "false", "Indexer in fp8.", kV4).under(kType),
    not_built("v4_indexer_distill_loss_coeff", kFloat, "0.0", "Loss of the indexer.", kV4).under(kType),
    no_effect("use_v4_compiled_sinkhorn", kBool, "false", "Kernel of the mixing.", kKernel),
    not_built("o_groups", kMaybeInt, "null", "Groups of the output projection.", kV4).under(kType),
    not_built("o_lora_rank", kMaybeInt, "null", "Rank of the output projection.", kV4).under(kType),
    not_built("num_hash_layers", kMaybeInt, "null", "Layers routed by hash.", kV4).under(kType),
    no_effect("use_te_activation_func", kBool, "false", "Activation kernel.", kKernel),
    // ------------------------------------------------------------------------------------------------ LFM
    honoured("lfm_layer_types", kMaybeTexts, "null", "Kind of each layer.", "model.layers.short_conv")
        .in("conv|full_attention"),
    honoured("conv_L_cache", kInt, "3", "Length of the convolution.", "model.layers.short_conv.kernel_size")
        .under("lfm_layer_types")
        .at_least(1),
    honoured("conv_bias", kBool, "false", "Biases of the convolution and the projections around it.",
             "model.layers.short_conv.bias")
        .under("lfm_layer_types"),
};

}  // namespace

std::span<const Parameter> megatron_family_rows() {
  return kFamilyRows;
}

}  // namespace primus::dialect
