"""Losses of TorchTitan's own models, for tests/golden/train/titan_losses_test.cpp.

Models: torchtitan.models.llama3 and .qwen3, unchanged (interleaved rotary pairs with the llama3 bands; norms on the heads
of queries and keys, tied table). First weights: the models' own init_weights, then random norm gains. Loop: plain PyTorch
with what torchtitan's trainer does: AdamW with one group (every weight decays), torchtitan's own learning-rate rule
(components/lr_scheduler.py; the first step has lr / warm-up), clipping to 1.0, the sum of all token losses over the
number of tokens of the whole step, two micro-batches a step.

    python make_titan_losses.py       # writes titan_losses.safetensors (weights, tokens) and titan_losses.json

Made with torch 2.15.0, torchtitan 0.2.2 (its package `datasets` is replaced by an empty one: no data set is read).
"""
import json, os, sys, types

for name in ("datasets", "datasets.distributed"):
    module = types.ModuleType(name)
    module.Dataset = module.load_dataset = module.split_dataset_by_node = None
    sys.modules[name] = module

import torch
from safetensors.torch import save_file
from torchtitan.components.lr_scheduler import build_lr_schedulers
from torchtitan.config.job_config import LRScheduler
from torchtitan.models.llama3.model.args import TransformerModelArgs
from torchtitan.models.llama3.model.model import Transformer
from torchtitan.models.qwen3.model.args import Qwen3ModelArgs
from torchtitan.models.qwen3.model.model import Qwen3Model

HERE = os.path.dirname(os.path.abspath(__file__))
torch.set_num_threads(1)
VOCAB, SEQ, MICRO, GLOBAL, STEPS = 99, 17, 3, 6, 12
LR, WD, EPS, CLIP = 4e-3, 0.17, 1e-8, 1.0

MODELS = {
    "llama3": Transformer(TransformerModelArgs(dim=48, n_layers=3, n_heads=4, n_kv_heads=2, vocab_size=VOCAB, multiple_of=8,
                                               ffn_dim_multiplier=1.3, norm_eps=1e-3, rope_theta=90, max_seq_len=SEQ)),
    "qwen3": Qwen3Model(Qwen3ModelArgs(dim=40, n_layers=3, n_heads=4, n_kv_heads=2, vocab_size=VOCAB, head_dim=14,
                                       hidden_dim=56, norm_eps=1e-3, rope_theta=777, max_seq_len=SEQ,
                                       enable_weight_tying=True)),
}
RENAME = [("tok_embeddings.", "embed."), ("layers.", "layer."), (".attention.w", ".attn."), (".attention.", ".attn."),
          (".attention_norm.", ".attn_norm."), (".ffn_norm.", ".mlp_norm."), (".feed_forward.w1.", ".mlp.gate."),
          (".feed_forward.w2.", ".mlp.down."), (".feed_forward.w3.", ".mlp.up."), ("output.", "head.")]


def canonical(name):
    if name == "norm.weight":
        return "final_norm.weight"
    for old, new in RENAME:
        name = name.replace(old, new)
    return name


class Optimizers(list):
    """What build_lr_schedulers asks of torchtitan's container: a list of optimizers."""


tensors, golden = {}, {"made_with": f"torch {torch.__version__}, torchtitan 0.2.2"}
for name, model in MODELS.items():
    torch.manual_seed(20240611 + len(name))
    with torch.no_grad():
        model.init_weights()
        for key, p in model.named_parameters():
            if "norm" in key:
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif "embed" not in key:
                p.mul_(5)  # TorchTitan's 0.02 hardly lets an attention this small choose
    tokens = torch.randint(0, VOCAB, (STEPS * GLOBAL, SEQ + 1))
    tensors |= {f"{name}.{canonical(k)}": p.detach().clone() for k, p in model.named_parameters()}
    tensors[f"{name}.tokens"] = tokens
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), eps=EPS, weight_decay=WD)
    schedule = build_lr_schedulers(Optimizers([optimizer]),
                                   LRScheduler(warmup_steps=4, decay_ratio=0.5, decay_type="cosine", min_lr_factor=0.1), STEPS)
    losses, norms, rates = [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for micro in range(GLOBAL // MICRO):
            rows = tokens[step * GLOBAL + micro * MICRO:step * GLOBAL + (micro + 1) * MICRO]
            logits = model(rows[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), rows[:, 1:].reshape(-1), reduction="sum")
            loss = loss / (GLOBAL * SEQ)
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
        losses.append(total)
    golden[name] = {"losses": losses, "grad_norms": norms, "lr": rates}
    print(name, losses[0], losses[-1], norms[0], rates)

save_file(tensors, os.path.join(HERE, "titan_losses.safetensors"))
with open(os.path.join(HERE, "titan_losses.json"), "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
