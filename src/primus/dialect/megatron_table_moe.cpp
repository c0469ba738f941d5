// Table data: mixture of experts, latent attention, multi-token prediction, Primus-Turbo.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kMoe = "mixture of experts";
constexpr std::string_view kMla = "latent attention";
constexpr std::string_view kMtp = "multi-token prediction";
constexpr std::string_view kExpertsKey = "num_experts";

constexpr Parameter kMoeRows[] = {
    // ------------------------------------------------------------------------------------------------ experts
    honoured("num_experts", kMaybeInt, "null", "Experts of an MoE layer.",
             "model.layers.moe model.layers.moe.num_experts")
        .also("0")
        .at_least(0),
    honoured("moe_layer_freq", kAny, "1",
             "Which layers have experts: every n-th from the first (layer % n = 0), or a list with 1 for experts.",
             "model.layers.moe.num_experts")
        .under(kExpertsKey),
    honoured("moe_ffn_hidden_size", kMaybeInt, "null", "Inner width of an expert.", "model.layers.moe.expert.ffn_size")
        .under(kExpertsKey)
        .at_least(1),
    honoured("moe_shared_expert_intermediate_size", kMaybeInt, "null", "Inner width of all shared experts together.",
             "model.layers.moe.shared_ffn_size")
        .under(kExpertsKey)
        .at_least(0),
    honoured("moe_shared_expert_gate", kBool, "false", "Gate on the shared expert.", "model.layers.moe.shared_gate")
        .under(kExpertsKey),
    no_effect("moe_shared_expert_overlap", kBool, "false", "Shared expert beside the dispatch.", kComm)
        .under(kExpertsKey),
    honoured("moe_router_topk", kInt, "2", "Experts per token.", "model.layers.moe.top_k")
        .under(kExpertsKey)
        .at_least(1),
    honoured("moe_router_score_function", kText, "softmax", "Score of the router.", "model.layers.moe.router.score")
        .under(kExpertsKey)
        .in("softmax|sigmoid|sqrtsoftplus"),
    honoured("moe_router_pre_softmax", kBool, "false",
             "Softmax over all experts before the choice; otherwise over the chosen ones.",
             "model.layers.moe.router.normalise_over_all")
        .under(kExpertsKey),
    honoured("moe_router_num_groups", kMaybeInt, "null", "Groups of experts.", "model.layers.moe.router.groups")
        .under(kExpertsKey)
        .at_least(1),
    honoured("moe_router_group_topk", kMaybeInt, "null", "Groups chosen per token.", "model.layers.moe.router.groups")
        .under(kExpertsKey)
        .at_least(1),
    not_built("moe_router_topk_limited_devices", kMaybeInt, "null", "Devices per token.", kMoe).under(kExpertsKey),
    honoured("moe_router_topk_scaling_factor", kMaybeFloat, "null", "Factor on the chosen scores.",
             "model.layers.moe.router.scale")
        .under(kExpertsKey),
    honoured("moe_router_enable_expert_bias", kBool, "false", "Bias that balances the experts.",
             "model.layers.moe.router.expert_bias")
        .under(kExpertsKey),
    honoured("moe_router_bias_update_rate", kFloat, "0.001", "Rate of that bias.",
             "model.layers.moe.router.expert_bias")
        .under(kExpertsKey),
    not_built("moe_router_bias_update_rule", kMaybeText, "null", "Rule of that bias (kimi_k3).", kMoe)
        .under(kExpertsKey),
    honoured("moe_router_load_balancing_type", kTexts, "[aux_loss]", "How experts are balanced.",
             "model.layers.moe.router.balance_losses model.layers.moe.router.sinkhorn")
        .under(kExpertsKey)
        .in("aux_loss|seq_aux_loss|global_aux_loss|sinkhorn|none"),
    honoured("moe_router_force_load_balancing", kBool, "false", "Tokens spread evenly whatever the router says.",
             "model.layers.moe.router.forced_balance")
        .under(kExpertsKey),
    honoured("moe_router_force_load_balancing_type", kText, "even", "How the forced spreading is done.",
             "model.layers.moe.router.forced_balance")
        .under(kExpertsKey)
        .in("even|uniform"),
    honoured("moe_router_dtype", kMaybeText, "null", "Precision of the router.", "model.layers.moe.router.dtype")
        .under(kExpertsKey)
        .in("fp32|fp64"),
    no_effect("moe_router_fusion", kBool, "false", "One kernel for the router.", kKernel).under(kExpertsKey),
    no_effect("moe_router_padding_for_fp8", kBool, "false", "Token counts padded for fp8.", kKernel).under(kExpertsKey),
    no_effect("moe_router_padding_for_quantization", kBool, "false", "Token counts padded for low precision.", kKernel)
        .under(kExpertsKey),
    honoured("router_logit_softcapping", kMaybeFloat, "null", "Cap on the router's logits.",
             "model.layers.moe.router.logit_soft_cap")
        .under(kExpertsKey)
        .at_least(0),
    honoured("moe_aux_loss_coeff", kAny, "0.0", "Weight of the balancing loss, or one weight a kind.",
             "model.layers.moe.router.balance_losses")
        .under(kExpertsKey),
    honoured("moe_z_loss_coeff", kMaybeFloat, "null", "Weight of the router's z-loss.",
             "model.layers.moe.router.z_loss")
        .under(kExpertsKey)
        .at_least(0),
    honoured("moe_input_jitter_eps", kMaybeFloat, "null", "Noise on the router's input.",
             "model.layers.moe.router.input_jitter")
        .under(kExpertsKey)
        .at_least(0),
    no_effect("moe_grouped_gemm", kBool, "false", "All experts of a rank in one product.",
              "all experts of a rank are one product here")
        .under(kExpertsKey),
    no_effect("moe_use_legacy_grouped_gemm", kBool, "false", "An older kernel for that.", kUnread).under(kExpertsKey),
    no_effect("moe_permute_fusion", kBool, "false", "One kernel to sort tokens by expert.", kKernel).under(kExpertsKey),
    no_effect("moe_token_dispatcher_type", kText, "allgather", "How tokens reach their experts.", kComm)
        .under(kExpertsKey),
    no_effect("moe_flex_dispatcher_backend", kMaybeText, "deepep", "Library of the flex dispatcher.", kComm)
        .under(kExpertsKey),
    no_effect("moe_enable_deepep", kBool, "false", "The DeepEP dispatcher.", kComm).under(kExpertsKey),
    no_effect("moe_deepep_num_sms", kInt, "20", "Compute units of DeepEP.", kComm).under(kExpertsKey),
    no_effect("moe_hybridep_num_sms", kInt, "16", "Compute units of HybridEP.", kComm).under(kExpertsKey),
    honoured("moe_per_layer_logging", kBool, "false", "Balancing losses per layer.", "logging.router_losses_per_layer")
        .under(kExpertsKey),
    honoured("moe_expert_capacity_factor", kMaybeFloat, "null",
             "Tokens an expert takes, in shares of an even spread; null or negative: all.", "model.layers.moe.capacity")
        .under(kExpertsKey),
    honoured("moe_pad_expert_input_to_capacity", kBool, "false", "Experts padded to capacity.",
             "model.layers.moe.capacity")
        .under(kExpertsKey),
    honoured("moe_token_drop_policy", kText, "probs", "Which tokens are dropped.", "model.layers.moe.capacity")
        .under(kExpertsKey)
        .in("probs|position"),
    not_built("moe_token_dropping", kBool, "false", "Whether tokens are dropped.", kMoe).under(kExpertsKey),
    honoured("moe_apply_probs_on_input", kBool, "false", "Scores on the experts' input.",
             "model.layers.moe.router.weight_on_input")
        .under(kExpertsKey),
    honoured("moe_latent_size", kMaybeInt, "null", "Width of latent experts.", "model.layers.moe.latent_size")
        .under(kExpertsKey)
        .at_least(1),
    no_effect("moe_layer_recompute", kBool, "false", "MoE layers run again in backward.", kMemory).under(kExpertsKey),
    no_effect("moe_extended_tp", kBool, "false", "Experts cut over more ranks.", kUnread),
    not_built("moe_use_upcycling", kBool, "false", "Experts copied from a dense checkpoint.", kMoe).under(kExpertsKey),
    no_effect("overlap_moe_expert_parallel_comm", kBool, "false", "Dispatch beside computation.", kComm)
        .under(kExpertsKey),
    honoured("use_deprecated_20241209_moe_layer", kBool, "false", "The plain MoE layer, one expert after the other.",
             "model.layers.moe.plain_experts")
        .under(kExpertsKey),
    honoured("disable_primus_topk_router", kBool, "false", "The plain router.", "model.layers.moe.plain_router")
        .under(kExpertsKey),
    no_effect("patch_moe_overlap", kBool, "false", "Looks like an overlap switch.", kUnread),
    described("expert_model_parallel_size", kInt, "1", "Ranks that share the experts.", "parallel.expert",
              "expert parallelism")
        .at_least(1),
    described("expert_tensor_parallel_size", kMaybeInt, "null",
              "Ranks that share one expert; null: as many as share a layer.", "parallel.expert_tensor",
              "expert parallelism")
        .also("1")
        .at_least(1),
    honoured("routed_expert_hidden_size", kMaybeInt, "null", "Width inside routed experts (kimi_k3).",
             "model.layers.moe.latent_size")
        .under(kExpertsKey)
        .at_least(1),
    not_built("latent_moe_use_norm", kBool, "false", "Norm in latent experts.", kMoe).under(kExpertsKey),
    not_built("v4_grouped_experts_support_clamped_swiglu", kBool, "false", "Clamped experts (DeepSeek-V4).", kMoe)
        .under(kExpertsKey),
    not_built("quantile_balancing_num_bins", kInt, "1024", "Balancing by quantiles: bins.", kMoe).under(kExpertsKey),
    not_built("quantile_balancing_margin_min", kFloat, "-1.0", "Balancing by quantiles: bound.", kMoe)
        .under(kExpertsKey),
    not_built("quantile_balancing_margin_max", kFloat, "1.0", "Balancing by quantiles: bound.", kMoe)
        .under(kExpertsKey),
    not_built("quantile_balancing_center_bias", kBool, "true", "Balancing by quantiles: centred.", kMoe)
        .under(kExpertsKey),
    not_built("quantile_balancing_update_interval", kInt, "1", "Balancing by quantiles: steps.", kMoe)
        .under(kExpertsKey),
    not_built("quantile_balancing_ema_decay", kMaybeFloat, "null", "Balancing by quantiles: memory.", kMoe)
        .under(kExpertsKey),
    // ------------------------------------------------------------------------------------------------ latent attention
    honoured("multi_latent_attention", kBool, "false", "Keys and values from a small latent.",
             "model.layers.attention.latent"),
    honoured("q_lora_rank", kMaybeInt, "null", "Width of the query latent.",
             "model.layers.attention.latent.q_lora_rank")
        .under("multi_latent_attention")
        .at_least(1),
    honoured("kv_lora_rank", kInt, "32", "Width of the key/value latent.", "model.layers.attention.latent.kv_lora_rank")
        .under("multi_latent_attention")
        .at_least(1),
    honoured("qk_head_dim", kInt, "128", "Unrotated width of a head.", "model.layers.attention.latent.nope_head_dim")
        .under("multi_latent_attention")
        .at_least(0),
    honoured("qk_pos_emb_head_dim", kInt, "64", "Rotated width of a head.",
             "model.layers.attention.latent.rope_head_dim")
        .under("multi_latent_attention")
        .at_least(0),
    honoured("v_head_dim", kInt, "128", "Width of a value head.", "model.layers.attention.latent.v_head_dim")
        .under("multi_latent_attention")
        .at_least(1),
    honoured("rotary_scaling_factor", kFloat, "1.0", "YaRN factor.",
             "model.layers.attention.rope.yarn model.layers.attention.rope.yarn.factor")
        .under("multi_latent_attention")
        .at_least(0),
    honoured("original_max_position_embeddings", kMaybeInt, "null", "YaRN: positions before the extension.",
             "model.layers.attention.rope.yarn.original_max_positions")
        .under("multi_latent_attention")
        .at_least(1),
    honoured("beta_fast", kFloat, "32", "YaRN: fast bound.", "model.layers.attention.rope.yarn.beta_fast")
        .under("multi_latent_attention"),
    honoured("beta_slow", kFloat, "1", "YaRN: slow bound.", "model.layers.attention.rope.yarn.beta_slow")
        .under("multi_latent_attention"),
    honoured("mscale", kFloat, "1.0", "YaRN: magnitude of cosine and sine, over that of the scores.",
             "model.layers.attention.rope.yarn.cos_sin_factor")
        .under("multi_latent_attention"),
    honoured("mscale_all_dim", kFloat, "0.0", "YaRN: magnitude of scores, squared.",
             "model.layers.attention.rope.yarn.cos_sin_factor model.layers.attention.softmax_scale")
        .under("multi_latent_attention"),
    honoured("mla_use_nope", kBool, "false", "Latent attention without rotation.", "model.layers.attention.rope")
        .under("multi_latent_attention"),
    described("mla_use_output_gate", kBool, "false", "Gate behind latent attention.",
              "model.layers.attention.output_gate", kMla)
        .under("multi_latent_attention"),
    no_effect("fused_padded_mla_attention", kBool, "false", "A latent attention kernel.", kUnread),
    // ------------------------------------------------------------------------------------------------ more tokens at
    // once
    honoured("mtp_num_layers", kMaybeInt, "null", "Depth of multi-token prediction.", "model.mtp")
        .also("0")
        .at_least(0),
    honoured("mtp_loss_scaling_factor", kFloat, "0.1", "Weight of its loss.", "model.mtp")
        .under("mtp_num_layers")
        .at_least(0),
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
              "all experts of a rank are one product here")
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_grouped_mlp", kBool, "false", "Old name of use_turbo_grouped_gemm.",
              "all experts of a rank are one product here")
        .requires_key("enable_primus_turbo")
        .use("use_turbo_grouped_gemm"),
    no_effect("use_turbo_rms_norm", kBool, "false", "Norm kernel.", kKernel).requires_key("enable_primus_turbo"),
    no_effect("use_turbo_norm_te_linear", kBool, "false", "Norm and product in one kernel.", kKernel)
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_autotune", kBool, "false", "Kernels timed at start.", kKernel).under("enable_primus_turbo"),
    no_effect("turbo_gemm_backend", kText, "default", "Product library.", kKernel).under("enable_primus_turbo"),
    no_effect("turbo_grouped_gemm_backend", kText, "default", "Grouped product library.", kKernel)
        .under("enable_primus_turbo"),
    no_effect("turbo_grouped_gemm_without_padding", kBool, "false", "Grouped product on ragged counts.", kKernel)
        .under(kExpertsKey),
    no_effect("use_turbo_fused_act_with_probs", kBool, "false", "Activation and scores in one kernel.", kKernel)
        .under(kExpertsKey),
    no_effect("moe_use_fused_router_with_aux_score", kBool, "false", "Choice and balancing score in one kernel.",
              kKernel)
        .under(kExpertsKey)
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_permute_padding", kBool, "false", "Token counts per expert padded.", kKernel)
        .under(kExpertsKey)
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_deepep", kBool, "false", "The fused dispatcher.", kComm)
        .under(kExpertsKey)
        .requires_key("enable_primus_turbo"),
    no_effect("turbo_deepep_num_cu", kInt, "32", "Compute units of the dispatcher.", kComm)
        .under(kExpertsKey)
        .at_least(1),
    no_effect("turbo_deepep_use_comm_stream", kBool, "false", "Dispatch beside the shared expert.", kComm)
        .under(kExpertsKey),
    no_effect("turbo_sync_free_moe_stage", kInt, "0", "How far the MoE layer avoids synchronising.", kComm)
        .under(kExpertsKey)
        .requires_key("enable_primus_turbo")
        .at_least(0)
        .at_most(3),
    no_effect("use_turbo_mega_moe", kBool, "false", "One kernel for an MoE layer.", kKernel).under(kExpertsKey),
    not_built("turbo_mega_moe_precision", kText, "bf16", "Its precision.", kMoe).under(kExpertsKey),
    honoured("use_sink_attention", kBool, "false", "Attention sinks.", "model.layers.attention.sink"),
    honoured("sink_sliding_window", kInt, "0", "Window of the sink attention.", "model.layers.attention.window_keys")
        .under("use_sink_attention")
        .at_least(0),
    honoured("sink_window_even_layers_only", kBool, "true", "Which layers have that window.",
             "model.layers.attention.window_keys")
        .under("use_sink_attention"),
};

}  // namespace

std::span<const Parameter> megatron_moe_rows() {
  return kMoeRows;
}

}  // namespace primus::dialect
