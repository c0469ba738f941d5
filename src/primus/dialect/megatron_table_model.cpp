// Table data: shape, norm, activation, attention, positions, vocabulary, initialisation.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kShapeOnce = "encoder-decoder models";

constexpr Parameter kModelRows[] = {
    // ------------------------------------------------------------------------------------------------ which model
    honoured("model_type", kText, "gpt", "Kind of model.", "model.layers.mamba2 model.layers.other_mixer")
        .in("gpt|mamba|deepseek_v4|kimi_k3")
        .not_yet("deepseek_v4|kimi_k3"),
    honoured("spec", kMaybeTexts, "null",
             "Python module and name of a layer specification; only mamba_stack_spec is known here.",
             "model.layers.other_mixer"),
    not_built("yaml_cfg", kMaybeText, "null", "File that replaces all arguments.", "upstream's own YAML arguments"),
    not_built("use_legacy_models", kBool, "false", "The model classes before Megatron Core.",
              "the legacy model classes"),
    no_effect("deprecated_use_mcore_models", kBool, "false", "Once chose the Megatron Core models.",
              "upstream prints a deprecation line and nothing else"),
    no_effect("transformer_impl", kText, "transformer_engine", "Layer library of upstream.",
              "the layers here are this project's own")
        .in("local|transformer_engine|inference_optimized"),
    not_built("heterogeneous_layers_config_path", kMaybeText, "null", "File with a different shape per layer.",
              "layers of different shapes"),
    not_built("heterogeneous_layers_config_encoded_json", kMaybeText, "null", "The same as JSON text.",
              "layers of different shapes"),
    // ------------------------------------------------------------------------------------------------ shape
    honoured("num_layers", kMaybeInt, "null", "Transformer layers.", "model.layers").at_least(1),
    not_built("encoder_num_layers", kMaybeInt, "null", "Layers of an encoder.", kShapeOnce),
    not_built("decoder_num_layers", kMaybeInt, "null", "Layers of a decoder behind an encoder.", kShapeOnce),
    honoured("hidden_size", kMaybeInt, "null", "Width of the residual stream.", "model.hidden_size").at_least(1),
    honoured("ffn_hidden_size", kMaybeInt, "null",
             "Inner width of the MLP; null: 4 x hidden, with swiglu two thirds of that, cut to a multiple of 64.",
             "mlp.ffn_size")
        .at_least(1),
    honoured("num_attention_heads", kMaybeInt, "null", "Query heads.", "attention.num_heads").at_least(1),
    honoured("group_query_attention", kBool, "false",
             "Key/value heads are shared by groups of query heads; without it num_query_groups has no effect.",
             "attention.num_kv_heads"),
    honoured("num_query_groups", kMaybeInt, "1", "Key/value heads with group_query_attention; null: one per head.",
             "attention.num_kv_heads")
        .at_least(1),
    honoured("kv_channels", kMaybeInt, "null", "Width of a head; null: hidden size over heads.", "attention.head_dim")
        .at_least(1),
    honoured("max_position_embeddings", kMaybeInt, "null", "Longest sequence the model is made for.",
             "model.max_positions")
        .at_least(1)
        .in_unit("tokens"),
    // ------------------------------------------------------------------------------------------------ norms
    honoured("normalization", kText, "LayerNorm", "Kind of the norms.", "norm.kind").in("LayerNorm|RMSNorm"),
    honoured("layernorm_epsilon", kFloat, "1e-05", "Added to the variance inside the norms.", "norm.eps").at_least(0),
    no_effect("norm_epsilon", kFloat, "1e-05", "Looks like the epsilon of the norms.",
              "upstream reads it nowhere: the epsilon of the norms is layernorm_epsilon")
        .use("layernorm_epsilon"),
    honoured("layernorm_zero_centered_gamma", kBool, "false", "The gain of the norms is 1 + g, with g starting at 0.",
             "norm.zero_centered_gain"),
    no_effect("apply_layernorm_1p", kBool, "false", "Looks like the zero-centred gain of the norms.",
              "upstream reads it nowhere: the switch is layernorm_zero_centered_gamma")
        .use("layernorm_zero_centered_gamma"),
    not_built("apply_residual_connection_post_layernorm", kBool, "false", "The residual is taken behind the norm.",
              "residuals behind the norm"),
    no_effect("no_persist_layer_norm", kBool, "false", "Another norm kernel.", kKernel),
    honoured("qk_layernorm", kBool, "false", "Norms on queries and keys; with latent attention: on the latents.",
             "model.layers.attention.qk_norm model.layers.attention.latent"),
    honoured("qk_l2_norm", kBool, "false", "Queries and keys divided by their root mean square, without a gain.",
             "model.layers.attention.qk_norm"),
    honoured("final_logit_softcapping", kMaybeFloat, "null", "Logits become cap x tanh(logits / cap).",
             "model.logit_soft_cap")
        .at_least(0),
    no_effect("attn_logit_softcapping", kMaybeFloat, "null", "Looks like a cap on attention scores.", kUnread),
    // ------------------------------------------------------------------------------------------------ MLP, biases,
    // dropout
    honoured("swiglu", kBool, "false", "Gated MLP with SiLU.", "mlp.activation mlp.gated"),
    honoured("squared_relu", kBool, "false", "MLP with max(x, 0) squared.", "mlp.activation"),
    honoured("quick_geglu", kBool, "false", "Gated MLP with x * sigmoid(1.702 x).", "mlp.activation mlp.gated"),
    no_effect("openai_gelu", kBool, "false", "GELU by tanh.", "read by upstream's legacy models only"),
    no_effect("activation_func", kMaybeText, "null", "Name of an activation.",
              "upstream replaces it by what swiglu, squared_relu and quick_geglu say"),
    honoured("activation_func_clamp_value", kMaybeFloat, "null", "Bound on gate and input of a gated MLP.",
             "model.layers.mlp.clamp")
        .at_least(0),
    honoured("glu_linear_offset", kFloat, "0.0", "Added to the linear half of a gated MLP.", "model.layers.mlp.clamp"),
    honoured("swiglu_limit", kMaybeFloat, "null", "Bound on a gated MLP (DeepSeek-V4).", "model.layers.mlp.clamp")
        .at_least(0),
    not_built("activation_situ_beta", kMaybeFloat, "null", "Slope of the SiTU activation.", "the SiTU activation"),
    not_built("activation_situ_linear_beta", kMaybeFloat, "null", "Slope of SiTU's linear half.",
              "the SiTU activation"),
    honoured("add_bias_linear", kBool, "true", "Biases on all linear layers.",
             "attention.qkv_bias attention.out_bias mlp.bias"),
    honoured("add_qkv_bias", kBool, "false", "Biases on the query, key and value projections.", "attention.qkv_bias"),
    honoured("hidden_dropout", kFloat, "0.1", "Dropout behind the embeddings, the attention and the MLP.",
             "layer.hidden_dropout model.embedding_dropout")
        .at_least(0)
        .at_most(1)
        .in_unit("probability"),
    honoured("attention_dropout", kFloat, "0.1", "Dropout on attention weights.", "attention.dropout")
        .at_least(0)
        .at_most(1)
        .in_unit("probability"),
    honoured("fp32_residual_connection", kBool, "false", "The residual stream stays fp32.", "model.fp32_residual"),
    // ------------------------------------------------------------------------------------------------ attention
    honoured("softmax_scale", kMaybeFloat, "null", "Factor on attention scores; null: 1 / sqrt(head width).",
             "attention.softmax_scale")
        .at_least(0),
    no_effect("attention_softmax_in_fp32", kBool, "false", "Softmax of the attention in fp32.",
              "the softmax of the attention is always fp32 here"),
    no_effect("apply_query_key_layer_scaling", kBool, "false", "Scores divided by the layer number, then multiplied.",
              "a rounding aid for fp16: both factors cancel"),
    no_effect("attention_backend", kText, "auto", "Attention kernel.", kKernel).in("auto|flash|fused|unfused|local"),
    no_effect("use_flash_attn", kBool, "false", "FlashAttention kernel.", kKernel),
    no_effect("masked_softmax_fusion", kBool, "true", "One kernel for scale, mask and softmax.", kKernel),
    honoured("window_size", kMaybeInts, "null",
             "Attention window [w, 0]: a query sees itself and the w keys before it.",
             "model.layers.attention.window_keys"),
    honoured("window_attn_skip_freq", kAny, "null",
             "Which layers have the window: all but every n-th, or a list with 1 for a window.",
             "model.layers.attention.window_keys")
        .under("window_size"),
    honoured("softmax_type", kText, "vanilla",
             "Attention sinks: one more logit a head in the softmax, zero or learned.", "model.layers.attention.sink")
        .in("vanilla|off-by-one|learnable"),
    honoured("attention_output_gate", kBool, "false", "Gate on the attention output.",
             "model.layers.attention.output_gate"),
    honoured("experimental_attention_variant", kMaybeText, "null", "Linear and sparse attention kinds.",
             "model.layers.gated_delta model.layers.other_mixer")
        .in("gated_delta_net|dsa")
        .not_yet("dsa"),
    // ------------------------------------------------------------------------------------------------ positions
    honoured("position_embedding_type", kText, "learned_absolute",
             "How positions enter; yarn is an addition of this project (upstream has it with latent attention only).",
             "model.learned_positions attention.rope model.layers.attention.rope.yarn")
        .in("learned_absolute|rope|none|mrope|relative|yarn")
        .not_yet("mrope|relative"),
    honoured("use_rotary_position_embeddings", kMaybeBool, "false", "Old spelling of position_embedding_type: rope.",
             "attention.rope")
        .use("position_embedding_type"),
    no_effect("add_position_embedding", kBool, "true", "Old switch of learned positions.",
              "position_embedding_type alone decides"),
    honoured("rotary_base", kFloat, "10000", "Base of the rotation frequencies.", "rope.base").at_least(1),
    honoured("rotary_percent", kFloat, "1.0", "Part of a head that is rotated.", "rope.fraction")
        .at_least(0)
        .at_most(1),
    honoured("rotary_interleaved", kBool, "false", "Pairs (2i, 2i+1) instead of (i, i + half).", "rope.interleaved"),
    honoured("use_rope_scaling", kBool, "false", "The Llama-3 rescaling: factor 8, bands 1 and 4, 8,192 positions.",
             "rope.llama3"),
    no_effect("rope_scaling_factor", kFloat, "8.0", "Looks like the factor of use_rope_scaling.",
              "upstream's model builder does not pass it on: the factor is always 8"),
    no_effect("rotary_seq_len_interpolation_factor", kMaybeFloat, "null", "Looks like linear interpolation.",
              "upstream's model builder does not pass it on: positions are not interpolated")
        .also("1"),
    honoured("rope_type", kMaybeText, "null", "Rotation of latent attention; null: yarn.",
             "model.layers.attention.rope.yarn")
        .under("multi_latent_attention")
        .in("rope|yarn"),
    honoured("no_rope_freq", kAny, "null", "Which layers have no rotation: every n-th, or a list with 1 for none.",
             "model.layers.attention.rope"),
    no_effect("apply_rope_fusion", kBool, "true", "One kernel for the rotation.", kKernel),
    no_effect("fused_single_qkv_rope", kBool, "false", "One kernel for the rotation of q, k and v.", kKernel),
    // ------------------------------------------------------------------------------------------------ embedding and
    // head
    honoured("untie_embeddings_and_output_weights", kBool, "false", "The output head has weights of its own.",
             "model.tied_embeddings"),
    honoured("make_vocab_size_divisible_by", kInt, "128", "The vocabulary is padded to a multiple of it.",
             "model.vocab_divisor")
        .at_least(1),
    honoured("padded_vocab_size", kMaybeInt, "null", "Rows of the embedding, instead of the padding rule.",
             "model.padded_vocab_size")
        .at_least(1),
    no_effect("clone_scatter_output_in_embedding", kBool, "true", "Frees a buffer earlier.", kMemory),
    // ------------------------------------------------------------------------------------------------ initialisation
    honoured("init_method_std", kFloat, "0.02", "Standard deviation of initial weights.",
             "init.std init.residual_output_std")
        .at_least(0),
    honoured("embedding_init_method_std", kMaybeFloat, "null", "The same for the embedding; null: init_method_std.",
             "init.embedding_std")
        .at_least(0),
    honoured("init_method_xavier_uniform", kBool, "false", "Xavier's uniform law instead of the normal one.",
             "init.law"),
    refused("perform_initialization", kBool, "true", "Whether weights are initialised.",
            "without it the weights would be whatever lies in memory"),
    no_effect("use_cpu_initialization", kMaybeBool, "null", "Initialise on the CPU, whole, then cut.",
              "initial weights never depend on the layout here"),
    not_built("data_parallel_random_init", kBool, "false", "Different weights on each data-parallel rank.",
              "different weights per rank"),
    no_effect("init_model_with_meta_device", kBool, "false", "Allocates weights late.", kMemory),
};

}  // namespace

std::span<const Parameter> megatron_model_rows() {
  return kModelRows;
}

}  // namespace primus::dialect
