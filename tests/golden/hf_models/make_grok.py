# Grok 1 and 2, which transformers does not have: plain torch, written from the formulas of the published remote code
# (grok-1) and of sglang's models/grok.py (grok-2).
# torch 2.15.0, safetensors 0.8. Command, from the repository root: python tests/golden/hf_models/make_grok.py
#
#     x = embedding_multiplier_scale * E[ids]
#     x = x + post_attn_norm(attention(pre_attn_norm(x)));  x = x + post_moe_norm(moe(pre_moe_norm(x)))
#     attention: half-split rotation; s = attn_output_multiplier q k; max_attn_value tanh(s / max_attn_value); mask
#     moe: softmax over all experts, the top k as they are; expert: linear_1(gelu(linear x) * linear_v x), exact gelu
#     logits = output_multiplier_scale * norm(x) E'
# Grok-2 besides: heads of a width of their own; scores grow behind the cap, log(i) / log(attn_temperature_len) for query
# i > attn_temperature_len; router logits capped; (mlp x + moe x) / sqrt 2; the head's logits capped last.
import json
import math
import pathlib
import shutil

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from reference import compute, make_tokens, noise_of, print_line, write_expected

HERE = pathlib.Path(__file__).resolve().parent

CONFIG = {"architectures": ["Grok1ModelForCausalLM"], "model_type": "grok-1", "vocab_size": 99, "hidden_size": 24,
          "intermediate_size": 11, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "attn_output_multiplier": 0.83, "embedding_multiplier_scale": 4.7, "output_multiplier_scale": 0.61,
          "max_attn_value": 2.5, "max_position_embeddings": 77, "rms_norm_eps": 3e-3, "num_experts": 5,
          "num_experts_per_tok": 2, "output_router_logits": False, "router_aux_loss_coef": 0.001,
          "tie_word_embeddings": True, "torch_dtype": "float32", "bos_token_id": 1, "eos_token_id": 2,
          "pad_token_id": None}

CONFIG_2 = {"architectures": ["Grok1ForCausalLM"], "model_type": "git", "vocab_size": 99, "hidden_size": 24,
            "intermediate_size": 21, "moe_intermediate_size": 11, "num_hidden_layers": 3, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 10, "embedding_multiplier_scale": 4.7, "output_multiplier_scale": 0.61,
            "attn_logit_softcapping": 2.5, "router_logit_softcapping": 1.3, "final_logit_softcapping": 3.1,
            "attn_temperature_len": 4, "residual_moe": True, "rope_theta": 208533, "rope_type": "original",
            "original_max_position_embeddings": 19, "scaling_factor": 4.0, "extrapolation_factor": 1.0,
            "attn_factor": 1.0, "beta_fast": 8, "beta_slow": 1, "sliding_window_size": -1, "global_attn_every_n": 1,
            "max_position_embeddings": 76, "rms_norm_eps": 3e-3, "num_local_experts": 5, "num_experts_per_tok": 2,
            "torch_dtype": "float32"}


