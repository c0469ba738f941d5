# Tiny models of every family, with what transformers computes for them: see README.md.
# transformers 5.24.0, torch 2.15.0, safetensors 0.8. Command, from the repository root:
#     python tests/golden/hf_models/make_models.py [CASE ...]
# Same seeds, same files (a case whose fp32 result is noisy takes the next seed: the list printed says which).
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import Llama4ForConditionalGeneration, Qwen3_5ForConditionalGeneration

from reference import distance, loss_of, write_case

HERE = pathlib.Path(__file__).resolve().parent


def llama3(theta=700.0, **more):
    return {"rope_type": "llama3", "rope_theta": theta, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
            "original_max_position_embeddings": 24, **more}


def yarn(theta=20.0, original=400, **more):
    """A small base, so that the ramp's ends fall between the few pairs there are."""
    out = {"rope_type": "yarn", "rope_theta": theta, "factor": 7.0, **more}
    return {**out, "original_max_position_embeddings": original} if original else out


def plain(theta=500.0, **more):
    return {"rope_type": "default", "rope_theta": theta, **more}


def base(kind, layers=2, hidden=40, heads=4, kv=2, head=14, ffn=26, rope=None, eps=3e-3, tied=False, **more):
    out = dict(model_type=kind, vocab_size=99, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
               num_key_value_heads=kv, intermediate_size=ffn, max_position_embeddings=77, rms_norm_eps=eps,
               tie_word_embeddings=tied, rope_parameters=rope or plain(), pad_token_id=None)
    if head is not None:
        out["head_dim"] = head
    if ffn is None:
        del out["intermediate_size"]
    out.update(more)
    return out


def latent(kind, q_rank, **more):
    settings = dict(head=None, hidden=24, heads=3, kv=3, ffn=26, eps=1e-2, q_lora_rank=q_rank, kv_lora_rank=14,
                    qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=9, n_routed_experts=8,
                    moe_intermediate_size=7, n_shared_experts=2, num_experts_per_tok=3, first_k_dense_replace=1,
                    routed_scaling_factor=1.7)
    return base(kind, **{**settings, **more})


def lfm2(kind, types, **more):
    """No rms_norm_eps, and no hidden_act."""
    out = base(kind, layers=len(types), **{**dict(hidden=24, heads=4, kv=2, head=10, ffn=26), **more})
    out["norm_eps"] = out.pop("rms_norm_eps")
    return {**out, "layer_types": [{"c": "conv", "a": "full_attention"}[t] for t in types]}


def qwen_next(kind, types, **more):
    settings = dict(layers=len(types), hidden=24, heads=4, kv=2, head=12, ffn=22,
                    rope=plain(1e4, partial_rotary_factor=0.5), linear_conv_kernel_dim=4, linear_num_key_heads=2,
                    linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5)
    out = base(kind, **{**settings, **more})
    return {**out, "layer_types": [{"l": "linear_attention", "a": "full_attention"}[t] for t in types]}


def mamba2(layers, **more):
    return dict(dict(model_type="mamba2", vocab_size=99, hidden_size=24, num_hidden_layers=layers, expand=2, num_heads=6,
                     head_dim=8, n_groups=2, state_size=7, conv_kernel=4, chunk_size=4, layer_norm_epsilon=3e-3), **more)


def by_index(config):
    """As the first files named the layers that attend, with the width and the tie of their keys."""
    types = config.pop("layer_types")
    width, tied = config.pop("intermediate_size"), config.pop("tie_word_embeddings")
    return {**config, "full_attn_idxs": [i for i, t in enumerate(types) if t == "full_attention"],
            "block_ff_dim": width, "tie_embedding": tied}


def as_kimi(config):
    return {**config, "model_type": "kimi_k2"}


def without_rope(config):
    return {key: value for key, value in config.items() if key != "rope_parameters"}


# What gpt_oss means when its file says nothing of rope.
GPT_OSS_ROPE = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                "truncate": False, "original_max_position_embeddings": 4096}
LONG = dict(shape=(1, 21))

