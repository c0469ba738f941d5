// Architectures by model_name: dense ones. Every line is one file of MaxText 0.2.5's configs/models, without the keys
// of image and sound encoders (no text model reads them) and of device layout.
#include "primus/dialect/maxtext_models.h"

namespace primus::dialect {

namespace {

constexpr MaxtextModel kDenseModels[] = {
    {"gemma-2b",
     "decoder_block: gemma, base_num_decoder_layers: 18, base_emb_dim: 2048, base_num_query_heads: 8, "
     "base_num_kv_heads: 1, head_dim: 256, base_mlp_dim: 16384, vocab_size: 256128, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true"},
    {"gemma-7b",
     "decoder_block: gemma, base_num_decoder_layers: 28, base_emb_dim: 3072, base_num_query_heads: 16, "
     "base_num_kv_heads: 16, head_dim: 256, base_mlp_dim: 24576, vocab_size: 256128, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true"},
    {"gemma2-27b",
     "decoder_block: gemma2, base_num_decoder_layers: 23, base_emb_dim: 4608, base_num_query_heads: 32, "
     "base_num_kv_heads: 16, head_dim: 128, base_mlp_dim: 36864, vocab_size: 256128, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, final_logits_soft_cap: 30.0, "
     "attn_logits_soft_cap: 50.0, sliding_window_size: 4096, use_post_attn_norm: true, use_post_ffw_norm: true"},
    {"gemma2-2b",
     "decoder_block: gemma2, base_num_decoder_layers: 13, base_emb_dim: 2304, base_num_query_heads: 8, "
     "base_num_kv_heads: 4, head_dim: 256, base_mlp_dim: 9216, vocab_size: 256128, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, final_logits_soft_cap: 30.0, "
     "attn_logits_soft_cap: 50.0, sliding_window_size: 4096, use_post_attn_norm: true, use_post_ffw_norm: true"},
    {"gemma2-9b",
     "decoder_block: gemma2, base_num_decoder_layers: 21, base_emb_dim: 3584, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 256, base_mlp_dim: 14336, vocab_size: 256128, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, final_logits_soft_cap: 30.0, "
     "attn_logits_soft_cap: 50.0, sliding_window_size: 4096, use_post_attn_norm: true, use_post_ffw_norm: true"},
    {"gemma3-12b",
     "decoder_block: gemma3, base_num_decoder_layers: 48, base_emb_dim: 3840, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 256, base_mlp_dim: 15360, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, sliding_window_size: 1024, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, local_rope_max_timescale: 10000, rope_max_timescale: "
     "1000000, rope_linear_scaling_factor: 8.0"},
    {"gemma3-27b",
     "decoder_block: gemma3, base_num_decoder_layers: 62, base_emb_dim: 5376, base_num_query_heads: 32, "
     "base_num_kv_heads: 16, head_dim: 128, base_mlp_dim: 21504, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, sliding_window_size: 1024, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, local_rope_max_timescale: 10000, rope_max_timescale: "
     "1000000, rope_linear_scaling_factor: 8.0"},
    {"gemma3-4b",
     "decoder_block: gemma3, base_num_decoder_layers: 34, base_emb_dim: 2560, base_num_query_heads: 8, "
     "base_num_kv_heads: 4, head_dim: 256, base_mlp_dim: 10240, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, sliding_window_size: 1024, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, local_rope_max_timescale: 10000, rope_max_timescale: "
     "1000000, rope_linear_scaling_factor: 8.0"},
    {"gemma4-31b",
     "decoder_block: gemma4, base_num_decoder_layers: 60, base_emb_dim: 5376, base_num_query_heads: 32, "
     "base_num_kv_heads: 16, head_dim: 256, base_mlp_dim: 21504, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], global_head_dim: 512, global_num_kv_heads: 4, normalization_layer_epsilon: 1.0e-06, "
     "logits_via_embedding: true, use_post_attn_norm: true, use_post_ffw_norm: true, sliding_window_size: 1024, "
     "share_kv_projections: true, v_norm_with_scale: false, local_rope_max_timescale: 10000, "
     "global_rope_max_timescale: 1000000, rope_max_timescale: 1000000, global_rope_proportion: 0.25, "
     "local_rope_proportion: 1.0, final_logits_soft_cap: 30.0"},
    {"gemma4-e2b",
     "decoder_block: gemma4_small, base_num_decoder_layers: 35, base_emb_dim: 1536, base_num_query_heads: 8, "
     "base_num_kv_heads: 1, head_dim: 256, base_mlp_dim: 6144, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], global_head_dim: 512, normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, sliding_window_size: 512, v_norm_with_scale: false, "
     "hidden_size_per_layer_input: 256, vocab_size_per_layer_input: 262144, num_kv_shared_layers: 20, "
     "use_double_wide_mlp: true, local_rope_max_timescale: 10000, global_rope_max_timescale: 1000000, "
     "rope_max_timescale: 1000000, global_rope_proportion: 0.25, local_rope_proportion: 1.0, "
     "final_logits_soft_cap: 30.0"},
    {"gemma4-e4b",
     "decoder_block: gemma4_small, base_num_decoder_layers: 42, base_emb_dim: 2560, base_num_query_heads: 8, "
     "base_num_kv_heads: 2, head_dim: 256, base_mlp_dim: 10240, vocab_size: 262144, mlp_activations: [gelu, "
     "linear], global_head_dim: 512, normalization_layer_epsilon: 1.0e-06, logits_via_embedding: true, "
     "use_post_attn_norm: true, use_post_ffw_norm: true, sliding_window_size: 512, v_norm_with_scale: false, "
     "hidden_size_per_layer_input: 256, vocab_size_per_layer_input: 262144, num_kv_shared_layers: 18, "
     "use_double_wide_mlp: false, local_rope_max_timescale: 10000, global_rope_max_timescale: 1000000, "
     "rope_max_timescale: 1000000, global_rope_proportion: 0.25, local_rope_proportion: 1.0, "
     "final_logits_soft_cap: 30.0"},
    {"gpt3-175b",
     "decoder_block: gpt3, base_num_decoder_layers: 96, base_emb_dim: 12288, base_num_query_heads: 96, "
     "base_num_kv_heads: 96, head_dim: 128, base_mlp_dim: 49152, vocab_size: 50304, trainable_position_size: "
     "16384, mlp_activations: [gelu], enable_dropout: false, logits_via_embedding: true, "
     "normalize_embedding_logits: false, logits_dot_in_fp32: false, normalization_layer_epsilon: 1.0e-05, "
     "use_iota_embed: true, fused_qkv: true, opt_type: adam_pax, dataset_path: gs://mlperf-llm-public2, "
     "dataset_name: c4/en:3.0.4, eval_dataset_name: c4/en:3.0.5, gradient_clipping_threshold: 1.0, adam_b1: "
     "0.9, adam_b2: 0.95, adam_eps: 1.0e-08, adam_weight_decay: 0.1, checkpoint_period: 10000, "
     "target_eval_loss: 2.69, eval_per_device_batch_size: 1.0"},
    {"gpt3-22b",
     "decoder_block: gpt3, base_num_decoder_layers: 48, base_emb_dim: 6144, base_num_query_heads: 24, "
     "base_num_kv_heads: 24, head_dim: 256, base_mlp_dim: 24576, vocab_size: 32768, max_target_length: 1024, "
     "trainable_position_size: 16384, mlp_activations: [gelu], enable_dropout: false, logits_via_embedding: "
     "true, normalize_embedding_logits: false, logits_dot_in_fp32: false, normalization_layer_epsilon: 1.0e-05, "
     "use_iota_embed: true, fused_qkv: true, opt_type: adam_pax, gradient_clipping_threshold: 1.0, adam_b1: "
     "0.9, adam_b2: 0.95, adam_eps: 1.0e-08, adam_weight_decay: 0.1"},
    {"gpt3-52k",
     "decoder_block: gpt3, base_num_decoder_layers: 1, base_emb_dim: 16, base_num_query_heads: 2, "
     "base_num_kv_heads: 2, head_dim: 8, base_mlp_dim: 64, vocab_size: 1024, trainable_position_size: 2048, "
     "mlp_activations: [gelu], enable_dropout: false, logits_via_embedding: true, normalize_embedding_logits: "
     "false, logits_dot_in_fp32: false, normalization_layer_epsilon: 1.0e-05, use_iota_embed: true, fused_qkv: "
     "true, opt_type: adam_pax, gradient_clipping_threshold: 1.0, adam_b1: 0.9, adam_b2: 0.95, adam_eps: "
     "1.0e-08, adam_weight_decay: 0.1, attention: dot_product"},
    {"gpt3-6b",
     "decoder_block: gpt3, base_num_decoder_layers: 48, base_emb_dim: 3072, base_num_query_heads: 12, "
     "base_num_kv_heads: 12, head_dim: 256, base_mlp_dim: 12288, vocab_size: 32768, max_target_length: 1024, "
     "trainable_position_size: 16384, mlp_activations: [gelu], enable_dropout: false, logits_via_embedding: "
     "true, normalize_embedding_logits: false, logits_dot_in_fp32: false, normalization_layer_epsilon: 1.0e-05, "
     "use_iota_embed: true, fused_qkv: true, opt_type: adam_pax, gradient_clipping_threshold: 1.0, adam_b1: "
     "0.9, adam_b2: 0.95, adam_eps: 1.0e-08, adam_weight_decay: 0.1"},
    {"llama2-13b",
     "decoder_block: llama2, base_num_decoder_layers: 40, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 40, head_dim: 128, base_mlp_dim: 13824, vocab_size: 32000, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05"},
    {"llama2-70b",
     "decoder_block: llama2, base_num_decoder_layers: 80, base_emb_dim: 8192, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 28672, vocab_size: 32000, mlp_activations: [silu, "
     "linear], logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05"},
    {"llama2-7b",
     "decoder_block: llama2, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 32, head_dim: 128, base_mlp_dim: 11008, vocab_size: 32000, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05"},
    {"llama3-405b",
     "decoder_block: llama2, base_num_decoder_layers: 126, base_emb_dim: 16384, base_num_query_heads: 128, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 53248, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3-70b",
     "decoder_block: llama2, base_num_decoder_layers: 80, base_emb_dim: 8192, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 28672, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3-8b",
     "decoder_block: llama2, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 14336, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3.1-405b",
     "decoder_block: llama2, base_num_decoder_layers: 126, base_emb_dim: 16384, base_num_query_heads: 128, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 53248, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3.1-70b",
     "decoder_block: llama2, base_num_decoder_layers: 80, base_emb_dim: 8192, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 28672, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3.1-8b",
     "decoder_block: llama2, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 14336, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"llama3.3-70b",
     "decoder_block: llama2, base_num_decoder_layers: 80, base_emb_dim: 8192, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 28672, vocab_size: 128256, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 500000"},
    {"mistral-7b",
     "decoder_block: mistral, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 14336, vocab_size: 32000, mlp_activations: [silu, "
     "linear], enable_dropout: false, logits_via_embedding: false, normalization_layer_epsilon: 1.0e-05, "
     "rope_max_timescale: 1000000"},
    {"olmo3-32b",
     "decoder_block: olmo3, base_num_decoder_layers: 64, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 27648, vocab_size: 100278, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, sliding_window_size: 4096, "
     "inhomogeneous_layer_cycle_interval: 4, rope_type: yarn, rope_interleave: false, rope_max_timescale: "
     "500000, rope_factor: 8.0, original_max_position_embeddings: 8192, beta_fast: 32.0, beta_slow: 1.0, "
     "max_position_embeddings: 65536, rope_attention_scaling: true, rope_truncate: true, logits_via_embedding: "
     "false, normalize_embedding_logits: false"},
    {"olmo3-7b-pt",
     "decoder_block: olmo3, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 32, head_dim: 128, base_mlp_dim: 11008, vocab_size: 100278, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, sliding_window_size: 4096, "
     "inhomogeneous_layer_cycle_interval: 4, rope_type: default, rope_interleave: false, rope_max_timescale: "
     "500000, max_position_embeddings: 8192, rope_attention_scaling: true, rope_truncate: false, "
     "logits_via_embedding: false, normalize_embedding_logits: false"},
    {"olmo3-7b",
     "decoder_block: olmo3, base_num_decoder_layers: 32, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 32, head_dim: 128, base_mlp_dim: 11008, vocab_size: 100278, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, sliding_window_size: 4096, "
     "inhomogeneous_layer_cycle_interval: 4, rope_type: yarn, rope_interleave: false, rope_max_timescale: "
     "500000, rope_factor: 8.0, original_max_position_embeddings: 8192, beta_fast: 32.0, beta_slow: 1.0, "
     "max_position_embeddings: 65536, rope_attention_scaling: true, rope_truncate: true, logits_via_embedding: "
     "false, normalize_embedding_logits: false"},
    {"qwen2.5-1.5b",
     "decoder_block: qwen2, base_num_decoder_layers: 28, base_emb_dim: 1536, base_num_query_heads: 12, "
     "base_num_kv_heads: 2, head_dim: 128, base_mlp_dim: 8960, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000.0, use_qk_norm: false, "
     "attention_bias: true, logits_via_embedding: true, normalize_embedding_logits: false, tokenizer_type: "
     "huggingface"},
    {"qwen2.5-14b",
     "decoder_block: qwen2, base_num_decoder_layers: 48, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 13824, vocab_size: 152064, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000.0, use_qk_norm: false, "
     "attention_bias: true, logits_via_embedding: false, normalize_embedding_logits: false, tokenizer_type: "
     "huggingface"},
    {"qwen2.5-7b",
     "decoder_block: qwen2, base_num_decoder_layers: 28, base_emb_dim: 3584, base_num_query_heads: 28, "
     "base_num_kv_heads: 4, head_dim: 128, base_mlp_dim: 18944, vocab_size: 152064, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000.0, use_qk_norm: false, "
     "attention_bias: true, logits_via_embedding: false, normalize_embedding_logits: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-0.6b",
     "decoder_block: qwen3, base_num_decoder_layers: 28, base_emb_dim: 1024, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 3072, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-1.7b-base",
     "decoder_block: qwen3, base_num_decoder_layers: 28, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 6144, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-1.7b",
     "decoder_block: qwen3, base_num_decoder_layers: 28, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 6144, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-14b-base",
     "decoder_block: qwen3, base_num_decoder_layers: 40, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 17408, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: false, normalize_embedding_logits: false, tokenizer_type: huggingface"},
    {"qwen3-14b",
     "decoder_block: qwen3, base_num_decoder_layers: 40, base_emb_dim: 5120, base_num_query_heads: 40, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 17408, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: false, normalize_embedding_logits: false, tokenizer_type: huggingface"},
    {"qwen3-32b",
     "decoder_block: qwen3, base_num_decoder_layers: 64, base_emb_dim: 5120, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 25600, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: false, normalize_embedding_logits: false, tokenizer_type: huggingface"},
    {"qwen3-4b-base",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 2560, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 9728, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-4b-thinking-2507",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 2560, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 9728, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 5000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false"},
    {"qwen3-4b",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 2560, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 9728, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: true, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-8b-base",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 12288, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: false, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-8b",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 12288, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, rope_max_timescale: 1000000, use_qk_norm: true, "
     "logits_via_embedding: false, normalize_embedding_logits: false, enable_dropout: false, tokenizer_type: "
     "huggingface"},
    {"qwen3-vl-2b",
     "decoder_block: qwen3, base_num_decoder_layers: 28, base_emb_dim: 2048, base_num_query_heads: 16, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 6144, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, logits_via_embedding: true, "
     "normalize_embedding_logits: false, rope_max_timescale: 5000000, enable_dropout: false, use_mrope: true"},
    {"qwen3-vl-4b",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 2560, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 9728, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, logits_via_embedding: true, "
     "normalize_embedding_logits: false, rope_max_timescale: 5000000, enable_dropout: false, use_mrope: true"},
    {"weaver-max",
     "decoder_block: qwen3, base_num_decoder_layers: 64, base_emb_dim: 5120, base_num_query_heads: 64, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 25600, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, logits_via_embedding: false, "
     "rope_max_timescale: 5000000, enable_dropout: false, use_mrope: true"},
    {"weaver-mini",
     "decoder_block: qwen3, base_num_decoder_layers: 36, base_emb_dim: 4096, base_num_query_heads: 32, "
     "base_num_kv_heads: 8, head_dim: 128, base_mlp_dim: 12288, vocab_size: 151936, mlp_activations: [silu, "
     "linear], normalization_layer_epsilon: 1.0e-06, use_qk_norm: true, logits_via_embedding: false, "
     "rope_max_timescale: 5000000, enable_dropout: false, use_mrope: true"},
};

}  // namespace

std::span<const MaxtextModel> maxtext_dense_models() {
  return kDenseModels;
}

}  // namespace primus::dialect
