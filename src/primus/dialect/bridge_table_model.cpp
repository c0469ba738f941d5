// Table data: the section "model", the provider that a recipe returns. Defaults are the provider's; a recipe's model
// replaces most of them (bridge_models.cpp). A section is a map in the overrides: "model: {num_layers: 4}".
#include "primus/dialect/bridge.h"
#include "primus/dialect/bridge_reasons.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kLayer = "model.layers";
constexpr std::string_view kMlaOn = "model.multi_latent_attention", kMoeOn = "model.num_moe_experts";
constexpr std::string_view kStack = "model.layers.mamba2 model.layers.has_mixer model.layers.has_mlp";

constexpr Parameter kShape[] = {
    // ------------------------------------------------------------------------------------------------ shape
    honoured("model.num_layers", kMaybeInt, "null", "Layers.", kLayer).at_least(1),
    honoured("model.hidden_size", kMaybeInt, "null", "Width.", "model.hidden_size").at_least(1),
    honoured("model.ffn_hidden_size", kMaybeInt, "null", "Inner width of the MLP; null: 4 x hidden_size.",
             "mlp.ffn_size")
        .at_least(1),
    honoured("model.num_attention_heads", kMaybeInt, "null", "Query heads.", "attention.num_heads").at_least(1),
    honoured("model.num_query_groups", kMaybeInt, "null", "Key and value heads; null: as many as query heads.",
             "attention.num_kv_heads")
        .at_least(1),
    honoured("model.kv_channels", kMaybeInt, "null", "Width of a head; null: hidden_size / heads.",
             "attention.head_dim")
        .at_least(1),
    honoured("model.seq_length", kInt, "1024", "Length of a sequence; equal to the data's.", "model.max_positions")
        .at_least(1)
        .in_unit("tokens"),
    honoured("model.vocab_size", kMaybeInt, "null", "Rows of the embedding; null: the tokenizer decides.",
             "model.vocab_size")
        .at_least(1),
    honoured("model.make_vocab_size_divisible_by", kInt, "128", "What a tokenizer's vocabulary is padded to.",
             "model.vocab_divisor")
        .at_least(1),
    honoured("model.should_pad_vocab", kBool, "false", "Whether vocab_size is padded.", "model.padded_vocab_size"),
    honoured("model.share_embeddings_and_output_weights", kBool, "true", "The head is the embedding.",
             "model.tied_embeddings"),
    // ------------------------------------------------------------------------------------------------ norm and MLP
    honoured("model.normalization", kText, "LayerNorm", "Norm.", "layer.input_norm").in("LayerNorm|RMSNorm"),
    honoured("model.layernorm_epsilon", kFloat, "1e-05", "Its epsilon.", "layer.input_norm.eps").at_least(0),
    honoured("model.layernorm_zero_centered_gamma", kBool, "false", "Gains are 1 + g.",
             "layer.input_norm.zero_centered_gain"),
    honoured("model.gated_linear_unit", kBool, "false", "The MLP has a gate.", "mlp.gated"),
    honoured("model.activation_func", kText, "gelu", "Activation of the MLP.", "mlp.activation")
        .in("silu|gelu|gelu_tanh|quick_gelu|squared_relu"),
    honoured("model.activation_func_clamp_value", kMaybeFloat, "null", "Clamp of gate and up.",
             "model.layers.mlp.clamp"),
    honoured("model.glu_linear_offset", kFloat, "0.0", "Added to up.", "model.layers.mlp.clamp"),
    honoured("model.add_bias_linear", kBool, "true", "Biases on all linear layers.", "mlp.bias attention.out_bias"),
    honoured("model.add_qkv_bias", kBool, "false", "Biases on queries, keys and values.", "attention.qkv_bias"),
    honoured("model.hidden_dropout", kFloat, "0.1", "Dropout after attention, MLP and embedding.",
             "layer.hidden_dropout")
        .at_least(0)
        .at_most(1),
    honoured("model.attention_dropout", kFloat, "0.1", "Dropout on attention weights.", "attention.dropout")
        .at_least(0)
        .at_most(1),
    honoured("model.fp32_residual_connection", kBool, "false", "Residual stream in fp32.", "model.fp32_residual"),
    no_effect("model.apply_residual_connection_post_layernorm", kBool, "false", "Residual behind the norm.",
              "no recipe's model reads it"),
    honoured("model.init_method_std", kFloat, "0.02", "Standard deviation of new weights.", "model.init.std")
        .at_least(0),
    // ------------------------------------------------------------------------------------------------ attention
    honoured("model.softmax_scale", kMaybeFloat, "null", "Factor on attention logits; null: 1 / sqrt(head).",
             "attention.softmax_scale"),
    no_effect("model.attention_softmax_in_fp32", kBool, "false", "Softmax of attention in fp32.",
              "attention always adds up in fp32 here"),
    honoured("model.qk_layernorm", kBool, "false", "Norm on each query and key head.",
             "model.layers.attention.qk_norm"),
    honoured("model.qk_l2_norm", kBool, "false", "The same without gains.", "model.layers.attention.qk_norm"),
    honoured("model.window_size", kMaybeInts, "null", "Tokens to the left and right that a query sees.",
             "model.layers.attention.window_keys"),
    honoured("model.window_attn_skip_freq", kAny, "null", "Which layers see everything.",
             "model.layers.attention.window_keys")
        .under("model.window_size"),
    honoured("model.softmax_type", kText, "vanilla", "One more logit in the softmax.", "model.layers.attention.sink")
        .in("vanilla|off-by-one|learnable"),
    honoured("model.attention_output_gate", kBool, "false", "Gate on attention's output.",
             "model.layers.attention.output_gate"),
    no_effect("model.attention_backend", kMaybeText, "null", "Attention kernel.", kKernel),
    // ------------------------------------------------------------------------------------------------ positions
    honoured("model.position_embedding_type", kText, "learned_absolute", "Kind of positions.",
             "model.learned_positions attention.rope")
        .in("learned_absolute|rope|none|yarn")
        .not_yet("yarn"),
    honoured("model.rotary_base", kFloat, "10000.0", "Base of the rotary frequencies.", "attention.rope.base")
        .at_least(1),
    honoured("model.rotary_percent", kFloat, "1.0", "Part of a head that is rotated.", "attention.rope.fraction")
        .at_least(0)
        .at_most(1),
    honoured("model.rotary_interleaved", kBool, "false", "Neighbours are rotated.", "attention.rope.interleaved"),
    honoured("model.seq_len_interpolation_factor", kMaybeFloat, "null", "Positions are divided by it.",
             "model.layers.attention.rope.yarn"),
    honoured("model.scale_factor", kMaybeFloat, "null", "Factor of the llama3 scaling; null: none.",
             "attention.rope.llama3")
        .at_least(1),
    honoured("model.low_freq_factor", kFloat, "1.0", "Low bound of the llama3 scaling.", "attention.rope.llama3"),
    honoured("model.high_freq_factor", kFloat, "4.0", "High bound of the llama3 scaling.", "attention.rope.llama3"),
    honoured("model.old_context_len", kInt, "8192", "Positions before the llama3 scaling.", "attention.rope.llama3")
        .at_least(1),
    honoured("model.no_rope_freq", kAny, "null", "Layers without positions.", "model.layers.attention.rope"),
    // ------------------------------------------------------------------------------------------------ layout
    honoured("model.tensor_model_parallel_size", kInt, "1", "Ranks that share a layer.", "parallel.tensor").at_least(1),
    honoured("model.pipeline_model_parallel_size", kInt, "1", "Stages of layers.", "parallel.pipeline").at_least(1),
    honoured("model.virtual_pipeline_model_parallel_size", kMaybeInt, "null", "Stages per pipeline rank.",
             "parallel.stages_per_rank")
        .at_least(1),
    honoured("model.context_parallel_size", kInt, "1", "Ranks that share a sequence.", "parallel.context").at_least(1),
    honoured("model.expert_model_parallel_size", kInt, "1", "Ranks that share the experts.", "parallel.expert")
        .at_least(1),
    honoured("model.expert_tensor_parallel_size", kMaybeInt, "null", "Ranks that share one expert; null: tensor.",
             "parallel.expert_tensor")
        .at_least(1),
    no_effect("model.sequence_parallel", kBool, "false", "Norms and dropouts cut along the sequence.", kComm),
    no_effect("model.pipeline_dtype", kMaybeText, "null", "Precision of what goes from stage to stage.", kComm),
    not_built("model.account_for_embedding_in_pipeline_split", kBool, "false", "The embedding counts as a layer.", kPp),
    not_built("model.account_for_loss_in_pipeline_split", kBool, "false", "The head counts as a layer.", kPp),
    not_built("model.num_layers_in_first_pipeline_stage", kMaybeInt, "null", "Layers of the first stage.", kPp),
    not_built("model.num_layers_in_last_pipeline_stage", kMaybeInt, "null", "Layers of the last stage.", kPp),
    not_built("model.pipeline_model_parallel_layout", kMaybeText, "null", "Stages written as text.", kPp),
    honoured("model.deterministic_mode", kBool, "false", "Sums in one order.", "parallel.deterministic"),
    honoured("model.calculate_per_token_loss", kBool, "false", "The loss is a mean over all tokens of a step.", "loss"),
    no_effect("model.cross_entropy_loss_fusion", kBool, "true", "Loss in one kernel.", kKernel),
    no_effect("model.cross_entropy_fusion_impl", kText, "native", "Which kernel.", kKernel),
    no_effect("model.gradient_accumulation_fusion", kBool, "true", "Gradients added in the product.", kKernel),
    no_effect("model.masked_softmax_fusion", kBool, "true", "Softmax in one kernel.", kKernel),
    no_effect("model.bias_activation_fusion", kBool, "true", "Bias and activation in one kernel.", kKernel),
    no_effect("model.bias_dropout_fusion", kBool, "true", "Bias and dropout in one kernel.", kKernel),
    no_effect("model.apply_rope_fusion", kBool, "true", "Rotation in one kernel.", kKernel),
    no_effect("model.transformer_impl", kText, "transformer_engine", "Library of layers.", kKernel),
    no_effect("model.cuda_graph_impl", kText, "none", "Recorded GPU work.", kKernel),
    no_effect("model.cuda_graph_scope", kAny, "full", "How much of it.", kKernel),
    no_effect("model.cuda_graph_warmup_steps", kInt, "3", "Steps before recording.", kKernel),
    no_effect("model.use_te_rng_tracker", kBool, "false", "Random streams for recorded work.", kKernel),
    honoured("model.recompute_granularity", kMaybeText, "null", "What is run again in backward.", "recompute.kind")
        .in("full|selective"),
    honoured("model.recompute_method", kMaybeText, "null", "Which layers, with full.", "recompute.layer_ids")
        .in("uniform|block"),
    honoured("model.recompute_num_layers", kMaybeInt, "null", "How many layers, with full.", "recompute.layer_ids")
        .at_least(0),
    honoured("model.recompute_modules", kMaybeTexts, "null", "Which parts, with selective.", "recompute.modules")
        .in("core_attn|mlp|layernorm|moe|moe_act|shared_experts|mla_up_proj"),
    no_effect("model.distribute_saved_activations", kBool, "false", "Saved inputs cut over the ranks.", kMemory),
    no_effect("model.cpu_offloading", kBool, "false", "Activations kept in host memory.", kMemory),
    no_effect("model.fine_grained_activation_offloading", kBool, "false", "Parts of activations in host memory.",
              kMemory),
    no_effect("model.bf16", kBool, "false", "Weights of the model are bf16.", "mixed_precision decides"),
    no_effect("model.fp16", kBool, "false", "Weights of the model are fp16.", "mixed_precision decides"),
    no_effect("model.params_dtype", kMaybeText, "null", "Precision of the weights.", "mixed_precision decides"),
    not_built("model.fp8", kMaybeText, "null", "Products in fp8.", kFp8),
    not_built("model.fp4", kMaybeText, "null", "Products in fp4.", "fp4"),
    no_effect("model.moe_token_dispatcher_type", kText, "allgather", "How tokens reach their experts.", kComm),
    no_effect("model.moe_flex_dispatcher_backend", kMaybeText, "null", "Library of the expert dispatcher.", kComm),
    no_effect("model.moe_grouped_gemm", kBool, "false", "All experts of a rank in one product.", kKernel),
    no_effect("model.moe_permute_fusion", kBool, "false", "One kernel to sort tokens by expert.", kKernel),
    no_effect("model.moe_shared_expert_overlap", kBool, "false", "Shared expert beside the dispatch.", kComm),
};

