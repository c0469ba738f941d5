// Architectures by model_name: mixtures of experts. Every line is one file of MaxText 0.2.5's configs/models, without
// the keys of image and sound encoders (no text model reads them) and of device layout.
#include "primus/dialect/maxtext_models.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kDeepSeek3 =
    "decoder_block: deepseek, base_num_decoder_layers: 61, base_emb_dim: 7168, "
    "base_num_query_heads: 128, base_num_kv_heads: 128, base_mlp_dim: 18432, vocab_size: 129280, "
    "base_moe_mlp_dim: 2048, first_num_dense_layers: 3, mlp_activations: [silu, linear], "
    "enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-06, "
    "num_experts: 256, num_experts_per_tok: 8, shared_experts: 1, routed_scaling_factor: 2.5, "
    "routed_score_func: sigmoid, routed_bias: true, attention_type: mla, q_lora_rank: 1536, "
    "kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, mscale: 1.0, "
    "rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 163840, "
    "original_max_position_embeddings: 4096, rope_factor: 40, beta_fast: 32, rope_interleave: true, "
    "rope_truncate: true, rope_attention_scaling: false";

constexpr MaxtextModel kMoeModels[] = {
    {"deepseek-custom",
     "decoder_block: deepseek, base_num_decoder_layers: 6, base_emb_dim: 1024, base_num_query_heads: 16, "
     "base_num_kv_heads: 16, base_mlp_dim: 2048, vocab_size: 129280, base_moe_mlp_dim: 512, "
     "first_num_dense_layers: 1, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: "
     "false, normalization_layer_epsilon: 1.0e-06, num_experts: 16, num_experts_per_tok: 2, shared_experts: 1, "
     "routed_scaling_factor: 2.5, routed_score_func: sigmoid, routed_bias: true, attention_type: mla, "
     "q_lora_rank: 384, kv_lora_rank: 128, qk_nope_head_dim: 32, qk_rope_head_dim: 16, v_head_dim: 128, mscale: "
     "1.0, rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 4096, "
     "original_max_position_embeddings: 4096, rope_factor: 1, beta_fast: 32, rope_interleave: true, "
     "rope_truncate: true, rope_attention_scaling: false, use_indexer: true, indexer_n_heads: 16, "
     "indexer_head_dim: 64, indexer_topk: 256, mhc_expansion_rate: 4, sinkhorn_iterations: 20, engram_layers: "
     "[1, 4], engram_num_heads: 8, engram_head_dim: 512, engram_vocab_bases: [226240, 226240], "
     "engram_max_ngram_size: 3, engram_kernel_size: 4, engram_seed: 0"},
    {"deepseek2-16b",
     "decoder_block: deepseek, base_num_decoder_layers: 27, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 16, base_mlp_dim: 10944, vocab_size: 102400, base_moe_mlp_dim: 1408, "
     "first_num_dense_layers: 1, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: "
     "false, normalization_layer_epsilon: 1.0e-06, num_experts: 64, num_experts_per_tok: 6, shared_experts: 2, "
     "routed_scaling_factor: 1.0, routed_score_func: softmax, routed_bias: false, attention_type: mla, "
     "q_lora_rank: 0, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
     "rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 163840, "
     "original_max_position_embeddings: 4096, rope_factor: 40, beta_fast: 32, mscale: 0.707, rope_interleave: "
     "true, rope_truncate: true, rope_attention_scaling: false"},
    {"deepseek2-236b",
     "decoder_block: deepseek, base_num_decoder_layers: 60, base_emb_dim: 5120, base_num_query_heads: 128, "
     "base_num_kv_heads: 128, base_mlp_dim: 12288, vocab_size: 102400, base_moe_mlp_dim: 1536, "
     "first_num_dense_layers: 1, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: "
     "false, normalization_layer_epsilon: 1.0e-06, num_experts: 160, num_experts_per_tok: 6, shared_experts: 2, "
     "routed_scaling_factor: 16.0, routed_score_func: softmax, routed_bias: false, attention_type: mla, "
     "q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
     "rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 163840, "
     "original_max_position_embeddings: 4096, rope_factor: 40, beta_fast: 32, mscale: 0.707, rope_interleave: "
     "true, rope_truncate: true, rope_attention_scaling: false"},
    {"deepseek3-671b-2dfsdp", kDeepSeek3},
    {"deepseek3-671b-batchsplit", kDeepSeek3,
     "n_routing_groups: 8, topk_routing_group: 4, use_batch_split_schedule: true, shard_mode: explicit, "
     "remove_size_one_mesh_axis_from_type: false"},
    {"deepseek3-671b", kDeepSeek3},
    {"deepseek3-test",
     "decoder_block: deepseek, base_num_decoder_layers: 61, base_emb_dim: 512, base_num_query_heads: 128, "
     "base_num_kv_heads: 128, base_mlp_dim: 18432, vocab_size: 129280, base_moe_mlp_dim: 512, "
     "first_num_dense_layers: 3, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: "
     "false, normalization_layer_epsilon: 1.0e-06, num_experts: 256, num_experts_per_tok: 8, shared_experts: 1, "
     "routed_scaling_factor: 2.5, routed_score_func: sigmoid, routed_bias: true, attention_type: mla, "
     "q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
     "mscale: 1.0, rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 163840, "
     "original_max_position_embeddings: 4096, rope_factor: 40, beta_fast: 32"},
    {"deepseek3-tiny",
     "decoder_block: deepseek, base_num_decoder_layers: 61, base_emb_dim: 64, base_num_query_heads: 4, "
     "base_num_kv_heads: 4, base_mlp_dim: 64, vocab_size: 129280, base_moe_mlp_dim: 64, first_num_dense_layers: "
     "3, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: false, "
     "normalization_layer_epsilon: 1.0e-06, num_experts: 16, num_experts_per_tok: 8, shared_experts: 1, "
     "routed_scaling_factor: 2.5, routed_score_func: sigmoid, routed_bias: true, attention_type: mla, "
     "q_lora_rank: 32, kv_lora_rank: 16, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, mscale: "
     "1.0, rope_type: yarn, rope_max_timescale: 10000, max_position_embeddings: 163840, "
     "original_max_position_embeddings: 4096, rope_factor: 40, beta_fast: 32"},
    {"deepseek3.2-671b", kDeepSeek3,
     "use_indexer: true, indexer_n_heads: 64, indexer_head_dim: 128, indexer_topk: 2048"},
    {"deepseek4-284b",
     "decoder_block: deepseek4, base_num_decoder_layers: 43, base_emb_dim: 4096, base_num_query_heads: 64, "
     "base_num_kv_heads: 1, head_dim: 512, base_mlp_dim: 2048, vocab_size: 129280, base_moe_mlp_dim: 2048, "
     "qk_rope_head_dim: 64, enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: "
     "1.0e-06, mhc_expansion_rate: 4, first_num_hash_layers: 3, indexer_head_dim: 128, indexer_n_heads: 64, "
     "indexer_topk: 512, compress_ratios: [0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
     "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4], "
     "mlp_activations: [silu, linear], num_experts: 256, num_experts_per_tok: 6, mlp_activations_limit: 10, "
     "shared_experts: 1, routed_score_func: sqrtsoftplus, norm_topk_prob: true, routed_bias: true, "
     "routed_bias_update_rate: 0.001, load_balance_loss_weight: 0.0001, log_moe_bias_norms: false, "
     "routed_scaling_factor: 1.5, attention_type: compressed, use_indexer: true, q_lora_rank: 1024, o_groups: "
     "8, o_lora_rank: 1024, sliding_window_size: 128, rope_type: default, rope_max_timescale: 10000, "
     "compressed_rope_max_timescale: 160000, max_position_embeddings: 1048576, "
     "original_max_position_embeddings: 65536"},
    {"deepseek4-tiny",
     "decoder_block: deepseek4, base_num_decoder_layers: 43, base_emb_dim: 64, base_num_query_heads: 4, "
     "base_num_kv_heads: 1, head_dim: 32, base_mlp_dim: 64, vocab_size: 129280, base_moe_mlp_dim: 64, "
     "qk_rope_head_dim: 32, enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: "
     "1.0e-06, mhc_expansion_rate: 4, first_num_hash_layers: 3, indexer_head_dim: 32, indexer_n_heads: 4, "
     "indexer_topk: 16, compress_ratios: [0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, "
     "4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4], "
     "mlp_activations: [silu, linear], num_experts: 16, num_experts_per_tok: 4, mlp_activations_limit: 10, "
     "shared_experts: 1, routed_score_func: sqrtsoftplus, routed_bias: true, routed_bias_update_rate: 0.001, "
     "load_balance_loss_weight: 0.0001, log_moe_bias_norms: false, attention_type: compressed, use_indexer: "
     "true, q_lora_rank: 16, o_groups: 4, o_lora_rank: 16, sliding_window_size: 32, rope_type: default, "
     "rope_max_timescale: 10000, compressed_rope_max_timescale: 160000, max_position_embeddings: 4096"},
    {"envy-switch-base",
     "decoder_block: envy, base_num_decoder_layers: 12, base_emb_dim: 1536, base_num_query_heads: 12, "
     "base_num_kv_heads: 12, base_mlp_dim: 6144, vocab_size: 32768, mlp_activations: [silu, linear], "
     "enable_dropout: false, logits_via_embedding: true, tokenizer_type: huggingface, base_moe_mlp_dim: 6144, "
     "normalization_layer_epsilon: 1.0e-05, rope_max_timescale: 500000, num_experts: 128, num_experts_per_tok: "
     "1, use_qk_norm: true, use_post_ffw_norm: true, load_balance_loss_weight: 0.01, interleave_moe_layer_step: "
     "2, inhomogeneous_layer_cycle_interval: 2"},
    {"envy-switch-large",
     "decoder_block: envy, base_num_decoder_layers: 24, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 16, base_mlp_dim: 8192, vocab_size: 32768, mlp_activations: [silu, linear], "
     "enable_dropout: false, logits_via_embedding: true, tokenizer_type: huggingface, base_moe_mlp_dim: 8192, "
     "normalization_layer_epsilon: 1.0e-05, rope_max_timescale: 500000, num_experts: 128, num_experts_per_tok: "
     "1, use_qk_norm: true, use_post_ffw_norm: true, load_balance_loss_weight: 0.01, interleave_moe_layer_step: "
     "2, inhomogeneous_layer_cycle_interval: 2"},
    {"envy-switch-xxl",
     "decoder_block: envy, base_num_decoder_layers: 24, base_emb_dim: 8192, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, base_mlp_dim: 20480, vocab_size: 32768, mlp_activations: [silu, linear], "
     "enable_dropout: false, logits_via_embedding: true, tokenizer_type: huggingface, base_moe_mlp_dim: 20480, "
     "normalization_layer_epsilon: 1.0e-05, rope_max_timescale: 500000, num_experts: 64, num_experts_per_tok: "
     "1, use_qk_norm: true, use_post_ffw_norm: true, load_balance_loss_weight: 0.01, interleave_moe_layer_step: "
     "2, inhomogeneous_layer_cycle_interval: 2"},
    {"envy-test",
     "decoder_block: envy, base_num_decoder_layers: 4, base_emb_dim: 8, base_num_query_heads: 4, "
     "base_num_kv_heads: 2, base_mlp_dim: 16, vocab_size: 32, mlp_activations: [silu, linear], enable_dropout: "
     "false, logits_via_embedding: true, tokenizer_type: huggingface, base_moe_mlp_dim: 16, "
     "normalization_layer_epsilon: 1.0e-05, rope_max_timescale: 500000, num_experts: 8, num_experts_per_tok: 1, "
     "use_qk_norm: true, use_post_ffw_norm: true, interleave_moe_layer_step: 2, "
     "inhomogeneous_layer_cycle_interval: 2, megablox: false, sparse_matmul: false"},
    {"gemma4-26b",
     "decoder_block: gemma4, base_num_decoder_layers: 30, base_emb_dim: 2816, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 256, base_mlp_dim: 2112, vocab_size: 262144, base_moe_mlp_dim: 704, "
     "mlp_activations: [gelu, linear], global_head_dim: 512, global_num_kv_heads: 2, "
     "normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, sliding_window_size: 1024, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, share_kv_projections: true, local_rope_max_timescale: "
     "10000, global_rope_max_timescale: 1000000, rope_max_timescale: 1000000, global_rope_proportion: 0.25, "
     "local_rope_proportion: 1.0, v_norm_with_scale: false, final_logits_soft_cap: 30.0, num_experts: 128, "
     "num_experts_per_tok: 8, shared_experts: 1, norm_topk_prob: true, load_balance_loss_weight: 0.001"},
    {"gpt-oss-120b",
     "decoder_block: gpt_oss, base_num_decoder_layers: 36, base_emb_dim: 2880, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 64, base_mlp_dim: 2880, vocab_size: 201088, sliding_window_size: 128, "
     "attention_bias: true, attention_sink: true, rope_type: yarn, rope_max_timescale: 150000, "
     "max_position_embeddings: 131072, original_max_position_embeddings: 4096, rope_factor: 32, beta_fast: 32, "
     "beta_slow: 1, rope_interleave: false, rope_truncate: false, rope_attention_scaling: true, "
     "base_moe_mlp_dim: 2880, mlp_activations: [sigmoid, linear], mlp_activations_limit: 7.0, routed_bias: "
     "true, mlp_bias: true, num_experts: 128, num_experts_per_tok: 4, normalization_layer_epsilon: 1.0e-05, "
     "enable_dropout: false, logits_via_embedding: false, inhomogeneous_layer_cycle_interval: 2"},
    {"gpt-oss-20b",
     "decoder_block: gpt_oss, base_num_decoder_layers: 24, base_emb_dim: 2880, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 64, base_mlp_dim: 2880, vocab_size: 201088, sliding_window_size: 128, "
     "attention_bias: true, attention_sink: true, rope_type: yarn, rope_max_timescale: 150000, "
     "max_position_embeddings: 131072, original_max_position_embeddings: 4096, rope_factor: 32, beta_fast: 32, "
     "beta_slow: 1, rope_interleave: false, rope_truncate: false, rope_attention_scaling: true, "
     "base_moe_mlp_dim: 2880, mlp_activations: [sigmoid, linear], mlp_activations_limit: 7.0, routed_bias: "
     "true, mlp_bias: true, num_experts: 32, num_experts_per_tok: 4, normalization_layer_epsilon: 1.0e-05, "
     "enable_dropout: false, logits_via_embedding: false, inhomogeneous_layer_cycle_interval: 2"},
    {"kimi-k2-1t",
     "decoder_block: deepseek, base_num_decoder_layers: 61, base_emb_dim: 7168, base_num_query_heads: 64, "
     "base_num_kv_heads: 64, base_mlp_dim: 18432, vocab_size: 163840, base_moe_mlp_dim: 2048, "
     "first_num_dense_layers: 1, mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: "
     "false, normalization_layer_epsilon: 1.0e-06, num_experts: 384, num_experts_per_tok: 8, shared_experts: 1, "
     "routed_scaling_factor: 2.827, routed_score_func: sigmoid, routed_bias: true, attention_type: mla, "
     "q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
     "mscale: 1.0, rope_type: yarn, rope_max_timescale: 50000, max_position_embeddings: 131072, "
     "original_max_position_embeddings: 4096, rope_factor: 32, beta_fast: 1, beta_slow: 1"},
    {"llama4-17b-128e",
     "decoder_block: llama4, base_num_decoder_layers: 48, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, base_mlp_dim: 16384, vocab_size: 202048, mlp_activations: [silu, linear], "
     "enable_dropout: false, tokenizer_type: huggingface, base_moe_mlp_dim: 8192, normalization_layer_epsilon: "
     "1.0e-05, rope_max_timescale: 500000, rope_type: llama3.1, rope_use_scale: false, num_experts: 128, "
     "shared_experts: 1, num_experts_per_tok: 1, use_qk_norm: false, nope_layer_interval: 4, "
     "interleave_moe_layer_step: 2, inhomogeneous_layer_cycle_interval: 4, temperature_tuning: true, "
     "chunk_attn_window_size: 8192"},
    {"llama4-17b-16e",
     "decoder_block: llama4, base_num_decoder_layers: 48, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, base_mlp_dim: 8192, vocab_size: 202048, mlp_activations: [silu, linear], "
     "enable_dropout: false, logits_via_embedding: false, tokenizer_type: huggingface, base_moe_mlp_dim: 8192, "
     "normalization_layer_epsilon: 1.0e-05, rope_max_timescale: 500000, rope_type: llama3.1, num_experts: 16, "
     "shared_experts: 1, num_experts_per_tok: 1, use_qk_norm: true, nope_layer_interval: 4, "
     "interleave_moe_layer_step: 1, inhomogeneous_layer_cycle_interval: 4, temperature_tuning: true, "
     "chunk_attn_window_size: 8192"},
    {"mixtral-8x22b",
     "decoder_block: mixtral, base_num_decoder_layers: 56, base_emb_dim: 6144, base_num_query_heads: 48, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 16384, vocab_size: 32768, base_moe_mlp_dim: 16384, "
     "mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: false, "
     "normalization_layer_epsilon: 1.0e-05, num_experts: 8, num_experts_per_tok: 2, rope_max_timescale: 1000000"},
    {"mixtral-8x7b",
     "decoder_block: mixtral, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 14336, vocab_size: 32000, base_moe_mlp_dim: 14336, "
     "mlp_activations: [silu, linear], enable_dropout: false, logits_via_embedding: false, "
     "normalization_layer_epsilon: 1.0e-05, num_experts: 8, num_experts_per_tok: 2, rope_max_timescale: 1000000"},
    {"qwen3-235b-a22b",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 94, base_emb_dim: 4096, base_num_query_heads: 64, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 1536, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 128, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 1536, load_balance_loss_weight: 0.001, norm_topk_prob: true, rope_max_timescale: "
     "5000000, enable_dropout: false"},
    {"qwen3-30b-a3b-base",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: 32, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 768, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 128, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 768, norm_topk_prob: true, rope_max_timescale: 1000000, enable_dropout: false"},
    {"qwen3-30b-a3b",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: 32, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 768, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 128, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 768, norm_topk_prob: true, rope_max_timescale: 10000000, enable_dropout: false"},
    {"qwen3-480b-a35b",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 62, base_emb_dim: 6144, base_num_query_heads: 96, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 2560, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 160, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 2560, norm_topk_prob: true, rope_max_timescale: 10000000, enable_dropout: false"},
    {"qwen3-custom-30b-a3b",
     "decoder_block: qwen3_custom_moe, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: "
     "16, base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 2048, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, attention_output_dim: 768, "
     "moe_expert_input_dim: 768, num_experts: 128, num_experts_per_tok: 8, base_moe_mlp_dim: 2048, "
     "norm_topk_prob: true, rope_max_timescale: 10000000, enable_dropout: false"},
    {"qwen3-next-80b-a3b",
     "decoder_block: qwen3_next, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 512, vocab_size: 151936, normalization_layer_epsilon: "
     "1.0e-06, base_moe_mlp_dim: 512, num_experts: 512, shared_experts: 1, num_experts_per_tok: 10, "
     "norm_topk_prob: true, inhomogeneous_layer_cycle_interval: 4, gdn_conv_kernel_dim: 4, gdn_key_head_dim: "
     "128, gdn_value_head_dim: 128, gdn_num_key_heads: 16, gdn_num_value_heads: 32, gdn_chunk_size: 64, "
     "rope_max_timescale: 10000000, partial_rotary_factor: 0.25, enable_dropout: false"},
    {"qwen3-omni-30b-a3b",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: 32, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 768, vocab_size: 152064, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 128, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 768, norm_topk_prob: true, rope_max_timescale: 1000000, max_position_embeddings: "
     "65536, enable_dropout: false, scan_layers: false, use_mrope: true"},
    {"qwen3-vl-30b-a3b",
     "decoder_block: qwen3_moe, base_num_decoder_layers: 48, base_emb_dim: 2048, base_num_query_heads: 32, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 768, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, num_experts: 128, num_experts_per_tok: "
     "8, base_moe_mlp_dim: 768, norm_topk_prob: true, rope_max_timescale: 5000000, enable_dropout: false, "
     "use_mrope: true, scan_layers: false"},
    {"qwen3.5-35b-a3b-fp8",
     "decoder_block: qwen3_5, base_num_decoder_layers: 40, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 512, vocab_size: 248320, normalization_layer_epsilon: "
     "1.0e-06, base_moe_mlp_dim: 512, num_experts: 256, shared_experts: 1, num_experts_per_tok: 8, "
     "norm_topk_prob: true, float32_gate_logits: true, inhomogeneous_layer_cycle_interval: 4, "
     "gdn_conv_kernel_dim: 4, gdn_key_head_dim: 128, gdn_value_head_dim: 128, gdn_num_key_heads: 16, "
     "gdn_num_value_heads: 32, gdn_chunk_size: 64, rope_max_timescale: 10000000, partial_rotary_factor: 0.25, "
     "enable_dropout: false, logits_via_embedding: false, use_mrope: true, weight_dtype: float8_e4m3fn, "
     "weight_block_size: 128, dtype: bfloat16, unquantized_modules: [token_embedder, logits_dense, gate, "
     "shared_expert_gate, conv1d, in_proj_ba, A_log, dt_bias, norm]"},
    {"qwen3.5-35b-a3b",
     "decoder_block: qwen3_5, base_num_decoder_layers: 40, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 512, vocab_size: 248320, normalization_layer_epsilon: "
     "1.0e-06, base_moe_mlp_dim: 512, num_experts: 256, shared_experts: 1, num_experts_per_tok: 8, "
     "norm_topk_prob: true, inhomogeneous_layer_cycle_interval: 4, gdn_conv_kernel_dim: 4, gdn_key_head_dim: "
     "128, gdn_value_head_dim: 128, gdn_num_key_heads: 16, gdn_num_value_heads: 32, gdn_chunk_size: 64, "
     "rope_max_timescale: 10000000, partial_rotary_factor: 0.25, enable_dropout: false, use_mrope: true"},
    {"qwen3.5-397b-a17b-fp8",
     "decoder_block: qwen3_5, base_num_decoder_layers: 60, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 1024, vocab_size: 248320, normalization_layer_epsilon: "
     "1.0e-06, base_moe_mlp_dim: 1024, num_experts: 512, shared_experts: 1, num_experts_per_tok: 10, "
     "norm_topk_prob: true, float32_gate_logits: true, inhomogeneous_layer_cycle_interval: 4, "
     "gdn_conv_kernel_dim: 4, gdn_key_head_dim: 128, gdn_value_head_dim: 128, gdn_num_key_heads: 16, "
     "gdn_num_value_heads: 64, gdn_chunk_size: 64, rope_max_timescale: 10000000, partial_rotary_factor: 0.25, "
     "enable_dropout: false, logits_via_embedding: false, use_mrope: true, weight_dtype: float8_e4m3fn, "
     "weight_block_size: 128, dtype: bfloat16, unquantized_modules: [token_embedder, logits_dense, gate, "
     "shared_expert_gate, conv1d, in_proj_ba, A_log, dt_bias, norm]"},
    {"qwen3.5-397b-a17b",
     "decoder_block: qwen3_5, base_num_decoder_layers: 60, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 1024, vocab_size: 248320, normalization_layer_epsilon: "
     "1.0e-06, base_moe_mlp_dim: 1024, num_experts: 512, shared_experts: 1, num_experts_per_tok: 10, "
     "norm_topk_prob: true, inhomogeneous_layer_cycle_interval: 4, gdn_conv_kernel_dim: 4, gdn_key_head_dim: "
     "128, gdn_value_head_dim: 128, gdn_num_key_heads: 16, gdn_num_value_heads: 64, gdn_chunk_size: 64, "
     "rope_max_timescale: 10000000, partial_rotary_factor: 0.25, enable_dropout: false, use_mrope: true"},
};

}  // namespace

std::span<const MaxtextModel> maxtext_moe_models() {
  return kMoeModels;
}

}  // namespace primus::dialect
