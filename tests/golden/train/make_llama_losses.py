"""Losses of an independent fp32 PyTorch loop, for tests/golden/train/llama_losses_test.cpp.

Model: transformers' LlamaForCausalLM (odd sizes, grouped-query attention, random norm gains). Loop: plain PyTorch with
torch.optim.AdamW, clipping to 1.0, megatron's cosine schedule with a warm-up (step n uses the rate of the samples consumed
before it), weight decay on matrices only, micro-batches of unequal token counts averaged as means of means.

    python make_llama_losses.py         # writes llama_losses.safetensors (weights, tokens, mask) and llama_losses.json

Made with torch 2.15.0, transformers 5.24.0, safetensors 0.8.
"""
import json, math, os
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(20240611)
torch.set_num_threads(1)
VOCAB, HIDDEN, LAYERS, HEADS, KV, DIM, FFN, SEQ = 99, 40, 3, 4, 2, 12, 88, 17
MICRO, GLOBAL, STEPS = 2, 6, 20
LR, MIN_LR, WARMUP_STEPS, DECAY_STEPS, WD, BETA1, BETA2, EPS, CLIP = 5e-3, 5e-4, 3, 18, 0.13, 0.9, 0.95, 1e-8, 1.0

config = LlamaConfig(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                     num_key_value_heads=KV, head_dim=DIM, intermediate_size=FFN, max_position_embeddings=64,
                     rms_norm_eps=1e-3, tie_word_embeddings=False, attn_implementation="eager",
                     rope_parameters={"rope_type": "default", "rope_theta": 777.0})
model = LlamaForCausalLM(config).float()
with torch.no_grad():
    for name, p in model.named_parameters():
        p.copy_(1 + 0.3 * torch.randn_like(p) if "norm" in name else 0.11 * torch.randn_like(p))

RENAME = [("model.embed_tokens.weight", "embed.weight"), ("lm_head.weight", "head.weight"), ("model.norm.weight", "final_norm.weight"),
          ("model.layers.", "layer."), (".self_attn.", ".attn."), ("_proj.weight", ".weight"),
          (".input_layernorm.weight", ".attn_norm.weight"), (".post_attention_layernorm.weight", ".mlp_norm.weight")]
def canonical(name):
    for old, new in RENAME:
        name = name.replace(old, new)
    return name

tensors = {canonical(n): p.detach().clone() for n, p in model.named_parameters()}
tokens = torch.randint(0, VOCAB, (STEPS * GLOBAL, SEQ + 1))
mask = (torch.rand(STEPS * GLOBAL, SEQ) < torch.linspace(0.2, 1.0, STEPS * GLOBAL)[torch.randperm(STEPS * GLOBAL)].unsqueeze(1)).float()
tensors["tokens"], tensors["loss_mask"] = tokens, mask

def lr_at(n):
    warmup, decay = WARMUP_STEPS * GLOBAL, DECAY_STEPS * GLOBAL
    if n <= warmup: return LR * n / warmup
    if n > decay: return MIN_LR
    r = (n - warmup) / (decay - warmup)
    return MIN_LR + 0.5 * (math.cos(math.pi * r) + 1) * (LR - MIN_LR)

groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": WD},
          {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(BETA1, BETA2), eps=EPS)
losses, norms, rates = [], [], []
for step in range(STEPS):
    optimizer.zero_grad()
    loss_sum = tokens_sum = 0.0
    for micro in range(GLOBAL // MICRO):
        rows = slice(step * GLOBAL + micro * MICRO, step * GLOBAL + (micro + 1) * MICRO)
        logits = model(input_ids=tokens[rows, :-1]).logits
        token_loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), tokens[rows, 1:].reshape(-1), reduction="none")
        m = mask[rows].reshape(-1)
        ((token_loss * m).sum() / m.sum() / (GLOBAL // MICRO)).backward()
        loss_sum += (token_loss.detach().double() * m).sum().item()
        tokens_sum += m.sum().item()
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
    rates.append(lr_at(step * GLOBAL))
    for group in optimizer.param_groups: group["lr"] = rates[-1]
    optimizer.step()
    losses.append(loss_sum / tokens_sum)

save_file(tensors, os.path.join(HERE, "llama_losses.safetensors"))
with open(os.path.join(HERE, "llama_losses.json"), "w") as f:
    json.dump({"made_with": f"torch {torch.__version__}, transformers 5.24.0", "losses": losses, "grad_norms": norms, "lr": rates}, f, indent=1)
    f.write("\n")
print(losses[0], losses[-1], norms[0])