constexpr Parameter kFamilies[] = {
    // ------------------------------------------------------------------------------------------------ experts
    honoured("model.num_moe_experts", kMaybeInt, "null", "Experts of an MoE layer.", "model.layers.moe"),
    honoured("model.moe_layer_freq", kAny, "1", "Which layers have experts: a period or a pattern.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_ffn_hidden_size", kMaybeInt, "null", "Inner width of an expert.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_shared_expert_intermediate_size", kMaybeInt, "null", "Inner width of the shared experts.",
             "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_shared_expert_gate", kBool, "false", "Gate on the shared expert.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_topk", kInt, "2", "Experts per token.", "model.layers.moe").under(kMoeOn),
    honoured("model.moe_router_score_function", kText, "softmax", "Score of the router.", "model.layers.moe")
        .in("softmax|sigmoid")
        .under(kMoeOn),
    honoured("model.moe_router_pre_softmax", kBool, "false", "Softmax before the choice.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_topk_scaling_factor", kMaybeFloat, "null", "Factor on the chosen scores.",
             "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_num_groups", kMaybeInt, "null", "Groups of experts.", "model.layers.moe").under(kMoeOn),
    honoured("model.moe_router_group_topk", kMaybeInt, "null", "Groups chosen per token.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_enable_expert_bias", kBool, "false", "Bias that balances the experts.",
             "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_bias_update_rate", kFloat, "0.001", "Rate of that bias.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_load_balancing_type", kText, "aux_loss", "How experts are balanced.", "model.layers.moe")
        .in("aux_loss|seq_aux_loss|global_aux_loss|sinkhorn|none")
        .under(kMoeOn),
    honoured("model.moe_aux_loss_coeff", kFloat, "0.0", "Weight of the balancing loss.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_z_loss_coeff", kMaybeFloat, "null", "Weight of the router's z-loss.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_input_jitter_eps", kMaybeFloat, "null", "Noise on the router's input.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_router_dtype", kMaybeText, "null", "Precision of the router.", "model.layers.moe")
        .in("fp32|fp64")
        .under(kMoeOn),
    honoured("model.moe_router_force_load_balancing", kBool, "false",
             "Tokens spread at random whatever the router says.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_expert_capacity_factor", kMaybeFloat, "null", "Capacity of an expert.", "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_pad_expert_input_to_capacity", kBool, "false", "Experts padded to capacity.",
             "model.layers.moe")
        .under(kMoeOn),
    honoured("model.moe_token_drop_policy", kText, "probs", "Which tokens are dropped.", "model.layers.moe")
        .in("probs|position")
        .under(kMoeOn),
    honoured("model.moe_apply_probs_on_input", kBool, "false", "Scores multiply an expert's input.", "model.layers.moe")
        .under(kMoeOn),
    // ------------------------------------------------------------------------------------------------ latent attention
    honoured("model.multi_latent_attention", kBool, "false", "Keys and values from a small latent.",
             "model.layers.attention.latent"),
    honoured("model.q_lora_rank", kMaybeInt, "null", "Width of the query latent; null: none.",
             "model.layers.attention.latent")
        .under(kMlaOn),
    honoured("model.kv_lora_rank", kInt, "512", "Width of the key and value latent.", "model.layers.attention.latent")
        .under(kMlaOn),
    honoured("model.qk_head_dim", kInt, "128", "Part of a head without positions.", "model.layers.attention.latent")
        .under(kMlaOn),
    honoured("model.qk_pos_emb_head_dim", kInt, "64", "Part of a head with positions.", "model.layers.attention.latent")
        .under(kMlaOn),
    honoured("model.v_head_dim", kInt, "128", "Width of a value head.", "model.layers.attention.latent").under(kMlaOn),
    honoured("model.rotary_scaling_factor", kFloat, "40.0", "Factor of YaRN; 1: none.",
             "model.layers.attention.rope.yarn")
        .under(kMlaOn),
    honoured("model.original_max_position_embeddings", kInt, "4096", "Positions before YaRN.",
             "model.layers.attention.rope.yarn")
        .under(kMlaOn),
    honoured("model.beta_fast", kFloat, "32.0", "Fast bound of YaRN.", "model.layers.attention.rope.yarn")
        .under(kMlaOn),
    honoured("model.beta_slow", kFloat, "1.0", "Slow bound of YaRN.", "model.layers.attention.rope.yarn").under(kMlaOn),
    honoured("model.mscale", kFloat, "1.0", "Magnitude of YaRN on cosine and sine.", "model.layers.attention.rope.yarn")
        .under(kMlaOn),
    honoured("model.mscale_all_dim", kFloat, "0.0", "Magnitude of YaRN on the softmax.",
             "model.layers.attention.rope.yarn")
        .under(kMlaOn),
    // ------------------------------------------------------------------------------------------------ more tokens
    honoured("model.mtp_num_layers", kMaybeInt, "null", "Further tokens that are predicted.", "model.mtp").also("0"),
    honoured("model.mtp_loss_scaling_factor", kFloat, "0.1", "Weight of their losses.", "model.mtp")
        .under("model.mtp_num_layers"),
    // ------------------------------------------------------------------------------------------------ hybrids
    honoured("model.hybrid_override_pattern", kMaybeText, "null",
             "Layers in order: M mamba, * attention, - MLP, E experts.", kStack),
    honoured("model.hybrid_attention_ratio", kFloat, "0.0", "Part of the layers that are attention.", kStack),
    honoured("model.hybrid_mlp_ratio", kFloat, "0.0", "Part of the layers that are MLPs.", kStack),
    honoured("model.mamba_state_dim", kInt, "128", "State of a head.", "model.layers.mamba2.state_dim").at_least(1),
    honoured("model.mamba_head_dim", kInt, "64", "Width of a head.", "model.layers.mamba2.head_dim").at_least(1),
    honoured("model.mamba_num_groups", kInt, "8", "Groups of heads that share B and C.",
             "model.layers.mamba2.num_groups")
        .at_least(1),
    honoured("model.mamba_num_heads", kMaybeInt, "null", "Heads; null: twice the hidden size over the width of a head.",
             "model.layers.mamba2.num_heads")
        .at_least(1),
};

}  // namespace

std::span<const Parameter> bridge_model_rows() {
  return kShape;
}

std::span<const Parameter> bridge_model_family_rows() {
  return kFamilies;
}

}  // namespace primus::dialect
