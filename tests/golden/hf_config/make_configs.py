# Parameter counts of Hugging Face models, from meta devices: no weights are made.
# transformers 5.24.0, torch 2.15.0. Command: python tests/golden/hf_config/make_configs.py > tests/golden/hf_config/configs.json
#
# `published` are the published config.json files' values (old spellings: rope_theta and rope_scaling at the top);
# `tiny` are odd-sized configs as transformers itself writes them (only what differs from the class's default).
import json
import random

import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}


def llama(h, layers, heads, kv, ffn, vocab, theta, positions, scaling=None, tied=False, **more):
    return dict(model_type="llama", architectures=["LlamaForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=ffn, vocab_size=vocab,
                rope_theta=theta, rope_scaling=scaling, max_position_embeddings=positions, rms_norm_eps=1e-5,
                tie_word_embeddings=tied, hidden_act="silu", attention_bias=False, mlp_bias=False,
                torch_dtype="bfloat16", use_cache=True, bos_token_id=1, eos_token_id=2, **more)


def mistral(vocab, theta, window, positions):
    return dict(model_type="mistral", architectures=["MistralForCausalLM"], hidden_size=4096, num_hidden_layers=32,
                num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, vocab_size=vocab,
                rope_theta=theta, sliding_window=window, max_position_embeddings=positions, rms_norm_eps=1e-5,
                tie_word_embeddings=False, hidden_act="silu", torch_dtype="bfloat16")


def mixtral(h, layers, heads, ffn, vocab, positions, aux):
    return dict(model_type="mixtral", architectures=["MixtralForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=8, intermediate_size=ffn, vocab_size=vocab,
                rope_theta=1000000.0, sliding_window=None, max_position_embeddings=positions, rms_norm_eps=1e-5,
                num_local_experts=8, num_experts_per_tok=2, output_router_logits=False, router_aux_loss_coef=aux,
                tie_word_embeddings=False, hidden_act="silu")


def qwen25(h, layers, heads, kv, ffn, vocab, tied, eps=1e-6):
    return dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=ffn, vocab_size=vocab,
                rope_theta=1000000.0, sliding_window=131072, use_sliding_window=False, max_window_layers=layers,
                max_position_embeddings=131072, rms_norm_eps=eps, tie_word_embeddings=tied, hidden_act="silu")


def qwen3(h, layers, heads, ffn, tied):
    return dict(model_type="qwen3", architectures=["Qwen3ForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=8, head_dim=128, intermediate_size=ffn,
                vocab_size=151936, rope_theta=1000000, rope_scaling=None, sliding_window=None,
                use_sliding_window=False, max_window_layers=layers, max_position_embeddings=40960, rms_norm_eps=1e-6,
                tie_word_embeddings=tied, hidden_act="silu", attention_bias=False)


def qwen3_moe(h, layers, heads, ffn, expert):
    return dict(model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"], hidden_size=h,
                num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=4, head_dim=128,
                intermediate_size=ffn, moe_intermediate_size=expert, num_experts=128, num_experts_per_tok=8,
                norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[], router_aux_loss_coef=0.001,
                output_router_logits=False, vocab_size=151936, rope_theta=1000000.0, rope_scaling=None,
                sliding_window=None, use_sliding_window=False, max_window_layers=layers,
                max_position_embeddings=40960, rms_norm_eps=1e-6, tie_word_embeddings=False, hidden_act="silu",
                attention_bias=False)


def yarn(mscale, factor=40, fast=32, slow=1):
    return {"type": "yarn", "factor": factor, "beta_fast": fast, "beta_slow": slow, "mscale": mscale,
            "mscale_all_dim": mscale, "original_max_position_embeddings": 4096}


def deepseek_v2(h, layers, heads, ffn, q_rank, experts, expert, groups, scale):
    out = dict(model_type="deepseek_v2", architectures=["DeepseekV2ForCausalLM"], hidden_size=h,
               num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads,
               intermediate_size=ffn, q_lora_rank=q_rank, kv_lora_rank=512, qk_nope_head_dim=128,
               qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=experts, n_shared_experts=2,
               num_experts_per_tok=6, moe_intermediate_size=expert, first_k_dense_replace=1, moe_layer_freq=1,
               routed_scaling_factor=scale, norm_topk_prob=False, scoring_func="softmax", aux_loss_alpha=0.001,
               seq_aux=True, topk_method="greedy", vocab_size=102400, rope_theta=10000, rope_scaling=yarn(0.707),
               max_position_embeddings=163840, rms_norm_eps=1e-6, tie_word_embeddings=False, hidden_act="silu",
               attention_bias=False)
    if groups:
        out.update(topk_method="group_limited_greedy", n_group=8, topk_group=3)
    return out


def sigmoid(kind, h, layers, heads, ffn, q_rank, experts, expert, shared, top_k, first, groups, scale, vocab, theta,
            scaling, eps, positions):
    return dict(model_type=kind, architectures=["DeepseekV3ForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=heads, intermediate_size=ffn, q_lora_rank=q_rank,
                kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
                n_routed_experts=experts, n_shared_experts=shared, num_experts_per_tok=top_k,
                moe_intermediate_size=expert, first_k_dense_replace=first, moe_layer_freq=1, n_group=groups[0],
                topk_group=groups[1], routed_scaling_factor=scale, norm_topk_prob=True, scoring_func="sigmoid",
                topk_method="noaux_tc", aux_loss_alpha=0.001, seq_aux=True, ep_size=1, vocab_size=vocab,
                rope_theta=theta, rope_scaling=scaling, max_position_embeddings=positions, rms_norm_eps=eps,
                tie_word_embeddings=False, hidden_act="silu", attention_bias=False)


def gpt_oss(layers, experts):
    return dict(model_type="gpt_oss", architectures=["GptOssForCausalLM"], hidden_size=2880,
                num_hidden_layers=layers, num_attention_heads=64, num_key_value_heads=8, head_dim=64,
                intermediate_size=2880, num_local_experts=experts, num_experts_per_tok=4, experts_per_token=4,
                layer_types=["sliding_attention", "full_attention"] * (layers // 2), sliding_window=128,
                swiglu_limit=7.0, rope_theta=150000, attention_bias=True, attention_dropout=0.0,
                rope_scaling={"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                              "truncate": False, "original_max_position_embeddings": 4096},
                vocab_size=201088, max_position_embeddings=131072, rms_norm_eps=1e-5, hidden_act="silu",
                initial_context_length=4096, router_aux_loss_coef=0.9, output_router_logits=False,
                tie_word_embeddings=False)


def glm45(h, layers, ffn, experts, expert, first, scale, norm):
    return dict(model_type="glm4_moe", architectures=["Glm4MoeForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=96, num_key_value_heads=8, head_dim=128, intermediate_size=ffn,
                n_routed_experts=experts, moe_intermediate_size=expert, n_shared_experts=1, num_experts_per_tok=8,
                first_k_dense_replace=first, routed_scaling_factor=scale, norm_topk_prob=True, n_group=1,
                topk_group=1, use_qk_norm=norm, attention_bias=True, partial_rotary_factor=0.5, rope_theta=1000000,
                rope_scaling=None, num_nextn_predict_layers=1, vocab_size=151552, max_position_embeddings=131072,
                rms_norm_eps=1e-5, tie_word_embeddings=False, hidden_act="silu")


def gemma(h, layers, heads, kv, ffn, head=256):
    return dict(model_type="gemma", architectures=["GemmaForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=kv, head_dim=head, intermediate_size=ffn,
                vocab_size=256000, hidden_act="gelu_pytorch_tanh", max_position_embeddings=8192, rms_norm_eps=1e-6,
                rope_theta=10000.0, pad_token_id=0)


def gemma2(h, layers, heads, kv, ffn, head, scalar):
    out = gemma(h, layers, heads, kv, ffn, head)
    out.pop("hidden_act")
    out.update(model_type="gemma2", architectures=["Gemma2ForCausalLM"], hidden_activation="gelu_pytorch_tanh",
               query_pre_attn_scalar=scalar, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
               sliding_window=4096)
    return out


def llama4(experts, step, scaling, norm):
    return dict(model_type="llama4_text", architectures=["Llama4ForCausalLM"], hidden_size=5120,
                num_hidden_layers=48, num_attention_heads=40, num_key_value_heads=8, head_dim=128,
                intermediate_size=8192, intermediate_size_mlp=16384, num_local_experts=experts,
                num_experts_per_tok=1, interleave_moe_layer_step=step, use_qk_norm=norm, attention_chunk_size=8192,
                attn_temperature_tuning=True, rope_theta=500000.0, rope_scaling=scaling, vocab_size=202048,
                max_position_embeddings=1048576, rms_norm_eps=1e-5, tie_word_embeddings=False, hidden_act="silu",
                router_aux_loss_coef=0.001, router_jitter_noise=0.0, output_router_logits=False)


def lfm2(h, layers, heads, ffn, attending):
    """As the first files: block_ff_dim is two thirds too wide, the layers that attend by number."""
    return dict(model_type="lfm2", architectures=["Lfm2ForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=8, block_dim=h, block_ff_dim=ffn,
                block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_multiple_of=256,
                block_norm_eps=1e-5, block_use_swiglu=True, conv_L_cache=3, conv_bias=False, conv_dim=h,
                conv_dim_out=h, full_attn_idxs=attending, vocab_size=65536, rope_theta=1000000.0, norm_eps=1e-5,
                max_position_embeddings=128000, pad_token_id=0, bos_token_id=1, eos_token_id=7, use_pos_enc=True)


LFM2_MOE = dict(model_type="lfm2_moe", architectures=["Lfm2MoeForCausalLM"], hidden_size=2048, num_hidden_layers=24,
                num_attention_heads=32, num_key_value_heads=8, intermediate_size=7168, moe_intermediate_size=1792,
                num_dense_layers=2, num_experts=32, num_experts_per_tok=4, norm_topk_prob=True, use_expert_bias=True,
                routed_scaling_factor=1.0, conv_L_cache=3, conv_bias=False, vocab_size=65536, rope_theta=1000000.0,
                norm_eps=1e-5, max_position_embeddings=128000, pad_token_id=0, tie_embedding=True,
                layer_types=["full_attention" if i in (2, 6, 10, 14, 18, 21) else "conv" for i in range(24)])


def gated_delta(kind, h, layers, vocab, positions, **more):
    return dict(model_type=kind, hidden_size=h, num_hidden_layers=layers, num_attention_heads=16, head_dim=256,
                num_key_value_heads=2, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_value_head_dim=128,
                linear_num_key_heads=16, linear_num_value_heads=32, full_attention_interval=4,
                partial_rotary_factor=0.25, rope_theta=10000000, vocab_size=vocab, max_position_embeddings=positions,
                rms_norm_eps=1e-6, hidden_act="silu", attention_bias=False, tie_word_embeddings=False,
                moe_intermediate_size=512, shared_expert_intermediate_size=512, router_aux_loss_coef=0.001, **more)


def mamba2(h, layers, heads, groups, vocab, tied):
    return dict(model_type="mamba2", architectures=["Mamba2ForCausalLM"], hidden_size=h, num_hidden_layers=layers,
                num_heads=heads, head_dim=64, n_groups=groups, state_size=128, conv_kernel=4, expand=2, use_bias=False,
                use_conv_bias=True, vocab_size=vocab, layer_norm_epsilon=1e-5, tie_word_embeddings=tied,
                residual_in_fp32=True, hidden_act="silu")


GROK1 = dict(model_type="grok-1", architectures=["Grok1ModelForCausalLM"], vocab_size=131072, hidden_size=6144,
             intermediate_size=32768, num_hidden_layers=64, num_attention_heads=48, num_key_value_heads=8,
             attn_output_multiplier=0.08838834764831845, embedding_multiplier_scale=78.38367176906169,
             output_multiplier_scale=0.5773502691896257, max_attn_value=30.0, max_position_embeddings=8192,
             rms_norm_eps=1e-5, num_experts=8, num_experts_per_tok=2, output_router_logits=False,
             router_aux_loss_coef=0.001, tie_word_embeddings=True)

GROK2 = dict(model_type="git", architectures=["Grok1ForCausalLM"], vocab_size=131072, hidden_size=8192,
             intermediate_size=32768, moe_intermediate_size=16384, num_hidden_layers=64, num_attention_heads=64,
             num_key_value_heads=8, head_dim=128, embedding_multiplier_scale=90.50966799187809,
             output_multiplier_scale=0.5, max_position_embeddings=131072, num_experts_per_tok=2, num_local_experts=8,
             residual_moe=True, rms_norm_eps=1e-5, final_logit_softcapping=50, attn_logit_softcapping=30.0,
             router_logit_softcapping=30.0, rope_theta=208533496, attn_temperature_len=1024, sliding_window_size=-1,
             global_attn_every_n=1, torch_dtype="bfloat16", rope_type="original",
             original_max_position_embeddings=8192, scaling_factor=16.0, extrapolation_factor=1.0, attn_factor=1.0,
             beta_fast=8, beta_slow=1)

PUBLISHED = {
    "llama2_7B": llama(4096, 32, 32, 32, 11008, 32000, 10000.0, 4096),
    "llama2_13B": llama(5120, 40, 40, 40, 13824, 32000, 10000.0, 4096),
    "llama2_70B": llama(8192, 80, 64, 8, 28672, 32000, 10000.0, 4096),
    "llama3_8B": llama(4096, 32, 32, 8, 14336, 128256, 500000.0, 8192),
    "llama3_70B": llama(8192, 80, 64, 8, 28672, 128256, 500000.0, 8192),
    "llama3.1_8B": llama(4096, 32, 32, 8, 14336, 128256, 500000.0, 131072, LLAMA3),
    "llama3.1_70B": llama(8192, 80, 64, 8, 28672, 128256, 500000.0, 131072, LLAMA3),
    "llama3.1_405B": llama(16384, 126, 128, 8, 53248, 128256, 500000.0, 131072, LLAMA3),
    "llama3.2_1B": llama(2048, 16, 32, 8, 8192, 128256, 500000.0, 131072, dict(LLAMA3, factor=32.0), True,
                         head_dim=64),
    "llama3.2_3B": llama(3072, 28, 24, 8, 8192, 128256, 500000.0, 131072, dict(LLAMA3, factor=32.0), True,
                         head_dim=128),
    "llama3.3_70B": llama(8192, 80, 64, 8, 28672, 128256, 500000.0, 131072, LLAMA3),
    "tinyllama_1.1B": llama(2048, 22, 32, 4, 5632, 32000, 10000.0, 2048),
    "mistral_7B_v0.1": mistral(32000, 10000.0, 4096, 32768),
    "mistral_7B_v0.3": mistral(32768, 1000000.0, None, 32768),
    "mixtral_8x7B_v0.1": mixtral(4096, 32, 32, 14336, 32000, 32768, 0.02),
    "mixtral_8x22B_v0.1": mixtral(6144, 56, 48, 16384, 32768, 65536, 0.001),
    "qwen2.5_0.5B": qwen25(896, 24, 14, 2, 4864, 151936, True),
    "qwen2.5_1.5B": qwen25(1536, 28, 12, 2, 8960, 151936, True),
    "deepseek_r1_distill_qwen_1.5B": dict(qwen25(1536, 28, 12, 2, 8960, 151936, False), rope_theta=10000),
    "qwen2.5_3B": qwen25(2048, 36, 16, 2, 11008, 151936, True),
    "qwen2.5_7B": qwen25(3584, 28, 28, 4, 18944, 152064, False),
    "qwen2.5_14B": qwen25(5120, 48, 40, 8, 13824, 152064, False, 1e-5),
    "qwen2.5_32B": qwen25(5120, 64, 40, 8, 27648, 152064, False, 1e-5),
    "qwen2.5_72B": qwen25(8192, 80, 64, 8, 29568, 152064, False),
    "qwen3_0.6B": qwen3(1024, 28, 16, 3072, True),
    "qwen3_1.7B": qwen3(2048, 28, 16, 6144, True),
    "qwen3_4B": qwen3(2560, 36, 32, 9728, True),
    "qwen3_8B": qwen3(4096, 36, 32, 12288, False),
    "qwen3_14B": qwen3(5120, 40, 40, 17408, False),
    "qwen3_32B": qwen3(5120, 64, 64, 25600, False),
    "qwen3_30B_A3B": qwen3_moe(2048, 48, 32, 6144, 768),
    "qwen3_235B_A22B": qwen3_moe(4096, 94, 64, 12288, 1536),
    "deepseek_v2_lite": deepseek_v2(2048, 27, 16, 10944, None, 64, 1408, False, 1.0),
    "deepseek_v2": deepseek_v2(5120, 60, 128, 12288, 1536, 160, 1536, True, 16.0),
    "deepseek_v3": dict(sigmoid("deepseek_v3", 7168, 61, 128, 18432, 1536, 256, 2048, 1, 8, 3, (8, 4), 2.5, 129280,
                                10000, yarn(1.0), 1e-6, 163840), num_nextn_predict_layers=1),
    "moonlight_16B": dict(sigmoid("deepseek_v3", 2048, 27, 16, 11264, None, 64, 1408, 2, 6, 1, (1, 1), 2.446, 163840,
                                  50000.0, None, 1e-5, 8192), num_nextn_predict_layers=0),
    "kimi_k2": dict(sigmoid("kimi_k2", 7168, 61, 64, 18432, 1536, 384, 2048, 1, 8, 1, (1, 1), 2.827, 163840, 50000.0,
                            yarn(1.0, 32.0, 1.0, 1.0), 1e-6, 131072), num_nextn_predict_layers=0),
    "gpt_oss_20B": gpt_oss(24, 32),
    "gpt_oss_120B": gpt_oss(36, 128),
    "glm4.5_air": glm45(4096, 46, 10944, 128, 1408, 1, 1.0, False),
    "glm4.5": glm45(5120, 92, 12288, 160, 1536, 3, 2.5, True),
    "glm4_7": dict(glm45(5120, 92, 12288, 160, 1536, 3, 2.5, True), max_position_embeddings=202752),
    "gemma_2B": gemma(2048, 18, 8, 1, 16384),
    "gemma_7B": gemma(3072, 28, 16, 16, 24576),
    "gemma2_2B": gemma2(2304, 26, 8, 4, 9216, 256, 256),
    "gemma2_9B": gemma2(3584, 42, 16, 8, 14336, 256, 256),
    "gemma2_27B": gemma2(4608, 46, 32, 16, 36864, 128, 144),
    "llama4_17B16E": llama4(16, 1, dict(LLAMA3, factor=16.0, high_freq_factor=1.0), True),
    "llama4_17B128E": llama4(128, 2, None, False),
    "gpt2": dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_embd=768, n_layer=12, n_head=12,
                 n_positions=1024, n_ctx=1024, vocab_size=50257),
    "grok1": GROK1,
    "grok2": GROK2,
    "lfm2_350M": lfm2(1024, 16, 16, 6656, [2, 5, 8, 10, 12, 14]),
    "lfm2_1.2B": lfm2(2048, 16, 32, 12288, [2, 5, 8, 10, 12, 14]),
    "lfm2_8B_A1B": LFM2_MOE,
    "qwen3_next_80B_A3B": gated_delta("qwen3_next", 2048, 48, 151936, 262144, intermediate_size=5120, num_experts=512,
                                      num_experts_per_tok=10, norm_topk_prob=True, decoder_sparse_step=1,
                                      mlp_only_layers=[]),
    "qwen3_5_35B_A3B": gated_delta("qwen3_5_moe_text", 2048, 40, 248320, 262144, num_experts=256,
                                   num_experts_per_tok=8),
    "mamba_130M": mamba2(768, 24, 24, 1, 50288, True),
    "mamba_370M": mamba2(1024, 48, 32, 1, 50288, True),
    "mamba_codestral_7B": mamba2(4096, 64, 128, 8, 32768, False),
}

# Families that transformers does not have: the count of the published checkpoint (grok1), the sum of the shapes that
# shapes_2 of tests/golden/hf_models/make_grok.py gives for the published sizes (grok2; its card says 270 B).
ELSEWHERE = {"grok1": 315684820992, "grok2": 269515497472}


def count(config):
    config = dict(config)
    kind = "deepseek_v3" if config["model_type"] == "kimi_k2" else config["model_type"]
    made = CONFIG_MAPPING[kind].from_dict(dict(config, model_type=kind))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(made)
    model.tie_weights()
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values()), made


def tiny(kind, rng):
    """Odd sizes, options drawn at random; as transformers writes the file."""
    heads, kv = rng.choice([(6, 2), (4, 4), (6, 3), (8, 1)])
    layers = rng.choice([3, 4, 5])
    hidden = 8 * heads  # some families want hidden % heads == 0
    out = dict(model_type=kind, vocab_size=99, hidden_size=hidden, num_hidden_layers=layers,
               num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=52, max_position_embeddings=77,
               rms_norm_eps=rng.choice([1e-2, 3e-6]), tie_word_embeddings=rng.random() < 0.5,
               rope_parameters={"rope_type": "default", "rope_theta": rng.choice([700.0, 31000.0])},
               pad_token_id=rng.choice([None, 5]))
    if rng.random() < 0.6:
        out["head_dim"] = rng.choice([10, 14])
    scaling = rng.choice(["default", "linear", "llama3", "yarn"])
    rope = out["rope_parameters"]
    if scaling == "linear":
        rope.update(rope_type="linear", factor=3.0)
    if scaling == "llama3":
        rope.update(LLAMA3, factor=5.0, original_max_position_embeddings=40)
    if scaling == "yarn":
        rope.update(rope_type="yarn", factor=7.0, original_max_position_embeddings=11)
        if rng.random() < 0.5:
            rope.update(attention_factor=1.25)
    bias = rng.random() < 0.5
    if kind in ("llama", "qwen3", "qwen3_moe", "olmo2", "gemma", "gemma2", "glm4", "glm4_moe", "llama4_text",
                "gpt_oss"):
        out["attention_bias"] = bias
    if kind == "llama":
        out["mlp_bias"] = rng.random() < 0.5
    if kind in ("mistral", "mixtral"):
        out["sliding_window"] = rng.choice([None, 9])
    if kind in ("qwen2", "qwen3"):
        out.update(use_sliding_window=True, sliding_window=7, max_window_layers=rng.choice([1, 2]))
    if kind in ("glm4", "glm4_moe"):
        rope["partial_rotary_factor"] = 0.5
        out["head_dim"] = 12
    if kind == "gemma2":
        out.update(query_pre_attn_scalar=23, sliding_window=6)
    if kind == "mixtral":
        out["head_dim"] = out.get("head_dim", 8)  # transformers cannot make YaRN from null
        out.update(num_local_experts=5, num_experts_per_tok=2)
    if kind == "qwen3_moe":
        out.update(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, norm_topk_prob=bias,
                   decoder_sparse_step=rng.choice([1, 2]), mlp_only_layers=rng.choice([[], [1]]))
    if kind in ("deepseek_v2", "deepseek_v3"):
        out.pop("head_dim", None)
        out.update(q_lora_rank=rng.choice([None, 18]), kv_lora_rank=14, qk_nope_head_dim=10, qk_rope_head_dim=6,
                   v_head_dim=12, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3,
                   moe_intermediate_size=22, first_k_dense_replace=1, routed_scaling_factor=1.7, attention_bias=bias,
                   num_key_value_heads=heads)
        if scaling == "yarn":
            rope.update(mscale=0.7, mscale_all_dim=0.9)
            rope.pop("attention_factor", None)
    if kind == "deepseek_v2" and bias:
        out.update(topk_method="group_limited_greedy", n_group=4, topk_group=2)
    if kind == "deepseek_v3":
        out.update(n_group=4, topk_group=2)
    if kind == "glm4_moe":
        out.update(n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=22, first_k_dense_replace=1,
                   n_group=2, topk_group=1, use_qk_norm=bias)
    if kind == "gpt_oss":
        out.update(num_local_experts=5, num_experts_per_tok=2, sliding_window=9, swiglu_limit=3.0)
        out.pop("layer_types", None)
    if kind == "llama4_text":
        out.update(num_local_experts=5, intermediate_size_mlp=60, interleave_moe_layer_step=rng.choice([1, 2]),
                   attention_chunk_size=16, floor_scale=4, attn_scale=0.3, use_qk_norm=bias, no_rope_layer_interval=2)
    if kind in ("lfm2", "lfm2_moe"):
        out["norm_eps"] = out.pop("rms_norm_eps")
        out.update(conv_bias=bias, conv_L_cache=rng.choice([2, 3, 4]),
                   layer_types=[rng.choice(["conv", "full_attention"]) for _ in range(layers)])
    if kind == "lfm2":
        out.update(block_auto_adjust_ff_dim=rng.random() < 0.5, block_multiple_of=rng.choice([8, 24]),
                   block_ffn_dim_multiplier=rng.choice([1.0, 1.3]))
    if kind == "lfm2_moe":
        out.update(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, num_dense_layers=rng.choice([0, 1]),
                   norm_topk_prob=bias, use_expert_bias=rng.random() < 0.5, routed_scaling_factor=1.7)
    if kind in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"):
        rope["partial_rotary_factor"] = rng.choice([0.25, 0.5, 1.0])
        out.update(attention_bias=bias, head_dim=16, linear_conv_kernel_dim=rng.choice([2, 4]), linear_num_key_heads=2,
                   linear_num_value_heads=rng.choice([2, 6]), linear_key_head_dim=6, linear_value_head_dim=10,
                   layer_types=[rng.choice(["linear_attention", "full_attention"]) for _ in range(layers)])
    if kind in ("qwen3_next", "qwen3_5_moe_text"):
        out.update(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, shared_expert_intermediate_size=14)
    if kind == "qwen3_next":
        out.update(norm_topk_prob=bias, decoder_sparse_step=rng.choice([1, 2]), mlp_only_layers=rng.choice([[], [1]]))
    if kind == "qwen3_5_moe_text":
        out.pop("intermediate_size")
    if kind == "mamba2":
        out = dict(model_type="mamba2", vocab_size=99, hidden_size=24, num_hidden_layers=layers, expand=2,
                   num_heads=heads, head_dim=48 // heads, n_groups=rng.choice([1, 2]), state_size=rng.choice([7, 10]),
                   conv_kernel=rng.choice([2, 4]), use_bias=bias, use_conv_bias=rng.random() < 0.5,
                   layer_norm_epsilon=rng.choice([1e-2, 3e-6]), tie_word_embeddings=rng.random() < 0.5,
                   residual_in_fp32=rng.random() < 0.5)
    if kind == "gpt2":
        out = dict(model_type="gpt2", vocab_size=99, n_embd=hidden, n_layer=layers, n_head=heads, n_positions=33,
                   n_inner=rng.choice([None, 51]), activation_function="gelu_new", tie_word_embeddings=bias,
                   scale_attn_by_inverse_layer_idx=rng.random() < 0.5, layer_norm_epsilon=1e-3)
    return out


def main():
    cases = []
    for name, config in PUBLISHED.items():
        number = ELSEWHERE[name] if name in ELSEWHERE else count(config)[0]
        cases.append({"name": name, "published": True, "parameters": number, "config": config})
    rng = random.Random(20)
    kinds = ["llama", "mistral", "qwen2", "qwen3", "olmo2", "gemma", "gemma2", "glm4", "gpt2", "mixtral", "qwen3_moe",
             "deepseek_v2", "deepseek_v3", "gpt_oss", "llama4_text", "glm4_moe", "lfm2", "lfm2_moe", "qwen3_next", "qwen3_5_text",
             "qwen3_5_moe_text", "mamba2"]
    for kind in kinds:
        for index in range(6):
            config = tiny(kind, rng)
            number, made = count(config)
            written = json.loads(made.to_json_string(use_diff=True))
            cases.append({"name": f"tiny_{kind}_{index}", "published": False, "parameters": number, "config": written})
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


main()
