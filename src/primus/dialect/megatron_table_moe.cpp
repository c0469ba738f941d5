// Table data: mixture of experts, latent attention, multi-token prediction, Primus-Turbo.
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kMoe = "mixture of experts";
constexpr std::string_view kMla = "latent attention";
constexpr std::string_view kMtp = "multi-token prediction";
constexpr std::string_view kSwitch = "num_experts";

constexpr Parameter kRows[] = {
    // ------------------------------------------------------------------------------------------------ experts
    not_built("num_experts", kMaybeInt, "null", "Experts of an MoE layer.", kMoe).also("0"),
    not_built("moe_layer_freq", kAny, "1", "Which layers have experts: a period or a pattern.", kMoe).under(kSwitch),
    not_built("moe_ffn_hidden_size", kMaybeInt, "null", "Inner width of an expert.", kMoe).under(kSwitch),
    not_built("moe_shared_expert_intermediate_size", kMaybeInt, "null", "Inner width of the shared experts.", kMoe)
        .under(kSwitch),
    not_built("moe_shared_expert_gate", kBool, "false", "Gate on the shared expert.", kMoe).under(kSwitch),
    not_built("moe_shared_expert_overlap", kBool, "false", "Shared expert beside the dispatch.", kMoe).under(kSwitch),
    not_built("moe_router_topk", kInt, "2", "Experts per token.", kMoe).under(kSwitch),
    not_built("moe_router_score_function", kText, "softmax", "Score of the router.", kMoe).under(kSwitch),
    not_built("moe_router_pre_softmax", kBool, "false", "Softmax before the choice.", kMoe).under(kSwitch),
    not_built("moe_router_num_groups", kMaybeInt, "null", "Groups of experts.", kMoe).under(kSwitch),
    not_built("moe_router_group_topk", kMaybeInt, "null", "Groups chosen per token.", kMoe).under(kSwitch),
    not_built("moe_router_topk_limited_devices", kMaybeInt, "null", "Devices per token.", kMoe).under(kSwitch),
    not_built("moe_router_topk_scaling_factor", kMaybeFloat, "null", "Factor on the chosen scores.", kMoe)
        .under(kSwitch),
    not_built("moe_router_enable_expert_bias", kBool, "false", "Bias that balances the experts.", kMoe).under(kSwitch),
    not_built("moe_router_bias_update_rate", kFloat, "0.001", "Rate of that bias.", kMoe).under(kSwitch),
    not_built("moe_router_bias_update_rule", kMaybeText, "null", "Rule of that bias (kimi_k3).", kMoe).under(kSwitch),
    not_built("moe_router_load_balancing_type", kAny, "aux_loss", "How experts are balanced.", kMoe).under(kSwitch),
    not_built("moe_router_force_load_balancing", kBool, "false", "Tokens spread evenly whatever the router says.", kMoe)
        .under(kSwitch),
    not_built("moe_router_force_load_balancing_type", kText, "even", "How the forced spreading is done.", kMoe)
        .under(kSwitch),
    not_built("moe_router_dtype", kMaybeText, "null", "Precision of the router.", kMoe).under(kSwitch),
    not_built("moe_router_fusion", kBool, "false", "One kernel for the router.", kMoe).under(kSwitch),
    not_built("moe_router_padding_for_fp8", kBool, "false", "Token counts padded for fp8.", kMoe).under(kSwitch),
    not_built("moe_router_padding_for_quantization", kBool, "false", "Token counts padded for low precision.", kMoe)
        .under(kSwitch),
    not_built("router_logit_softcapping", kMaybeFloat, "null", "Cap on the router's logits.", kMoe).under(kSwitch),
    not_built("moe_aux_loss_coeff", kAny, "0.0", "Weight of the balancing loss.", kMoe).under(kSwitch),
    not_built("moe_z_loss_coeff", kMaybeFloat, "null", "Weight of the router's z-loss.", kMoe).under(kSwitch),
    not_built("moe_input_jitter_eps", kMaybeFloat, "null", "Noise on the router's input.", kMoe).under(kSwitch),
    not_built("moe_grouped_gemm", kBool, "false", "All experts of a rank in one product.", kMoe).under(kSwitch),
    not_built("moe_use_legacy_grouped_gemm", kBool, "false", "An older kernel for that.", kMoe).under(kSwitch),
    not_built("moe_permute_fusion", kBool, "false", "One kernel to sort tokens by expert.", kMoe).under(kSwitch),
    not_built("moe_token_dispatcher_type", kText, "allgather", "How tokens reach their experts.", kMoe).under(kSwitch),
    not_built("moe_flex_dispatcher_backend", kMaybeText, "deepep", "Library of the flex dispatcher.", kMoe)
        .under(kSwitch),
    not_built("moe_enable_deepep", kBool, "false", "The DeepEP dispatcher.", kMoe).under(kSwitch),
    not_built("moe_deepep_num_sms", kInt, "20", "Compute units of DeepEP.", kMoe).under(kSwitch),
    not_built("moe_hybridep_num_sms", kInt, "16", "Compute units of HybridEP.", kMoe).under(kSwitch),
    not_built("moe_per_layer_logging", kBool, "false", "Balancing losses per layer.", kMoe).under(kSwitch),
    not_built("moe_expert_capacity_factor", kMaybeFloat, "null", "Capacity of an expert.", kMoe).under(kSwitch),
    not_built("moe_pad_expert_input_to_capacity", kBool, "false", "Experts padded to capacity.", kMoe).under(kSwitch),
    not_built("moe_token_drop_policy", kText, "probs", "Which tokens are dropped.", kMoe).under(kSwitch),
    not_built("moe_token_dropping", kBool, "false", "Whether tokens are dropped.", kMoe).under(kSwitch),
    not_built("moe_apply_probs_on_input", kBool, "false", "Scores on the experts' input.", kMoe).under(kSwitch),
    not_built("moe_latent_size", kMaybeInt, "null", "Width of latent experts.", kMoe).under(kSwitch),
    not_built("moe_layer_recompute", kBool, "false", "MoE layers run again in backward.", kMoe).under(kSwitch),
    no_effect("moe_extended_tp", kBool, "false", "Experts cut over more ranks.", kUnread),
    not_built("moe_use_upcycling", kBool, "false", "Experts copied from a dense checkpoint.", kMoe).under(kSwitch),
    not_built("overlap_moe_expert_parallel_comm", kBool, "false", "Dispatch beside computation.", kMoe).under(kSwitch),
    not_built("use_deprecated_20241209_moe_layer", kBool, "false", "The plain MoE layer.", kMoe).under(kSwitch),
    not_built("disable_primus_topk_router", kBool, "false", "The plain router.", kMoe).under(kSwitch),
    no_effect("patch_moe_overlap", kBool, "false", "Looks like an overlap switch.", kUnread),
    not_built("expert_model_parallel_size", kInt, "1", "Ranks that share the experts.", "expert parallelism")
        .at_least(1),
    not_built("expert_tensor_parallel_size", kMaybeInt, "null", "Ranks that share one expert.", "expert parallelism")
        .also("1"),
    not_built("routed_expert_hidden_size", kMaybeInt, "null", "Width inside routed experts (kimi_k3).", kMoe)
        .under(kSwitch),
    not_built("latent_moe_use_norm", kBool, "false", "Norm in latent experts.", kMoe).under(kSwitch),
    not_built("v4_grouped_experts_support_clamped_swiglu", kBool, "false", "Clamped experts (DeepSeek-V4).", kMoe)
        .under(kSwitch),
    not_built("quantile_balancing_num_bins", kInt, "1024", "Balancing by quantiles: bins.", kMoe).under(kSwitch),
    not_built("quantile_balancing_margin_min", kFloat, "-1.0", "Balancing by quantiles: bound.", kMoe).under(kSwitch),
    not_built("quantile_balancing_margin_max", kFloat, "1.0", "Balancing by quantiles: bound.", kMoe).under(kSwitch),
    not_built("quantile_balancing_center_bias", kBool, "true", "Balancing by quantiles: centred.", kMoe).under(kSwitch),
    not_built("quantile_balancing_update_interval", kInt, "1", "Balancing by quantiles: steps.", kMoe).under(kSwitch),
    not_built("quantile_balancing_ema_decay", kMaybeFloat, "null", "Balancing by quantiles: memory.", kMoe)
        .under(kSwitch),
    // ------------------------------------------------------------------------------------------------ latent attention
    not_built("multi_latent_attention", kBool, "false", "Keys and values from a small latent.", kMla),
    not_built("q_lora_rank", kMaybeInt, "null", "Width of the query latent.", kMla).under("multi_latent_attention"),
    not_built("kv_lora_rank", kInt, "32", "Width of the key/value latent.", kMla).under("multi_latent_attention"),
    not_built("qk_head_dim", kInt, "128", "Unrotated width of a head.", kMla).under("multi_latent_attention"),
    not_built("qk_pos_emb_head_dim", kInt, "64", "Rotated width of a head.", kMla).under("multi_latent_attention"),
    not_built("v_head_dim", kInt, "128", "Width of a value head.", kMla).under("multi_latent_attention"),
    not_built("rotary_scaling_factor", kFloat, "1.0", "YaRN factor.", kMla).under("multi_latent_attention"),
    not_built("original_max_position_embeddings", kMaybeInt, "null", "YaRN: positions before the extension.", kMla)
        .under("multi_latent_attention"),
    not_built("beta_fast", kFloat, "32", "YaRN: fast bound.", kMla).under("multi_latent_attention"),
    not_built("beta_slow", kFloat, "1", "YaRN: slow bound.", kMla).under("multi_latent_attention"),
    not_built("mscale", kFloat, "1.0", "YaRN: magnitude.", kMla).under("multi_latent_attention"),
    not_built("mscale_all_dim", kFloat, "1.0", "YaRN: magnitude of scores.", kMla).under("multi_latent_attention"),
    not_built("mla_use_nope", kBool, "false", "Latent attention without rotation.", kMla)
        .under("multi_latent_attention"),
    not_built("mla_use_output_gate", kBool, "false", "Gate behind latent attention.", kMla)
        .under("multi_latent_attention"),
    no_effect("fused_padded_mla_attention", kBool, "false", "A latent attention kernel.", kUnread),
    // ------------------------------------------------------------------------------------------------ more tokens at
    // once
    not_built("mtp_num_layers", kMaybeInt, "null", "Depth of multi-token prediction.", kMtp).also("0"),
    not_built("mtp_loss_scaling_factor", kFloat, "0.1", "Weight of its loss.", kMtp).under("mtp_num_layers"),
    not_built("mtp_use_separate_hc_head", kBool, "false", "Its own head (DeepSeek-V4).", kMtp).under("mtp_num_layers"),
    not_built("mtp_layer_type", kMaybeText, "null", "Kind of its layer.", kMtp).under("mtp_num_layers"),
    not_built("num_nextn_predict_layers", kMaybeInt, "null", "Depth, in Hugging Face words.", kMtp).also("0"),
    // ------------------------------------------------------------------------------------------------ Primus-Turbo
    no_effect("enable_primus_turbo", kBool, "false", "AMD's kernel library.", kKernel),
    no_effect("use_turbo_attention", kBool, "false", "Attention kernel.", kKernel).requires_key("enable_primus_turbo"),
    no_effect("use_turbo_gemm", kBool, "false", "Product kernel.",
              "every product already goes through this engine's own GEMM door")
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_parallel_linear", kBool, "false", "Old name of use_turbo_gemm.",
              "every product already goes through this engine's own GEMM door")
        .requires_key("enable_primus_turbo")
        .use("use_turbo_gemm"),
    no_effect("use_turbo_grouped_gemm", kBool, "false", "Grouped product of experts.",
              "without experts there is no grouped product")
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_grouped_mlp", kBool, "false", "Old name of use_turbo_grouped_gemm.",
              "without experts there is no grouped product")
        .requires_key("enable_primus_turbo")
        .use("use_turbo_grouped_gemm"),
    no_effect("use_turbo_rms_norm", kBool, "false", "Norm kernel.", kKernel).requires_key("enable_primus_turbo"),
    no_effect("use_turbo_norm_te_linear", kBool, "false", "Norm and product in one kernel.", kKernel)
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_autotune", kBool, "false", "Kernels timed at start.", kKernel).under("enable_primus_turbo"),
    no_effect("turbo_gemm_backend", kText, "default", "Product library.", kKernel).under("enable_primus_turbo"),
    no_effect("turbo_grouped_gemm_backend", kText, "default", "Grouped product library.", kKernel)
        .under("enable_primus_turbo"),
    not_built("turbo_grouped_gemm_without_padding", kBool, "false", "Grouped product on ragged counts.", kMoe)
        .under(kSwitch),
    not_built("use_turbo_fused_act_with_probs", kBool, "false", "Activation and scores in one kernel.", kMoe)
        .under(kSwitch),
    not_built("moe_use_fused_router_with_aux_score", kBool, "false", "Choice and balancing score in one kernel.", kMoe)
        .under(kSwitch),
    not_built("use_turbo_permute_padding", kBool, "false", "Token counts per expert padded.", kMoe).under(kSwitch),
    not_built("use_turbo_deepep", kBool, "false", "The fused dispatcher.", kMoe).under(kSwitch),
    not_built("turbo_deepep_num_cu", kInt, "32", "Compute units of the dispatcher.", kMoe).under(kSwitch).at_least(1),
    not_built("turbo_deepep_use_comm_stream", kBool, "false", "Dispatch beside the shared expert.", kMoe)
        .under(kSwitch),
    not_built("turbo_sync_free_moe_stage", kInt, "0", "How far the MoE layer avoids synchronising.", kMoe)
        .under(kSwitch)
        .at_least(0)
        .at_most(3),
    not_built("use_turbo_mega_moe", kBool, "false", "One kernel for an MoE layer.", kMoe).under(kSwitch),
    not_built("turbo_mega_moe_precision", kText, "bf16", "Its precision.", kMoe).under(kSwitch),
    not_built("use_sink_attention", kBool, "false", "Attention sinks.", "attention sinks"),
    not_built("sink_sliding_window", kInt, "0", "Window of the sink attention.", "attention sinks")
        .under("use_sink_attention"),
    not_built("sink_window_even_layers_only", kBool, "true", "Which layers have that window.", "attention sinks")
        .under("use_sink_attention"),
};

}  // namespace

std::span<const Parameter> megatron_moe_rows() {
  return kRows;
}

}  // namespace primus::dialect
