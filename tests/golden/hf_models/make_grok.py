# Grok-1, which transformers does not have: plain torch, written from the formulas of the published remote code.
# torch 2.15.0, safetensors 0.8. Command, from the repository root: python tests/golden/hf_models/make_grok.py
#
#     x = embedding_multiplier_scale * E[ids]
#     x = x + post_attn_norm(attention(pre_attn_norm(x)));  x = x + post_moe_norm(moe(pre_moe_norm(x)))
#     attention: half-split rotation; s = attn_output_multiplier q k; max_attn_value tanh(s / max_attn_value); mask
#     moe: softmax over all experts, the top k as they are; expert: linear_1(gelu(linear x) * linear_v x), exact gelu
#     logits = output_multiplier_scale * norm(x) E'
import json
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
        for name, shape in sorted(shapes(c).items()):
            noise = torch.randn(shape, generator=generator)
            if name.endswith("scale"):
                value = 1 + 0.4 * noise
            elif "embed" in name:
                value = 0.2 * noise
            else:
                value = noise * (2.0 if "gate" in name else 1.1) / shape[-1] ** 0.5
            self.w[name] = torch.nn.Parameter(value.to(dtype))

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


def loss_of(model, ids):
    logits = model.logits(ids)
    return logits, F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def main():
    torch.set_num_threads(1)
    seed, folder = 41, HERE / "grok1"
    ids = make_tokens((2, 13), seed)
    model = Grok(CONFIG, seed, torch.float32)
    expected = compute(model, ids, loss_of, gradients)
    noise = noise_of(expected, compute(Grok(CONFIG, seed, torch.float64), ids, loss_of, gradients))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    save_file({n: p.detach().contiguous() for n, p in model.named_parameters()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    write_expected(folder, ids, expected)
    print_line(folder, seed, expected, noise)


if __name__ == "__main__":
    main()
