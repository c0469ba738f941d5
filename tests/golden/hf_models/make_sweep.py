# Random tiny models of one family, in the same form as the folders here (never committed).
# transformers 5.24.0, torch 2.15.0. Command, from the repository root:
#     python tests/golden/hf_models/make_sweep.py --family qwen3 --count 20 --output DIR [--seed 1]
# --family all: every family, into DIR/FAMILY_00, ...
import argparse
import math
import pathlib
import random

import torch

from reference import write_case

FAMILIES = ["llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "deepseek_v2", "deepseek_v3", "kimi_k2",
            "gpt_oss", "llama4_text", "gpt2", "glm4", "glm4_moe", "olmo2", "gemma", "gemma2", "lfm2", "lfm2_moe", "qwen3_next",
            "qwen3_5_text", "qwen3_5_moe_text", "mamba2"]
LATENT = ("deepseek_v2", "deepseek_v3")
NEW = ("lfm2", "lfm2_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")  # never written in old spellings


def rope(rng, pairs_kind):
    kind = rng.choice(["default", "default", "linear", "llama3", "yarn", "yarn"])
    theta = rng.choice([20.0, 700.0, 10000.0, 1e6])
    out = {"rope_type": kind, "rope_theta": theta}
    if kind == "linear":
        out["factor"] = rng.choice([1.5, 3.0])
    if kind == "llama3":
        low = rng.choice([1.0, 1.5])
        out.update(factor=rng.choice([4.0, 32.0]), low_freq_factor=low, high_freq_factor=low + rng.choice([1.0, 3.0]),
                   original_max_position_embeddings=rng.choice([24, 60]))
    if kind == "yarn":
        out.update(rope_theta=rng.choice([20.0, 60.0, 10000.0]), factor=rng.choice([3.0, 40.0]),
                   original_max_position_embeddings=rng.choice([30, 400]))
        if rng.random() < 0.5:
            out.update(beta_fast=rng.choice([8.0, 16.0]), beta_slow=rng.choice([1.0, 2.0]))
        if rng.random() < 0.4:
            out["truncate"] = False
        if pairs_kind in LATENT:
            mode = rng.choice(["none", "both", "equal"])
            if mode != "none":
                first = rng.choice([0.7, 1.0])
                out.update(mscale=first, mscale_all_dim=first if mode == "equal" else 0.9)
        elif rng.random() < 0.4:
            out["attention_factor"] = rng.choice([1.25, 0.8])
    return out


