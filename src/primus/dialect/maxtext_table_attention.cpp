// Table data: attention. Names, kinds and defaults: MaxText 0.2.5 (base.yml, configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr Parameter kAttentionRows[] = {
    // ------------------------------------------------------------------------------------------- Attention
    no_effect("attention", kText, "autoselected", "Kernel of attention.", kKernel),
    honoured("attention_type", kText, "global", "Kind of attention; read by the deepseek blocks.",
             "model.layers.attention.latent")
        .in("global|local_sliding|chunk|mla|full|compressed|block_diffusion"),
    described("share_kv_projections", kBool, "false", "Keys serve as values in gemma4's global layers.",
              "model.layers.attention.values_are_keys", "gemma4"),
    honoured("global_num_kv_heads", kInt, "0", "Key and value heads of gemma4's global layers.",
             "attention.num_kv_heads"),
    not_built("hidden_size_per_layer_input", kInt, "0", "Width of the per-layer embeddings of gemma4-e2b and e4b.",
              "per-layer embeddings"),
    not_built("vocab_size_per_layer_input", kInt, "0", "Vocabulary of those embeddings.", "per-layer embeddings"),
    not_built("num_kv_shared_layers", kInt, "0", "Last layers that reuse keys and values of earlier ones.",
              "shared keys and values"),
    not_built("use_double_wide_mlp", kBool, "false", "Those layers' MLP is twice as wide.", "shared keys and values"),
    honoured("attention_sink", kBool, "false", "A learned logit per head in the softmax (gpt_oss).",
             "model.layers.attention.sink"),
    no_effect("float32_qk_product", kBool, "false", "Attention's logits in fp32.",
              "the engine keeps attention's logits and softmax in fp32"),
    no_effect("float32_logits", kBool, "false", "Attention's softmax in fp32.",
              "the engine keeps attention's logits and softmax in fp32"),
    honoured("sliding_window_size", kInt, "0", "Keys that a query of a local layer sees, itself included.",
             "model.layers.attention.window_keys")
        .at_least(0),
    honoured("chunk_attn_window_size", kInt, "0", "Chunk of llama4's local layers.",
             "model.layers.attention.chunk_size")
        .at_least(0),
    no_effect("causal_block_size", kInt, "32", "Block of block-diffusion attention.",
              "read only by training_objective block_diffusion"),
    honoured("attn_logits_soft_cap", kMaybeFloat, "0.0", "Cap on attention's logits.",
             "model.layers.attention.logit_soft_cap")
        .at_least(0),
    honoured("use_post_attn_norm", kBool, "false", "Norm behind attention (gemma blocks).",
             "model.layers.attention_output_norm"),
    honoured("use_post_ffw_norm", kBool, "false", "Norm behind the MLP (gemma blocks).",
             "model.layers.mlp_output_norm"),
    no_effect("use_ragged_attention", kBool, "false", "Use ragged attention kernels.", kInference),
    no_effect("ragged_block_size", kInt, "256", "Block size for ragged attention.", kInference),
    no_effect("enable_padding_causal_mask", kBool, "true", "Temporary flag for Transformer Engine padding.", kXla),
    no_effect("use_tokamax_splash", kBool, "false", "Use tokamax splash attention.", kXla),
    no_effect("use_jax_splash", kBool, "false", "Use jax splash attention.", kXla),
    no_effect("force_q_layout", kBool, "false", "Force the Q layout.", kXla),
    not_built("use_qk_clip", kBool, "false", "Rescales queries and keys whose logits grow too large.", "QK-Clip"),
    no_effect("qk_clip_threshold", kFloat, "100.0", "Threshold of that.", "read only with use_qk_clip"),
    no_effect("mla_qk_head_chunk_size", kInt, "0",
              "Chunk size over heads dimension for QK attention dot product in mla.", kXla),
    no_effect("csa_qk_head_chunk_size", kInt, "0",
              "Chunk size over heads dimension for QK attention dot product in CSA (DeepSeek-V4).", kXla),
    // ---------------------------------------------------------------------------------------- MlaAttention
    no_effect("mla_naive_kvcache", kBool, "true", "Use naive kvcache for MLA attention.", kInference),
    honoured("q_lora_rank", kInt, "0", "Rank of latent queries; 0: one projection.",
             "model.layers.attention.latent.q_lora_rank")
        .under("attention_type")
        .at_least(0),
    honoured("kv_lora_rank", kInt, "512", "Rank of latent keys and values.",
             "model.layers.attention.latent.kv_lora_rank")
        .under("attention_type")
        .at_least(0),
    honoured("qk_nope_head_dim", kInt, "128", "Part of a head without positions.",
             "model.layers.attention.latent.nope_head_dim")
        .under("attention_type")
        .at_least(0),
    honoured("qk_rope_head_dim", kInt, "64", "Rotated part of a head, one for all heads.",
             "model.layers.attention.latent.rope_head_dim")
        .under("attention_type")
        .at_least(0),
    honoured("v_head_dim", kInt, "128", "Width of a value head.", "model.layers.attention.latent.v_head_dim")
        .under("attention_type")
        .at_least(0),
    no_effect("use_sliced_mla_proj", kBool, "false", "Cuts the latent projections' weights before the product.", kXla),
    no_effect("use_mla_absorbed_mqa", kBool, "false", "Absorbs the query projection into the latent one when decoding.",
              kInference),
    // --------------------------------------------------------------------------------- CompressedAttention
    not_built("o_lora_rank", kInt, "0", "Rank of the output projection (deepseek4).", "compressed attention"),
    not_built("o_groups", kInt, "0", "Groups of the output projection (deepseek4).", "compressed attention"),
    not_built("compress_ratios", kInts, "[]", "Compression per layer (deepseek4).", "compressed attention"),
    no_effect("compressed_rope_max_timescale", kFloat, "160000", "Base of compressed layers (deepseek4).",
              "read only with compress_ratios"),
    no_effect("use_csa_streamindex_kernel", kBool, "false",
              "Use Pallas TPU kernel for CSA StreamIndex score computation.", kXla),
    // ------------------------------------------------------------------------------------------------ MoBa
    not_built("moba", kBool, "false", "Mixture of block attention.", "block attention"),
    no_effect("moba_chunk_size", kInt, "1024", "Block of that.", "read only with moba"),
    no_effect("moba_topk", kInt, "8", "Blocks that a query sees.", "read only with moba"),
    // ------------------------------------------------------------------------------------ AttentionIndexer
    not_built("use_indexer", kBool, "false", "Sparse attention of deepseek3.2.", "sparse attention"),
    no_effect("indexer_head_dim", kInt, "128", "Head dim for indexer query and key.", kIndexer),
    no_effect("indexer_n_heads", kInt, "64", "Number of query heads in indexer.", kIndexer),
    no_effect("indexer_topk", kInt, "2048", "Number of tokens selected by the query token in indexer.", kIndexer),
    no_effect("indexer_sparse_training", kBool, "false",
              "Determines the training strategy for the indexer: Dense Warm-up or Sparse Training stage.", kIndexer),
    no_effect("indexer_loss_scaling_factor", kFloat, "0.0", "Multiplier for the indexer KL divergence loss.", kIndexer),
    no_effect("indexer_use_approx_top_k", kBool, "false", "Use approximate top-k selection for the indexer on TPU.",
              kIndexer),
    no_effect("indexer_approx_top_k_recall", kFloat, "0.95", "Recall target for approximate top-k selection.",
              kIndexer),
    no_effect("indexer_mask_exact_topk", kBool, "true", "Keeps exactly k keys where scores are equal.", kIndexer),
    // ------------------------------------------------------------------------------------- Llama4Attention
    honoured("use_qk_norm", kBool, "false", "Norms on queries and keys; llama4: after the rotation, without weight.",
             "model.layers.attention.qk_norm"),
    honoured("temperature_tuning", kBool, "false",
             "Queries of llama4's layers without positions grow with their place.",
             "model.layers.attention.temperature"),
    // ------------------------------------------------------------------------------------- SplashAttention
    no_effect("sa_block_q", kInt, "512", "Block size for Q in splash attention.", kXla),
    no_effect("sa_block_kv", kInt, "512", "Block size for KV in splash attention.", kXla),
    no_effect("sa_block_kv_compute", kInt, "512", "Block size for KV compute in splash attention.", kXla),
    no_effect("eval_sa_block_q", kInt, "512", "Block size for Q in splash attention during evaluation.", kXla),
    no_effect("eval_sa_block_kv", kInt, "512", "Block size for KV in splash attention during evaluation.", kXla),
    no_effect("eval_sa_block_kv_compute", kInt, "512",
              "Block size for KV compute in splash attention during evaluation.", kXla),
    no_effect("sa_block_q_dkv", kInt, "512", "Block size for Q_dkv in splash attention.", kXla),
    no_effect("sa_block_kv_dkv", kInt, "512", "Block size for KV_dkv in splash attention.", kXla),
    no_effect("sa_block_kv_dkv_compute", kInt, "512", "Block size for KV_dkv compute in splash attention.", kXla),
    no_effect("sa_block_q_dq", kInt, "512", "Block size for Q_dq in splash attention.", kXla),
    no_effect("sa_block_kv_dq", kInt, "512", "Block size for KV_dq in splash attention.", kXla),
    no_effect("sa_use_fused_bwd_kernel", kBool, "false", "Use fused backward kernel in splash attention.", kXla),
    no_effect("sa_bwd_dkv_megacore", kBool, "false", "Megacore-parallel kv-head groups in the static dkv grid.", kXla),
    no_effect("sa_q_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for Q in splash attention.", kXla),
    no_effect("sa_k_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for K in splash attention.", kXla),
    no_effect("sa_v_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for V in splash attention.", kXla),
    no_effect("eval_sa_q_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for Q in splash attention during evaluation.",
              kXla),
    no_effect("eval_sa_k_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for K in splash attention during evaluation.",
              kXla),
    no_effect("eval_sa_v_layout", kMaybeText, "HEAD_DIM_MINOR", "Layout for V in splash attention during evaluation.",
              kXla),
    no_effect("use_splash_scheduler", kBool, "false", "Use experimental splash attention scheduler.", kXla),
    no_effect("ring_scan_unroll", kInt, "1", "Unroll factor for the Tokamax ring attention scan.", kXla),
    no_effect("sa_fuse_reciprocal", kBool, "true", "Maps to fuse_reciprocal in SplashConfig.", kXla),
    no_effect("sa_use_base2_exp", kBool, "true", "Maps to use_base2_exp in SplashConfig.", kXla),
    no_effect("local_sa_block_q", kMaybeInt, "null", "Block size for Q in local splash attention.", kXla),
    no_effect("local_sa_block_kv", kMaybeInt, "null", "Block size for KV in local splash attention.", kXla),
    no_effect("local_sa_block_kv_compute", kMaybeInt, "null", "Block size for KV compute in local splash attention.",
              kXla),
    no_effect("eval_local_sa_block_q", kMaybeInt, "null",
              "Block size for Q in local splash attention during evaluation.", kXla),
    no_effect("eval_local_sa_block_kv", kMaybeInt, "null",
              "Block size for KV in local splash attention during evaluation.", kXla),
    no_effect("eval_local_sa_block_kv_compute", kMaybeInt, "null",
              "Block size for KV compute in local splash attention during evaluation.", kXla),
    no_effect("local_sa_block_q_dkv", kMaybeInt, "null", "Block size for Q_dkv in local splash attention.", kXla),
    no_effect("local_sa_block_kv_dkv", kMaybeInt, "null", "Block size for KV_dkv in local splash attention.", kXla),
    no_effect("local_sa_block_kv_dkv_compute", kMaybeInt, "null",
              "Block size for KV_dkv compute in local splash attention.", kXla),
    no_effect("local_sa_block_q_dq", kMaybeInt, "null", "Block size for Q_dq in local splash attention.", kXla),
    no_effect("local_sa_block_kv_dq", kMaybeInt, "null", "Block size for KV_dq in local splash attention.", kXla),
    no_effect("local_sa_use_fused_bwd_kernel", kMaybeBool, "null",
              "Use fused backward kernel in local splash attention.", kXla),
    no_effect("local_sa_q_layout", kMaybeText, "null", "Layout for Q in local splash attention.", kXla),
    no_effect("local_sa_k_layout", kMaybeText, "null", "Layout for K in local splash attention.", kXla),
    no_effect("local_sa_v_layout", kMaybeText, "null", "Layout for V in local splash attention.", kXla),
    no_effect("eval_local_sa_q_layout", kMaybeText, "null", "Layout for Q in local splash attention during evaluation.",
              kXla),
    no_effect("eval_local_sa_k_layout", kMaybeText, "null", "Layout for K in local splash attention during evaluation.",
              kXla),
    no_effect("eval_local_sa_v_layout", kMaybeText, "null", "Layout for V in local splash attention during evaluation.",
              kXla),
    no_effect("local_use_splash_scheduler", kMaybeBool, "null", "Use experimental local splash attention scheduler.",
              kXla),
    no_effect("local_sa_fuse_reciprocal", kMaybeBool, "null", "Maps to local fuse_reciprocal in SplashConfig.", kXla),
    no_effect("local_sa_use_base2_exp", kMaybeBool, "null", "Maps to local use_base2_exp in SplashConfig.", kXla),
    not_built("experimental_sa_quant_q_fp8", kBool, "false", "Queries of the splash kernel in fp8, without scales.",
              "fp8 attention"),
    not_built("experimental_sa_quant_k_fp8", kBool, "false", "Keys of the splash kernel in fp8, without scales.",
              "fp8 attention"),
    no_effect("use_max_logit_estimate", kInt, "-1",
              "-1 means no estimate, any > 0 value will be used as max logit estimate.", kXla),
    no_effect("cost_estimate_flops_fwd", kInt, "-1",
              "-1 means using splash default cost estimation, any >= 0 value will be used as cost estimation.", kXla),
    no_effect("cost_estimate_flops_bwd", kInt, "-1",
              "-1 means using splash default cost estimation, any >= 0 value will be used as cost estimation.", kXla),
    no_effect("dq_reduction_steps", kInt, "0", "The number of reduction steps.", kXla),
};

}  // namespace

std::span<const Parameter> maxtext_attention_rows() {
  return kAttentionRows;
}

}  // namespace primus::dialect
