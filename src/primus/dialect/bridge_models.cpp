// Architectures of the models that the recipes name. Sources: the published config.json of each model and the providers
// of Megatron-Bridge 0.3.0; zebra and mamba: the providers themselves (seq_length is the recipe's).
#include "primus/dialect/bridge.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kLlama =
    "normalization=RMSNorm activation_func=silu gated_linear_unit=true add_bias_linear=false "
    "position_embedding_type=rope share_embeddings_and_output_weights=false hidden_dropout=0.0 attention_dropout=0.0 "
    "init_method_std=0.02 layernorm_epsilon=1e-05 make_vocab_size_divisible_by=128 bf16=true";
constexpr std::string_view kQwen3 =
    "normalization=RMSNorm activation_func=silu gated_linear_unit=true add_bias_linear=false add_qkv_bias=false "
    "qk_layernorm=true kv_channels=128 position_embedding_type=rope share_embeddings_and_output_weights=false "
    "hidden_dropout=0.0 attention_dropout=0.0 init_method_std=0.02 layernorm_epsilon=1e-06 rotary_base=1000000.0 "
    "vocab_size=151936 make_vocab_size_divisible_by=128 bf16=true";
constexpr std::string_view kQwen3Moe =
    "normalization=RMSNorm activation_func=silu gated_linear_unit=true add_bias_linear=false add_qkv_bias=false "
    "qk_layernorm=true kv_channels=128 position_embedding_type=rope share_embeddings_and_output_weights=false "
    "hidden_dropout=0.0 attention_dropout=0.0 init_method_std=0.02 layernorm_epsilon=1e-06 rotary_base=1000000.0 "
    "vocab_size=151936 make_vocab_size_divisible_by=128 bf16=true num_moe_experts=128 moe_router_topk=8 "
    "moe_router_load_balancing_type=aux_loss moe_aux_loss_coeff=0.001 moe_router_pre_softmax=false "
    "moe_grouped_gemm=true moe_token_dispatcher_type=alltoall moe_permute_fusion=true num_query_groups=4";
constexpr std::string_view kMamba =
    "normalization=RMSNorm gated_linear_unit=false add_bias_linear=false position_embedding_type=none "
    "share_embeddings_and_output_weights=false hidden_dropout=0.0 attention_dropout=0.0 layernorm_epsilon=1e-05 "
    "num_attention_heads=1 mamba_num_groups=1 make_vocab_size_divisible_by=16 should_pad_vocab=true bf16=true";
constexpr std::string_view kMamba8B =
    "normalization=RMSNorm gated_linear_unit=false add_bias_linear=false position_embedding_type=none "
    "share_embeddings_and_output_weights=false hidden_dropout=0.0 attention_dropout=0.0 layernorm_epsilon=1e-05 "
    "num_attention_heads=32 mamba_num_groups=8 make_vocab_size_divisible_by=128 should_pad_vocab=true bf16=true";
constexpr std::string_view kZebra =
    "normalization=RMSNorm activation_func=silu gated_linear_unit=true add_bias_linear=false "
    "position_embedding_type=none share_embeddings_and_output_weights=false hidden_dropout=0.0 attention_dropout=0.0 "
    "layernorm_epsilon=1e-05 rotary_base=500000.0 hybrid_attention_ratio=0.25 hybrid_mlp_ratio=0.0 mamba_num_groups=8 "
    "multi_latent_attention=true rotary_scaling_factor=1.0 mscale=1.0 mscale_all_dim=1.0 "
    "make_vocab_size_divisible_by=128 should_pad_vocab=true bf16=true";

