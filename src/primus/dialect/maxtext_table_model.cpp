// Table data: architecture, positions, loss. Names, kinds and defaults: MaxText 0.2.5 (base.yml, configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kGdn = "read only by the qwen3_next and qwen3_5 blocks";
constexpr std::string_view kMhc = "read only with mhc_expansion_rate";
constexpr std::string_view kBlocks =
    "default|llama2|mistral|mixtral|deepseek|deepseek4|gemma|gemma2|gemma3|gemma4|gemma4_small|qwen2|qwen3|qwen3_moe|"
    "qwen3_custom_moe|qwen3_next|qwen3_5|gpt3|gpt_oss|simple|simple_mlp|llama4|olmo3|envy";

constexpr Parameter kModelRows[] = {
    // ----------------------------------------------------------------------------------- ModelArchitecture
    honoured("decoder_block", kText, "llama2", "Kind of layer.", "model.layers.other_mixer").in(kBlocks),
    honoured("global_parameter_scale", kInt, "1", "Power of two that widens and deepens the base_ sizes.",
             "model.layers")
        .at_least(1),
    honoured("base_emb_dim", kInt, "2048", "Width of the residual stream.", "model.hidden_size").at_least(1),
    honoured("base_num_query_heads", kInt, "16", "Query heads.", "attention.num_heads").at_least(1),
    honoured("base_num_kv_heads", kInt, "16", "Key and value heads.", "attention.num_kv_heads").at_least(1),
    honoured("base_mlp_dim", kInt, "7168", "Inner width of the MLP.", "mlp.ffn_size").at_least(1),
    honoured("dense_init_scale", kFloat, "1.0", "Variance scale of the MLP's initial weights.",
             "model.layers.init.mlp_gate_std")
        .at_least(0),
    honoured("base_num_decoder_layers", kInt, "16", "Layers; gemma2 counts pairs.", "model.layers").at_least(1),
    honoured("head_dim", kInt, "128", "Width of a head.", "attention.head_dim").at_least(1),
    not_built("attention_output_dim", kInt, "-1", "Width that attention gives to the output projection.",
              "another attention width"),
    honoured("global_head_dim", kInt, "0", "Width of a head in gemma4's global layers.", "attention.head_dim"),
    honoured("mlp_activations", kTexts, "[silu, linear]", "Activation, and linear for a gated MLP.", "mlp.activation")
        .in("silu|gelu|sigmoid|linear|relu"),
    honoured("mlp_activations_limit", kFloat, "-1.0", "Clamp of the gate and of the up projection.",
             "model.layers.mlp.clamp"),
    honoured("normalization_layer_epsilon", kFloat, "1e-05", "Epsilon of the norms; gemma blocks keep 1e-6.",
             "model.final_norm.eps")
        .at_least(0),
    no_effect("fused_qkv", kBool, "false", "One product for queries, keys and values.", kKernel),
    honoured("attention_bias", kBool, "false", "Biases of queries, keys and values; gpt_oss: of the output too.",
             "attention.qkv_bias attention.out_bias"),
    no_effect("fused_mlp", kBool, "false", "One product for gate and up.", kKernel),
    honoured("qk_norm_with_scale", kBool, "true", "Query and key norms have a weight.", "attention.qk_norm.has_gain")
        .under("use_qk_norm"),
    described("v_norm_with_scale", kBool, "true", "Gemma4's value norm has a weight.", "attention.value_norm.has_gain",
              "gemma4"),
    // --------------------------------------------------------------------------------------- LogitsAndLoss
    honoured("logits_via_embedding", kBool, "false", "The output layer is the embedding.", "model.tied_embeddings"),
    honoured("normalize_embedding_logits", kBool, "true", "Tied logits are divided by the square root of the width.",
             "model.logit_multiplier"),
    not_built("logits_dot_in_fp32", kBool, "false", "The logits' product in fp32.", "products in another precision"),
    not_built("cast_logits_to_fp32", kBool, "true", "The loss reads the logits in fp32.", "a loss in bf16"),
    honoured("final_logits_soft_cap", kMaybeFloat, "0.0", "Cap on the logits.", "model.logit_soft_cap").at_least(0),
    described("z_loss_multiplier", kFloat, "0.0", "Weight of the squared log partition sum in the loss.",
              "logit_z_loss", "z-loss on logits")
        .at_least(0),
    no_effect("num_vocab_tiling", kInt, "1", "Parts in which the loss is computed.", kMemory),
    no_effect("vocab_tiling_ag_once", kBool, "false", "Gathers the output layer once for all parts.", kMemory),
    // ------------------------------------------------------------------------------------------------- MTP
    honoured("mtp_num_layers", kInt, "0", "Predictions of tokens further ahead.", "model.mtp").at_least(0),
    honoured("mtp_loss_scaling_factor", kFloat, "0.1", "Their weight in the loss.", "model.mtp")
        .under("mtp_num_layers")
        .at_least(0),
    no_effect("mtp_eval_target_module", kInt, "0", "Depth whose acceptance rate is logged.", kLogOnly),
    no_effect("mtp_reuse_input_embedding", kBool, "false", "Looks the embedding up once for all depths.", kKernel),
    // --------------------------------------------------------------------------------- PositionalEmbedding
    no_effect("use_iota_embed", kBool, "false", "Embedding as a one-hot product.", kKernel),
    not_built("use_untrainable_positional_embedding", kBool, "false", "Fixed sine and cosine positions.",
              "sine positions"),
    honoured("trainable_position_size", kInt, "-1", "Learned positions (gpt3).",
             "model.learned_positions model.max_positions"),
    honoured("nope_layer_interval", kInt, "-1", "Each n-th layer has no rotary positions (llama4).",
             "model.layers.attention.rope"),
    // ------------------------------------------------------------------------------------------------ Rope
    honoured("rope_type", kText, "default", "Rotary frequencies: default, llama3.1 (by rope_use_scale) or yarn.",
             "attention.rope.kind model.layers.attention.rope.yarn")
        .in("default|llama3.1|yarn"),
    honoured("rope_use_scale", kBool, "true", "Llama3.1 frequencies are rescaled: 8, 1, 4, 8192.",
             "attention.rope.llama3"),
    refused("rope_min_timescale", kInt, "1", "Shortest wave of the rotation.",
            "every published model has 1, and the engine's frequencies begin there"),
    honoured("rope_max_timescale", kFloat, "10000", "Base of the rotation.", "attention.rope.base").at_least(1),
    honoured("rope_linear_scaling_factor", kFloat, "1.0", "Positions are divided by it.",
             "attention.rope.position_divisor")
        .at_least(0),
    honoured("local_rope_max_timescale", kFloat, "-1", "Base of local layers; not positive: rope_max_timescale.",
             "attention.rope.base"),
    honoured("global_rope_max_timescale", kFloat, "-1", "Base of gemma4's global layers.", "attention.rope.base"),
    honoured("global_rope_proportion", kFloat, "0.25", "Rotated part of a head in gemma4's global layers.",
             "attention.rope.fraction"),
    honoured("local_rope_proportion", kFloat, "1.0", "Rotated part of a head in gemma4's local layers.",
             "attention.rope.fraction"),
    // -------------------------------------------------------------------------------------------- YarnRope
    honoured("max_position_embeddings", kInt, "163840",
             "Positions; beyond original_max_position_embeddings it turns mscale on.", "model.max_positions")
        .at_least(1),
    honoured("original_max_position_embeddings", kInt, "4096", "Positions before YaRN.",
             "attention.rope.yarn.original_max_positions")
        .under("rope_type")
        .at_least(1),
    honoured("rope_factor", kFloat, "40", "Factor of YaRN.", "attention.rope.yarn.factor").under("rope_type"),
    honoured("beta_fast", kFloat, "32", "Fast end of YaRN's ramp.", "attention.rope.yarn.beta_fast").under("rope_type"),
    honoured("beta_slow", kFloat, "1", "Slow end of YaRN's ramp.", "attention.rope.yarn.beta_slow").under("rope_type"),
    honoured("mscale", kFloat, "1.0", "Magnitude of YaRN in latent attention's softmax scale.",
             "attention.softmax_scale")
        .under("rope_type"),
    honoured("rope_interleave", kBool, "true", "YaRN rotates neighbouring pairs; false: halves.",
             "attention.rope.interleaved")
        .under("rope_type"),
    honoured("rope_truncate", kBool, "true", "The ends of YaRN's ramp are whole numbers.",
             "attention.rope.yarn.whole_bounds")
        .under("rope_type"),
    honoured("rope_attention_scaling", kBool, "false", "Cosine and sine are multiplied by 0.1 ln(factor) + 1.",
             "attention.rope.yarn.cos_sin_factor")
        .under("rope_type"),
    no_effect("rope_pairwise", kBool, "false", "Order of the rotated pairs in memory.", "the scores are the same"),
    // ---------------------------------------------------------------------------------------------- Engram
    not_built("engram_layers", kInts, "[]", "Layers with n-gram memory.", "engram layers"),
    no_effect("engram_num_heads", kInt, "8", "Number of heads dedicated to the Engram.", kEngram),
    no_effect("engram_head_dim", kInt, "1280", "Head dimension for heads.", kEngram),
    no_effect("engram_vocab_bases", kMaybeInts, "null", "List of minimum head vocab sizes for each n-gram order.",
              kEngram),
    no_effect("engram_max_ngram_size", kInt, "3", "The max 'n' in N-gram.", kEngram),
    no_effect("engram_kernel_size", kInt, "4", "Temporal window size for Engram convolution.", kEngram),
    no_effect("engram_seed", kInt, "0", "The seed for Engram hash mapping.", kEngram),
    // ----------------------------------------------------------------- ManifoldConstrainedHyperConnections
    not_built("mhc_expansion_rate", kInt, "1", "Parallel residual streams.", "hyper connections"),
    no_effect("sinkhorn_iterations", kInt, "20", "The number of iterations for the Sinkhorn-Knopp algorithm.", kMhc),
    no_effect("enable_mhc_lite", kBool, "false",
              "Builds the mixing matrix of the residual streams from permutations instead of Sinkhorn iterations.",
              kMhc),
    no_effect(
        "use_mhc_pallas_kernel", kBool, "false",
        "Use the Pallas TPU kernel implementation for mHC-lite when running on TPU. Requires enable_mhc_lite=True.",
        kMhc),
    no_effect("mhc_pallas_kernel_fwd_block_size", kInt, "256", "Block size for forward pass of MHC Pallas kernel.",
              kMhc),
    no_effect("mhc_pallas_kernel_bwd_block_size", kInt, "128", "Block size for backward pass of MHC Pallas kernel.",
              kMhc),
    no_effect("mhc_pallas_kernel_bwd_feature_block_size", kInt, "1024",
              "Feature block size for backward pass of MHC Pallas kernel.", kMhc),
    // ------------------------------------------------------------------------------------------- Qwen3Next
    no_effect("gdn_conv_kernel_dim", kInt, "4", "Kernel size for the 1D convolution in the Gated Delta Net.", kGdn),
    no_effect("gdn_key_head_dim", kInt, "128", "Head dimension for the key/query in the Gated Delta Net.", kGdn),
    no_effect("gdn_value_head_dim", kInt, "128", "Head dimension for the value in the Gated Delta Net.", kGdn),
    no_effect("gdn_num_key_heads", kInt, "16", "Number of key/query heads in the Gated Delta Net.", kGdn),
    no_effect("gdn_num_value_heads", kInt, "32", "Number of value heads in the Gated Delta Net.", kGdn),
    no_effect("gdn_chunk_size", kInt, "64", "Chunk size for the parallel scan algorithm in the Gated Delta Net.", kGdn),
    no_effect("use_qk_norm_in_gdn", kBool, "true",
              "Apply L2 normalization to query and key tensors inside the Gated Delta Rule kernel.", kGdn),
    no_effect("gdn_mamba_block_size", kInt, "0",
              "Tokens per mamba block when serving under vLLM with mamba prefix caching (\"align\" mode).", kGdn),
    not_built("partial_rotary_factor", kFloat, "1.0", "Rotated part of a head (qwen3_next).",
              "partial rotation in this dialect"),
};

}  // namespace

std::span<const Parameter> maxtext_model_rows() {
  return kModelRows;
}

}  // namespace primus::dialect