CASES = {
    # the five that others start with
    "llama_bias_llama3": dict(settings=base("llama", ffn=18, rope=llama3(), attention_bias=True, mlp_bias=True,
                                            pad_token_id=5),
                              old=True),
    "qwen3_window_bias": dict(settings=base("qwen3", layers=3, hidden=24, ffn=23, attention_bias=True,
                                            use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "mixtral_window": dict(settings=base("mixtral", ffn=5, num_local_experts=4, num_experts_per_tok=2,
                                         sliding_window=6)),
    "deepseek_v3_groups_yarn": dict(settings=latent("deepseek_v3", 18, rope=yarn(mscale=1.0, mscale_all_dim=0.8),
                                                    n_group=4, topk_group=2, layers=3), old=True),
    "gpt_oss_yarn": dict(settings=base("gpt_oss", hidden=24, ffn=9, heads=4, kv=2, head=10, num_local_experts=4,
                                       num_experts_per_tok=2, sliding_window=5, swiglu_limit=1.2, layers=3,
                                       rope=yarn(truncate=False, beta_fast=8.0, beta_slow=1.0)), old=True),
    # the rest
    "llama_tied_linear": dict(settings=base("llama", layers=2, heads=5, kv=1, head=None, ffn=36, tied=True,
                                            rope={"rope_type": "linear", "rope_theta": 2000.0, "factor": 2.5}),
                              shard="60KB", **LONG),
    "mistral_window": dict(settings=base("mistral", hidden=28, sliding_window=5, rope=plain(31000.0))),
    "mistral_yarn_tied": dict(settings=base("mistral", hidden=24, heads=3, kv=3, head=10, sliding_window=None,
                                            tied=True, rope=yarn(attention_factor=1.25)), **LONG),
    "mixtral_three_tied": dict(settings=base("mixtral", hidden=24, heads=6, kv=2, head=8, ffn=13, tied=True,
                                             num_local_experts=5, num_experts_per_tok=3, sliding_window=None,
                                             rope=plain(1e6)), **LONG),
    "qwen2_window": dict(settings=base("qwen2", layers=3, heads=4, head=None, hidden=24, ffn=34,
                                       use_sliding_window=True, sliding_window=5, max_window_layers=1), old=True),
    "qwen2_yarn_tied": dict(settings=base("qwen2", hidden=24, heads=4, kv=1, head=None, tied=True,
                                          use_sliding_window=False, sliding_window=3, rope=yarn()), **LONG),
    "qwen3_bf16_tied": dict(settings=base("qwen3", hidden=28, heads=2, kv=2, head=26, tied=True, rope=yarn()),
                            bf16=True, **LONG),
    "qwen3_moe_steps": dict(settings=base("qwen3_moe", layers=4, hidden=24, heads=4, kv=2, head=10, ffn=14,
                                          num_experts=6, num_experts_per_tok=3, moe_intermediate_size=6,
                                          norm_topk_prob=False, decoder_sparse_step=2, mlp_only_layers=[3])),
    "qwen3_moe_window": dict(settings=base("qwen3_moe", hidden=24, heads=4, kv=1, head=14, ffn=22, num_experts=7,
                                           num_experts_per_tok=2, moe_intermediate_size=10, norm_topk_prob=True,
                                           decoder_sparse_step=1, mlp_only_layers=[], attention_bias=True, tied=True,
                                           use_sliding_window=True, sliding_window=6), **LONG),
    "deepseek_v2_lite": dict(settings=latent("deepseek_v2", None, rope=yarn(mscale=0.707, mscale_all_dim=0.707),
                                             topk_method="greedy", num_key_value_heads=3), old=True),
    "deepseek_v2_groups": dict(settings=latent("deepseek_v2", 18, attention_bias=True, n_group=4, topk_group=2,
                                               topk_method="group_limited_greedy", norm_topk_prob=True, tied=True),
                               **LONG),
    "deepseek_v3_no_q_rank": dict(settings=latent("deepseek_v3", None, attention_bias=True, norm_topk_prob=False,
                                                  n_group=1, topk_group=1, n_shared_experts=1, tied=True,
                                                  first_k_dense_replace=0, pad_token_id=7), **LONG),
    "kimi_k2": dict(settings=latent("deepseek_v3", 15, n_group=1, topk_group=1, n_shared_experts=1,
                                    routed_scaling_factor=2.827, eps=1e-6,
                                    rope=yarn(60.0, 30, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)),
                    edit=as_kimi),
    "gpt_oss_full_first": dict(settings=base("gpt_oss", hidden=24, ffn=9, heads=4, kv=2, head=14, num_local_experts=4,
                                             num_experts_per_tok=3, sliding_window=7, swiglu_limit=2.0, tied=True,
                                             attention_bias=False, rope=plain(150000.0),
                                             layer_types=["full_attention", "sliding_attention"]), **LONG),
    "llama4_interleaved": dict(settings=base("llama4_text", layers=4, hidden=24, heads=4, kv=2, head=10, ffn=8,
                                             rope=llama3(high_freq_factor=1.5, low_freq_factor=1.0),
                                             intermediate_size_mlp=18, num_local_experts=5, num_experts_per_tok=1,
                                             interleave_moe_layer_step=2, attention_chunk_size=5,
                                             no_rope_layers=[1, 0, 1, 0], floor_scale=4, attn_scale=0.4,
                                             use_qk_norm=True)),
    "llama4_every_layer": dict(settings=base("llama4_text", layers=2, hidden=24, heads=6, kv=2, head=8, ffn=9,
                                             intermediate_size_mlp=18, num_local_experts=4, num_experts_per_tok=2,
                                             attention_chunk_size=8, no_rope_layer_interval=2, use_qk_norm=False,
                                             attn_temperature_tuning=False, attention_bias=True, tied=True), **LONG),
    "gpt2_inverse_layers": dict(settings=dict(model_type="gpt2", vocab_size=99, n_embd=18, n_layer=3, n_head=3,
                                              n_positions=33, n_inner=None, activation_function="gelu_new",
                                              bos_token_id=1, eos_token_id=2,
                                              scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=1e-3)),
    "gpt2_untied_erf": dict(settings=dict(model_type="gpt2", vocab_size=99, n_embd=30, n_layer=2, n_head=5,
                                          n_positions=21, n_inner=51, activation_function="gelu",
                                          bos_token_id=1, eos_token_id=2,
                                          tie_word_embeddings=False, scale_attn_weights=False), **LONG),
    "glm4_bias": dict(settings=base("glm4", hidden=28, head=12, attention_bias=True,
                                    rope=plain(partial_rotary_factor=0.5)), old=True),
    "glm4_quarter": dict(settings=base("glm4", hidden=24, head=16, attention_bias=False, tied=True, pad_token_id=98,
                                       rope=plain(partial_rotary_factor=0.25)), **LONG),
    "glm4_moe_qk_norm": dict(settings=base("glm4_moe", layers=3, hidden=24, head=12, ffn=14, attention_bias=True,
                                           use_qk_norm=True, n_routed_experts=6, num_experts_per_tok=3,
                                           moe_intermediate_size=6, n_shared_experts=1, first_k_dense_replace=1,
                                           n_group=2, topk_group=1, routed_scaling_factor=2.5,
                                           rope=plain(1e6, partial_rotary_factor=0.5)), old=True),
    "glm4_moe_bf16": dict(settings=base("glm4_moe", hidden=24, head=16, ffn=22, attention_bias=False,
                                        use_qk_norm=False, n_routed_experts=6, num_experts_per_tok=2,
                                        moe_intermediate_size=9, n_shared_experts=2, first_k_dense_replace=1,
                                        norm_topk_prob=False, n_group=1, topk_group=1, tied=True,
                                        rope=plain(partial_rotary_factor=0.25)), bf16=True, **LONG),
    "olmo2": dict(settings=base("olmo2", eos_token_id=2, hidden=24, head=None, kv=2, pad_token_id=1)),
    "olmo2_bias_tied": dict(settings=base("olmo2", eos_token_id=2, hidden=24, heads=6, kv=6, head=None,
                                          attention_bias=True, tied=True, rope=yarn(original=None),
                                          max_position_embeddings=300), **LONG),
    "gemma_tied": dict(settings=base("gemma", hidden=28, heads=4, kv=1, head=14, tied=True, pad_token_id=0)),
    "gemma2_caps": dict(settings=base("gemma2", layers=3, hidden=24, head=10, ffn=34, tied=True, pad_token_id=0,
                                      sliding_window=5, query_pre_attn_scalar=23, attn_logit_softcapping=2.5,
                                      final_logit_softcapping=4.0, attention_bias=True)),
    "gpt_oss_no_rope_key": dict(settings=base("gpt_oss", hidden=24, ffn=5, heads=6, kv=3, head=8, num_local_experts=3,
                                              num_experts_per_tok=1, sliding_window=4, rope=GPT_OSS_ROPE),
                                edit=without_rope, **LONG),
    "llama4_nested": dict(settings=base("llama4_text", hidden=24, heads=4, kv=2, head=10, ffn=8, rope=plain(500000.0),
                                        intermediate_size_mlp=18, num_local_experts=3, num_experts_per_tok=1,
                                        interleave_moe_layer_step=2, attention_chunk_size=8, use_qk_norm=True),
                          **LONG),
    "lfm2_bias_adjusted": dict(settings=lfm2("lfm2", "ccac", conv_bias=True, conv_L_cache=4, tied=True, ffn=37,
                                             block_multiple_of=8, block_ffn_dim_multiplier=1.3, pad_token_id=0)),
    "lfm2_by_index": dict(settings=lfm2("lfm2", "acc", heads=3, kv=1, head=14, block_auto_adjust_ff_dim=False,
                                        rope=yarn()), edit=by_index, **LONG),
    "lfm2_moe": dict(settings=lfm2("lfm2_moe", "caccc", num_dense_layers=1, num_experts=6, num_experts_per_tok=3,
                                   moe_intermediate_size=9, routed_scaling_factor=1.7, tied=True)),
    "lfm2_moe_bf16": dict(settings=lfm2("lfm2_moe", "ca", head=None, num_dense_layers=0, num_experts=5,
                                         num_experts_per_tok=2, moe_intermediate_size=11, conv_bias=True,
                                         conv_L_cache=2, norm_topk_prob=False, use_expert_bias=False, pad_token_id=7,
                                         rope=plain(1e6)), bf16=True, **LONG),
    "qwen3_next_mixed": dict(settings=qwen_next("qwen3_next", "llal", num_experts=5, num_experts_per_tok=2,
                                                moe_intermediate_size=8, eps=1e-2, shared_expert_intermediate_size=9,
                                                decoder_sparse_step=1, mlp_only_layers=[1], attention_bias=True)),
    "qwen3_next_bf16": dict(settings=qwen_next("qwen3_next", "al", kv=1, head=16, num_experts=4, num_experts_per_tok=3,
                                                moe_intermediate_size=6, shared_expert_intermediate_size=5,
                                                norm_topk_prob=False, decoder_sparse_step=2, tied=True, pad_token_id=5,
                                                linear_num_key_heads=3, linear_num_value_heads=3,
                                                linear_value_head_dim=8, linear_conv_kernel_dim=3,
                                                rope=plain(1e7, partial_rotary_factor=0.25)), bf16=True, **LONG),
    "qwen3_5_dense": dict(settings=qwen_next("qwen3_5_text", "lla", linear_num_key_heads=1, linear_num_value_heads=3,
                                             attention_bias=True, tied=True)),
    "qwen3_5_moe": dict(settings=qwen_next("qwen3_5_moe_text", "lal", num_experts=6, num_experts_per_tok=3,
                                           moe_intermediate_size=8, shared_expert_intermediate_size=6,
                                           rope=yarn(partial_rotary_factor=0.5), ffn=None), **LONG),
    "mamba2": dict(settings=mamba2(3)),
    "mamba2_bias": dict(settings=mamba2(2, n_groups=3, num_heads=12, head_dim=3, hidden_size=18, state_size=10, use_bias=True,
                                        use_conv_bias=False, conv_kernel=3, tie_word_embeddings=True,
                                        time_step_limit=[0.3, 1.1], chunk_size=256), **LONG),
    "qwen3_5_nested": dict(settings=qwen_next("qwen3_5_text", "la", kv=1, linear_key_head_dim=4), **LONG),
}


def nest_llama4(folder):
    """As Llama 4 is published: the text model inside a multimodal one, with `language_model.` and vision weights."""
    tensors = load_file(folder / "model.safetensors")
    expected = load_file(folder / "expected.safetensors")
    text = json.loads((folder / "config.json").read_text())
    vision = dict(model_type="llama4_vision_model", hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                  intermediate_size=32, vision_output_dim=8, image_size=28, patch_size=14, projector_input_dim=8,
                  projector_output_dim=8)
    config = dict(model_type="llama4", architectures=["Llama4ForConditionalGeneration"], text_config=text,
                  vision_config=vision, tie_word_embeddings=False, dtype="float32")
    made = Llama4ForConditionalGeneration.config_class.from_dict(config)
    torch.manual_seed(0)
    other = Llama4ForConditionalGeneration(made).state_dict()
    nested = {"language_model." + name: tensor for name, tensor in tensors.items()}
    nested.update({n: t.contiguous() for n, t in other.items() if not n.startswith("language_model.")})
    save_file(nested, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({k.replace("grad.", "grad.language_model."): v for k, v in expected.items()},
              folder / "expected.safetensors")
    again = Llama4ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                           experts_implementation="eager").eval()
    ids = torch.tensor(json.loads((folder / "tokens.json").read_text())["input_ids"])
    with torch.no_grad():
        assert distance(loss_of(again.language_model, ids)[0], expected["logits"]) < 1e-6


def nest_qwen(folder):
    """As Qwen 3.5 is published: `model.language_model.`, beside the weights that see and those that predict further."""
    tensors = load_file(folder / "model.safetensors")
    expected = load_file(folder / "expected.safetensors")
    text = json.loads((folder / "config.json").read_text())
    vision = dict(model_type="qwen3_5", depth=1, hidden_size=8, intermediate_size=12, num_heads=2, patch_size=2,
                  out_hidden_size=text["hidden_size"], num_position_embeddings=4)
    config = dict(model_type="qwen3_5", architectures=["Qwen3_5ForConditionalGeneration"], text_config=text,
                  vision_config=vision, tie_word_embeddings=text["tie_word_embeddings"], dtype="float32")
    made = Qwen3_5ForConditionalGeneration.config_class.from_dict(config)
    torch.manual_seed(0)
    other = Qwen3_5ForConditionalGeneration(made).state_dict()

    def nested(name):
        return name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name

    out = {nested(name): tensor for name, tensor in tensors.items()}
    assert set(out) <= set(other), set(out) - set(other)
    out.update({n: t.contiguous() for n, t in other.items() if n.startswith("model.visual.")})
    out["mtp.fc.weight"] = torch.ones(2, 3)
    save_file(out, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({"grad." + nested(k[5:]) if k.startswith("grad.") else k: v for k, v in expected.items()},
              folder / "expected.safetensors")
    again = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32,
                                                            attn_implementation="eager").eval()
    ids = torch.tensor(json.loads((folder / "tokens.json").read_text())["input_ids"])
    with torch.no_grad():
        assert distance(loss_of(again, ids)[0], expected["logits"]) < 1e-6


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1:] or list(CASES)
    for name in wanted:
        index = list(CASES).index(name)
        write_case(HERE / name, seed=index + 1, **CASES[name])
        if name == "llama4_nested":
            nest_llama4(HERE / name)
        if name == "qwen3_5_nested":
            nest_qwen(HERE / name)


if __name__ == "__main__":
    main()
