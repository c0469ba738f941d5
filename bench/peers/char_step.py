#!/usr/bin/env python3
"""The PyTorch peer of the character models on tiny Shakespeare: a plain GPT loop.

--recipe small       4 layers x 128, 4 heads, 64 characters, batch 12 (the best-known small trainer's CPU recipe)
--recipe quickstart  4 layers x 192, 6 heads, 128 characters, batch 16
AdamW, warm-up and cosine decay, gradient clipping at 1.0, contiguous 90/10 split. Without --train: seconds a step. With
--train: all 2,000 steps, then the validation loss (nats per character, mean over the whole validation text). One JSON line.
"""
import argparse
import gzip
import math
import pathlib
import time

from common import autocast, preload_mkl_switch, report, time_steps

RECIPES = {
    "small": dict(layers=4, width=128, heads=4, block=64, batch=12, lr=1e-3),
    "quickstart": dict(layers=4, width=192, heads=6, block=128, batch=16, lr=1e-3),
}
TEXT = pathlib.Path(__file__).resolve().parents[2] / "data" / "tinyshakespeare.txt.gz"


def build_model(torch, recipe, vocabulary):
    nn, F = torch.nn, torch.nn.functional
    width, heads = recipe["width"], recipe["heads"]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
            self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (y.view(b, t, heads, width // heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, 2))
            attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(attention.transpose(1, 2).reshape(b, t, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(recipe["block"], width)
            self.blocks = nn.ModuleList(Block() for _ in range(recipe["layers"]))
            self.norm, self.head = nn.LayerNorm(width, bias=False), nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.tokens.weight
            for name, p in self.named_parameters():
                if p.dim() == 2:
                    depth = math.sqrt(2 * recipe["layers"]) if name.endswith(("proj.weight", "down.weight")) else 1
                    nn.init.normal_(p, std=0.02 / depth)

        def forward(self, x, targets):
            h = self.tokens(x) + self.positions.weight[: x.shape[1]]
            for block in self.blocks:
                h = block(h)
            return F.cross_entropy(self.head(self.norm(h)).flatten(0, 1).float(), targets.flatten())

    return Model()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="small")
    parser.add_argument("--mode", choices=["fp32", "bf16", "bf16_compile"], default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30, help="timed steps without --train")
    parser.add_argument("--train", action="store_true", help="run all 2,000 steps and evaluate")
    parser.add_argument("--iterations", type=int, default=2000, help="steps of --train and length of the decay")
    parser.add_argument("--text", default=str(TEXT), help="training text, .gz or plain")
    parser.add_argument("--mkl-switch", metavar="LIBRARY.so", help="preload this library (see README.md)")
    args = parser.parse_args()
    preload_mkl_switch(args.mkl_switch)

    import torch

    torch.set_num_threads(args.threads)
    torch.manual_seed(1337)
    recipe = RECIPES[args.recipe]
    opener = gzip.open if args.text.endswith(".gz") else open
    with opener(args.text, "rt", encoding="utf-8") as file:
        text = file.read()
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(c) for c in text])
    border = int(0.9 * len(ids))
    train, valid = ids[:border], ids[border:]
    block, batch = recipe["block"], recipe["batch"]

    model = build_model(torch, recipe, len(letters)).train()
    run_model = torch.compile(model) if args.mode.endswith("compile") else model
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([dict(params=decayed, weight_decay=0.1), dict(params=others, weight_decay=0.0)],
                                  lr=recipe["lr"], betas=(0.9, 0.99), fused=True)
    done = 0

    def rate(n, warm=100, least=0.1):
        if n < warm:
            return (n + 1) / (warm + 1)
        done_share = (n - warm) / max(1, args.iterations - warm)
        return least + (1 - least) * 0.5 * (1 + math.cos(math.pi * min(1.0, done_share)))

    def step():
        nonlocal done
        for group in optimizer.param_groups:
            group["lr"] = recipe["lr"] * rate(done)
        starts = torch.randint(len(train) - block, (batch,))
        x = torch.stack([train[s : s + block] for s in starts])
        y = torch.stack([train[s + 1 : s + 1 + block] for s in starts])
        with autocast(args.mode):
            loss = run_model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        done += 1
        return loss.item()

    def validation_loss():
        model.eval()
        num = (len(valid) - 1) // block
        x, y = valid[: num * block].view(num, block), valid[1 : num * block + 1].view(num, block)
        with torch.no_grad(), autocast(args.mode):
            parts = [(model(a, b).item(), len(a)) for a, b in zip(x.split(64), y.split(64))]
        return sum(loss * n for loss, n in parts) / num

    fields = dict(peer="char", recipe=args.recipe, mode=args.mode, parameters=sum(p.numel() for p in model.parameters()))
    if args.train:
        start = time.perf_counter()
        for _ in range(args.iterations):
            last = step()
        seconds = time.perf_counter() - start
        report(**fields, iterations=args.iterations, train_s=seconds, step_s=seconds / args.iterations, last_loss=last,
               val_loss=validation_loss())
    else:
        first, seconds = time_steps(step, 5, args.steps)
        report(**fields, first_step_s=first, best_step_s=seconds[0], median_step_s=seconds[len(seconds) // 2])


if __name__ == "__main__":
    main()