constexpr BridgeModel kModels[] = {
    // ------------------------------------------------------------------------------------------------ llama
    {"meta-llama/Llama-2-7b-hf", kLlama,
     "num_layers=32 hidden_size=4096 num_attention_heads=32 num_query_groups=32 ffn_hidden_size=11008 "
     "vocab_size=32000 rotary_base=10000.0"},
    {"meta-llama/Llama-2-70b-hf", kLlama,
     "num_layers=80 hidden_size=8192 num_attention_heads=64 num_query_groups=8 ffn_hidden_size=28672 "
     "vocab_size=32000 rotary_base=10000.0"},
    {"meta-llama/Meta-Llama-3-8B", kLlama,
     "num_layers=32 hidden_size=4096 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=14336 "
     "vocab_size=128256 rotary_base=500000.0"},
    {"meta-llama/Meta-Llama-3-70B", kLlama,
     "num_layers=80 hidden_size=8192 num_attention_heads=64 num_query_groups=8 ffn_hidden_size=28672 "
     "vocab_size=128256 rotary_base=500000.0"},
    {"meta-llama/Meta-Llama-3.1-8B", kLlama,
     "num_layers=32 hidden_size=4096 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=14336 "
     "vocab_size=128256 rotary_base=500000.0 scale_factor=8.0"},
    {"meta-llama/Meta-Llama-3.1-70B", kLlama,
     "num_layers=80 hidden_size=8192 num_attention_heads=64 num_query_groups=8 ffn_hidden_size=28672 "
     "vocab_size=128256 rotary_base=500000.0 scale_factor=8.0"},
    {"meta-llama/Meta-Llama-3.1-405B", kLlama,
     "num_layers=126 hidden_size=16384 num_attention_heads=128 num_query_groups=8 ffn_hidden_size=53248 "
     "vocab_size=128256 rotary_base=500000.0 scale_factor=8.0"},
    {"meta-llama/Llama-3.2-1B", kLlama,
     "num_layers=16 hidden_size=2048 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=8192 "
     "vocab_size=128256 rotary_base=500000.0 scale_factor=32.0 share_embeddings_and_output_weights=true"},
    {"meta-llama/Llama-3.2-3B", kLlama,
     "num_layers=28 hidden_size=3072 num_attention_heads=24 num_query_groups=8 ffn_hidden_size=8192 "
     "vocab_size=128256 rotary_base=500000.0 scale_factor=32.0 share_embeddings_and_output_weights=true"},
    // ------------------------------------------------------------------------------------------------ qwen3
    {"Qwen/Qwen3-0.6B", kQwen3,
     "num_layers=28 hidden_size=1024 num_attention_heads=16 num_query_groups=8 ffn_hidden_size=3072 "
     "share_embeddings_and_output_weights=true"},
    {"Qwen/Qwen3-1.7B", kQwen3,
     "num_layers=28 hidden_size=2048 num_attention_heads=16 num_query_groups=8 ffn_hidden_size=6144 "
     "share_embeddings_and_output_weights=true"},
    {"Qwen/Qwen3-4B", kQwen3,
     "num_layers=36 hidden_size=2560 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=9728 "
     "share_embeddings_and_output_weights=true"},
    {"Qwen/Qwen3-8B", kQwen3,
     "num_layers=36 hidden_size=4096 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=12288"},
    {"Qwen/Qwen3-14B", kQwen3,
     "num_layers=40 hidden_size=5120 num_attention_heads=40 num_query_groups=8 ffn_hidden_size=17408"},
    {"Qwen/Qwen3-32B", kQwen3,
     "num_layers=64 hidden_size=5120 num_attention_heads=64 num_query_groups=8 ffn_hidden_size=25600"},
    {"Qwen/Qwen3-30B-A3B", kQwen3Moe,
     "num_layers=48 hidden_size=2048 num_attention_heads=32 ffn_hidden_size=6144 moe_ffn_hidden_size=768"},
    {"Qwen/Qwen3-235B-A22B", kQwen3Moe,
     "num_layers=94 hidden_size=4096 num_attention_heads=64 ffn_hidden_size=12288 moe_ffn_hidden_size=1536"},
    // ------------------------------------------------------------------------------------------------ mamba
    {"MambaModelProvider130M", kMamba, "num_layers=24 hidden_size=768 ffn_hidden_size=768"},
    {"MambaModelProvider370M", kMamba, "num_layers=48 hidden_size=1024 ffn_hidden_size=1024"},
    {"MambaModelProvider780M", kMamba, "num_layers=48 hidden_size=1536 ffn_hidden_size=1536"},
    {"MambaModelProvider1P3B", kMamba, "num_layers=48 hidden_size=2048 ffn_hidden_size=2048"},
    {"MambaModelProvider2P7B", kMamba, "num_layers=64 hidden_size=2560 ffn_hidden_size=2560"},
    {"NVIDIAMambaModelProvider8B", kMamba8B, "num_layers=56 hidden_size=4096 ffn_hidden_size=4096"},
    {"NVIDIAMambaHybridProvider8B", kMamba8B,
     "num_layers=56 hidden_size=4096 ffn_hidden_size=16384 num_query_groups=8 "
     "hybrid_override_pattern=M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-"},
    // ------------------------------------------------------------------------------------------------ zebra
    {"ZebraLlama1BModelProvider", kZebra,
     "num_layers=32 hidden_size=2048 ffn_hidden_size=8192 num_attention_heads=32 q_lora_rank=1344 kv_lora_rank=128 "
     "qk_head_dim=32 qk_pos_emb_head_dim=32 v_head_dim=64"},
    {"ZebraLlama3BModelProvider", kZebra,
     "num_layers=56 hidden_size=3072 ffn_hidden_size=8192 num_attention_heads=24 q_lora_rank=1536 kv_lora_rank=128 "
     "qk_head_dim=64 qk_pos_emb_head_dim=64 v_head_dim=128"},
    {"ZebraLlama8BModelProvider", kZebra,
     "num_layers=64 hidden_size=4096 ffn_hidden_size=14436 num_attention_heads=32 q_lora_rank=2048 kv_lora_rank=160 "
     "qk_head_dim=64 qk_pos_emb_head_dim=64 v_head_dim=128"},
};

}  // namespace

std::span<const BridgeModel> bridge_models() {
  return kModels;
}

}  // namespace primus::dialect