def draw(family, rng):
    kind = "deepseek_v3" if family == "kimi_k2" else family
    coin = lambda p=0.5: rng.random() < p
    heads, kv = rng.choice([(4, 2), (6, 2), (6, 3), (3, 3), (5, 1), (4, 4), (2, 1)])
    layers = rng.choice([1, 2, 3, 4])
    hidden = heads * rng.choice([4, 6, 10])
    if hidden < 20:
        hidden = heads * 10
    out = dict(model_type=kind, vocab_size=rng.choice([99, 131, 64]), hidden_size=hidden, num_hidden_layers=layers,
               num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=rng.choice([14, 23, 36]),
               max_position_embeddings=rng.choice([77, 200]), rms_norm_eps=rng.choice([1e-2, 1e-5, 1e-6]),
               tie_word_embeddings=coin(0.4), rope_parameters=rope(rng, kind), pad_token_id=rng.choice([None, None, 5]),
               eos_token_id=2)
    if kind not in ("qwen2", "olmo2") + LATENT and (coin(0.6) or kind in ("gpt_oss", "mixtral", "llama4_text")):
        out["head_dim"] = rng.choice([8, 10, 14])
    if kind in ("llama", "qwen3", "qwen3_moe", "olmo2", "gemma", "gemma2", "glm4", "glm4_moe", "llama4_text",
                "gpt_oss") + LATENT:
        out["attention_bias"] = coin()
    if kind == "llama":
        out.update(mlp_bias=coin(), hidden_act=rng.choice(["silu", "gelu", "gelu_pytorch_tanh"]))
    if kind in ("mistral", "mixtral"):
        out["sliding_window"] = rng.choice([None, 1, 4, 9, 50])
    if kind in ("qwen2", "qwen3"):
        out.update(use_sliding_window=coin(0.7), sliding_window=rng.choice([3, 8]),
                   max_window_layers=rng.randint(0, layers))
    if kind in ("glm4", "glm4_moe"):
        out["head_dim"] = rng.choice([8, 16])
        out["rope_parameters"]["partial_rotary_factor"] = rng.choice([0.25, 0.5, 1.0])
    if kind == "gemma2":
        out.update(query_pre_attn_scalar=rng.choice([10, 23]), sliding_window=rng.choice([3, 6]),
                   attn_logit_softcapping=rng.choice([None, 2.5, 20.0]),
                   final_logit_softcapping=rng.choice([None, 4.0, 30.0]))
    experts = rng.choice([4, 6, 8])
    top_k = rng.randint(1, 3)
    width = rng.choice([5, 8, 11])
    if kind == "mixtral":
        out.update(num_local_experts=experts, num_experts_per_tok=top_k, intermediate_size=width)
    if kind == "qwen3_moe":
        out.update(num_experts=experts, num_experts_per_tok=top_k, moe_intermediate_size=width, norm_topk_prob=coin(),
                   decoder_sparse_step=rng.choice([1, 1, 2]), use_sliding_window=coin(),
                   sliding_window=rng.choice([3, 8]), mlp_only_layers=rng.choice([[], [0], [layers - 1]]))
    if kind in LATENT:  # even sizes: deepseek_v2 views slices as complex numbers
        out.update(num_key_value_heads=heads, q_lora_rank=rng.choice([None, 9, 18]), kv_lora_rank=rng.choice([8, 14]),
                   qk_nope_head_dim=rng.choice([6, 10]), qk_rope_head_dim=rng.choice([4, 6, 8]),
                   v_head_dim=rng.choice([7, 12]))
    if kind in LATENT + ("glm4_moe",):
        groups = rng.choice([(1, 1), (2, 1), (4, 2), (2, 2)])
        experts = 8
        limit = groups[1] * experts // groups[0]
        out.update(n_routed_experts=experts, num_experts_per_tok=min(rng.choice([1, 2, 3, 4]), limit),
                   moe_intermediate_size=width, n_shared_experts=rng.choice([1, 2]),
                   first_k_dense_replace=rng.randint(0, min(2, layers - 1)),
                   routed_scaling_factor=rng.choice([1.0, 2.5]), norm_topk_prob=coin())
        if kind != "deepseek_v2":
            out.update(n_group=groups[0], topk_group=groups[1])
        elif coin():
            out.update(topk_method="group_limited_greedy", n_group=groups[0], topk_group=groups[1])
        else:
            out.update(topk_method="greedy")
    if kind == "glm4_moe":
        out["use_qk_norm"] = coin()
    if kind == "gpt_oss":
        out.update(num_local_experts=experts, num_experts_per_tok=top_k, intermediate_size=width,
                   sliding_window=rng.choice([3, 8]), swiglu_limit=rng.choice([1.0, 7.0]))
        if coin():
            out["layer_types"] = [rng.choice(["full_attention", "sliding_attention"]) for _ in range(layers)]
    if kind == "llama4_text":
        out.update(num_local_experts=experts, num_experts_per_tok=top_k, intermediate_size=width,
                   intermediate_size_mlp=rng.choice([15, 20]), interleave_moe_layer_step=rng.choice([1, 2]),
                   attention_chunk_size=rng.choice([3, 8, 50]), floor_scale=rng.choice([2, 5]), attn_scale=0.3,
                   attn_temperature_tuning=coin(0.7), use_qk_norm=coin(), no_rope_layer_interval=rng.choice([2, 3]))
        if layers < out["interleave_moe_layer_step"]:
            out["interleave_moe_layer_step"] = 1
    if kind in ("lfm2", "lfm2_moe"):
        out["norm_eps"] = out.pop("rms_norm_eps")
        out.update(conv_bias=coin(), conv_L_cache=rng.choice([2, 3, 5]),
                   layer_types=[rng.choice(["conv", "conv", "full_attention"]) for _ in range(layers)])
    if kind == "lfm2":
        out.update(block_auto_adjust_ff_dim=coin(), block_multiple_of=rng.choice([1, 8, 24]),
                   block_ffn_dim_multiplier=rng.choice([1.0, 1.3, 0.7]))
    if kind == "lfm2_moe":
        out.update(num_experts=experts, num_experts_per_tok=top_k, moe_intermediate_size=width,
                   num_dense_layers=rng.randint(0, layers), norm_topk_prob=coin(), use_expert_bias=coin(),
                   routed_scaling_factor=rng.choice([1.0, 1.7]))
    if kind in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"):
        keys = rng.choice([1, 2, 3])
        out["head_dim"] = rng.choice([8, 16])
        out["rope_parameters"]["partial_rotary_factor"] = rng.choice([0.25, 0.5, 1.0])
        out.update(attention_bias=coin(0.3), linear_num_key_heads=keys, linear_num_value_heads=keys * rng.choice([1, 2, 3]),
                   linear_key_head_dim=rng.choice([5, 8]), linear_value_head_dim=rng.choice([4, 7]),
                   linear_conv_kernel_dim=rng.choice([2, 3, 4]),
                   layer_types=[rng.choice(["linear_attention", "linear_attention", "full_attention"])
                                for _ in range(layers)])
    if kind in ("qwen3_next", "qwen3_5_moe_text"):
        out.update(num_experts=experts, num_experts_per_tok=top_k, moe_intermediate_size=width,
                   shared_expert_intermediate_size=rng.choice([6, 9]))
    if kind == "qwen3_next":
        out.update(norm_topk_prob=coin(), decoder_sparse_step=rng.choice([1, 1, 2]),
                   mlp_only_layers=rng.choice([[], [0], [layers - 1]]))
    if kind == "qwen3_5_moe_text":
        out.pop("intermediate_size")
    if kind == "mamba2":
        groups = rng.choice([1, 2, 3])
        heads, width = groups * rng.choice([1, 2, 4]), rng.choice([4, 6, 10])
        out = dict(model_type="mamba2", vocab_size=99, hidden_size=heads * width // 2, num_hidden_layers=layers, expand=2,
                   num_heads=heads, head_dim=width, n_groups=groups, state_size=rng.choice([3, 8, 17]),
                   conv_kernel=rng.choice([2, 3, 4]), use_bias=coin(), use_conv_bias=coin(0.7),
                   layer_norm_epsilon=rng.choice([1e-2, 1e-5]), tie_word_embeddings=coin(0.4),
                   chunk_size=rng.choice([3, 8, 256]))
        if coin(0.3):
            out["time_step_limit"] = [rng.choice([0.0, 0.2]), rng.choice([0.9, 2.5])]
    if kind == "gpt2":
        out = dict(model_type="gpt2", vocab_size=99, n_embd=hidden, n_layer=layers, n_head=heads,
                   n_positions=rng.choice([21, 40]), n_inner=rng.choice([None, 51]), eos_token_id=2, bos_token_id=1,
                   activation_function=rng.choice(["gelu_new", "gelu"]), tie_word_embeddings=coin(),
                   scale_attn_by_inverse_layer_idx=coin(), scale_attn_weights=coin(0.8), layer_norm_epsilon=1e-3)
    return out


def as_kimi(config):
    return {**config, "model_type": "kimi_k2"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", required=True, choices=FAMILIES + ["all"])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--output", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for family in FAMILIES if args.family == "all" else [args.family]:
        for index in range(args.count):
            rng = random.Random(f"{family} {index} {args.seed}")
            folder = pathlib.Path(args.output) / f"{family}_{index:02d}"
            settings = draw(family, rng)
            shape = rng.choice([(2, 13), (1, 21), (3, 8)])
            old = "rope_parameters" in settings and family not in NEW and family != "kimi_k2" and rng.random() < 0.3
            write_case(folder, settings, seed=rng.randrange(1, 10**6), shape=shape, old=old,
                       bf16=rng.random() < 0.15, shard=rng.choice([None, None, "40KB"]),
                       edit=as_kimi if family == "kimi_k2" else None)


main()