def shapes_2(c):
    h, f, d = c["hidden_size"], c["moe_intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    out = {"model.embed_tokens.weight": (c["vocab_size"], h), "model.norm.weight": (h,),
           "lm_head.weight": (c["vocab_size"], h)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for norm in ("pre_attn", "post_attn", "pre_moe", "post_moe"):
            out[p + norm + "_norm.weight"] = (h,)
        out.update({p + "self_attn.q_proj.weight": (q, h), p + "self_attn.k_proj.weight": (kv, h),
                    p + "self_attn.v_proj.weight": (kv, h), p + "self_attn.o_proj.weight": (h, q),
                    p + "block_sparse_moe.gate.weight": (c["num_local_experts"], h)})
        for e in range(c["num_local_experts"]):
            x = p + f"block_sparse_moe.experts.{e}."
            out.update({x + "w1.weight": (f, h), x + "w3.weight": (f, h), x + "w2.weight": (h, f)})
        if c["residual_moe"]:
            wide = c["intermediate_size"]
            out.update({p + "mlp.gate_proj.weight": (wide, h), p + "mlp.up_proj.weight": (wide, h),
                        p + "mlp.down_proj.weight": (h, wide)})
    return out


def shapes(c):
    h, f, kv = c["hidden_size"], c["intermediate_size"], c["num_key_value_heads"]
    d = h // c["num_attention_heads"]
    out = {"model.embed_tokens.weight": (c["vocab_size"], h), "model.norm.scale": (h,)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for norm in ("pre_attn", "post_attn", "pre_moe", "post_moe"):
            out[p + norm + "_norm.scale"] = (h,)
        out.update({p + "attn.q_proj.weight": (h, h), p + "attn.k_proj.weight": (kv * d, h),
                    p + "attn.v_proj.weight": (kv * d, h), p + "attn.o_proj.weight": (h, h),
                    p + "moe_block.gate.weight": (c["num_experts"], h)})
        for e in range(c["num_experts"]):
            q = p + f"moe_block.experts.{e}."
            out.update({q + "linear.weight": (f, h), q + "linear_v.weight": (f, h), q + "linear_1.weight": (h, f)})
    return out


class Grok:
    def __init__(self, c, seed, dtype):
        self.c, self.w = c, {}
        generator = torch.Generator().manual_seed(seed)
        for name, shape in sorted(self.shapes().items()):
            noise = torch.randn(shape, generator=generator)
            if len(shape) == 1:
                value = 1 + 0.4 * noise
            elif "embed" in name:
                value = 0.2 * noise
            else:
                value = noise * (2.0 if "gate" in name else 1.1) / shape[-1] ** 0.5
            self.w[name] = torch.nn.Parameter(value.to(dtype))

    def shapes(self):
        return shapes(self.c)

    def named_parameters(self):
        return self.w.items()

    def parameters(self):
        return self.w.values()

    def norm(self, x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.c["rms_norm_eps"]) * self.w[name]

    def rotate(self, x):  # [B, heads, S, d]
        d, s = x.shape[-1], x.shape[-2]
        angle = torch.arange(s, dtype=x.dtype)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
        cos, sin = angle.cos(), angle.sin()
        a, b = x[..., :d // 2], x[..., d // 2:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def attention(self, x, p):
        c, w = self.c, self.w
        b, s, h = x.shape
        heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
        d = h // heads
        q, k, v = ((x @ w[p + n + "_proj.weight"].T).view(b, s, -1, d).transpose(1, 2) for n in "qkv")
        q, k = self.rotate(q), self.rotate(k)
        k, v = (t.repeat_interleave(heads // kv, 1) for t in (k, v))
        score = (q @ k.transpose(-1, -2)) * c["attn_output_multiplier"]
        score = c["max_attn_value"] * torch.tanh(score / c["max_attn_value"])
        score = score.masked_fill(~torch.ones(s, s, dtype=torch.bool).tril(), float("-inf"))
        out = (score.softmax(-1) @ v).transpose(1, 2).reshape(b, s, h)
        return out @ w[p + "o_proj.weight"].T

    def experts(self, x, p):
        c, w = self.c, self.w
        chance = (x @ w[p + "gate.weight"].T).softmax(-1)
        best, index = chance.topk(c["num_experts_per_tok"], -1)
        weight = torch.zeros_like(chance).scatter(-1, index, best)
        out = 0
        for e in range(c["num_experts"]):
            q = p + f"experts.{e}."
            inner = F.gelu(x @ w[q + "linear.weight"].T) * (x @ w[q + "linear_v.weight"].T)
            out = out + weight[..., e:e + 1] * (inner @ w[q + "linear_1.weight"].T)
        return out

    def logits(self, ids):
        embedding = self.w["model.embed_tokens.weight"]
        x = embedding[ids] * self.c["embedding_multiplier_scale"]
        for i in range(self.c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            x = x + self.norm(self.attention(self.norm(x, p + "pre_attn_norm.scale"), p + "attn."),
                              p + "post_attn_norm.scale")
            x = x + self.norm(self.experts(self.norm(x, p + "pre_moe_norm.scale"), p + "moe_block."),
                              p + "post_moe_norm.scale")
        return self.norm(x, "model.norm.scale") @ embedding.T * self.c["output_multiplier_scale"]


class Grok2(Grok):
    def shapes(self):
        return shapes_2(self.c)

    def rotate(self, x):
        d, s = x.shape[-1], x.shape[-2]
        angle = torch.arange(s, dtype=x.dtype)[:, None] / self.c["rope_theta"] ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
        a, b = x.chunk(2, -1)
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)

    def attention(self, x, p):
        c, w = self.c, self.w
        b, s, _ = x.shape
        q, k, v = ((x @ w[p + f"self_attn.{n}_proj.weight"].T).view(b, s, -1, c["head_dim"]).transpose(1, 2) for n in "qkv")
        q, k = self.rotate(q), self.rotate(k)
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        score = (q @ k.transpose(-1, -2)) * c["head_dim"] ** -0.5
        score = c["attn_logit_softcapping"] * torch.tanh(score / c["attn_logit_softcapping"])
        length = c["attn_temperature_len"]
        growth = [math.log2(i) / math.log2(length) if i > length else 1.0 for i in range(s)]
        score = score * torch.tensor(growth, dtype=x.dtype)[:, None]
        score = score.masked_fill(~torch.ones(s, s, dtype=torch.bool).tril(), float("-inf"))
        return (score.softmax(-1) @ v).transpose(1, 2).reshape(b, s, -1) @ w[p + "self_attn.o_proj.weight"].T

    def gated(self, x, gate, up, down):
        return (F.gelu(x @ self.w[gate].T) * (x @ self.w[up].T)) @ self.w[down].T

    def experts(self, x, p):
        c = self.c
        logits = x @ self.w[p + "block_sparse_moe.gate.weight"].T
        cap = c["router_logit_softcapping"]
        chance = (cap * torch.tanh(logits / cap)).softmax(-1)
        best, index = chance.topk(c["num_experts_per_tok"], -1)
        out = 0
        for e in range(c["num_local_experts"]):
            q = p + f"block_sparse_moe.experts.{e}."
            weight = torch.where(index == e, best, 0).sum(-1, keepdim=True)
            out = out + weight * self.gated(x, q + "w1.weight", q + "w3.weight", q + "w2.weight")
        if not c["residual_moe"]:
            return out
        q = p + "mlp."
        dense = self.gated(x, q + "gate_proj.weight", q + "up_proj.weight", q + "down_proj.weight")
        return (dense + out) / 1.4142135623730951

    def logits(self, ids):
        c = self.c
        x = self.w["model.embed_tokens.weight"][ids] * c["embedding_multiplier_scale"]
        for i in range(c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            x = x + self.norm(self.attention(self.norm(x, p + "pre_attn_norm.weight"), p), p + "post_attn_norm.weight")
            x = x + self.norm(self.experts(self.norm(x, p + "pre_moe_norm.weight"), p), p + "post_moe_norm.weight")
        out = self.norm(x, "model.norm.weight") @ self.w["lm_head.weight"].T * c["output_multiplier_scale"]
        cap = c["final_logit_softcapping"]
        return cap * torch.tanh(out / cap) if cap else out


def loss_of(model, ids):
    logits = model.logits(ids)
    return logits, F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def make(folder, kind, config, seed, length):
    ids = make_tokens((2, length), seed)
    model = kind(config, seed, torch.float32)
    expected = compute(model, ids, loss_of, gradients)
    noise = noise_of(expected, compute(kind(config, seed, torch.float64), ids, loss_of, gradients))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({n: p.detach().contiguous() for n, p in model.named_parameters()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    write_expected(folder, ids, expected)
    print_line(folder, seed, expected, noise)


def main():
    torch.set_num_threads(1)
    make(HERE / "grok1", Grok, CONFIG, 41, 13)
    make(HERE / "grok2", Grok2, CONFIG_2, 42, 17)
    make(HERE / "grok2_no_mlp", Grok2, CONFIG_2 | {"residual_moe": False, "final_logit_softcapping": None,
                                                  "attn_temperature_len": 7, "num_experts_per_tok": 1}, 43, 15)


if __name__ == "__main__":
    main()
