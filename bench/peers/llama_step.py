#!/usr/bin/env python3
"""The PyTorch peer of llama_124M: one optimizer step of 1 x 1,024 tokens.

transformers Llama of the same shape (12 x 768, ffn 2,048, 12 heads, 4 key/value heads, vocabulary 32,000, untied), sdpa,
fused AdamW, gradient clipping at 1.0. Prints one JSON line. --mode fp32 | bf16 (autocast, eager) | bf16_compile.
"""
import argparse

from common import autocast, preload_mkl_switch, product_gflops, report, time_steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=["fp32", "fp32_compile", "bf16", "bf16_compile"], default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--mkl-switch", metavar="LIBRARY.so", help="preload this library (see README.md)")
    args = parser.parse_args()
    preload_mkl_switch(args.mkl_switch)

    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, __version__ as transformers_version

    torch.set_num_threads(args.threads)
    torch.manual_seed(1234)
    mm_gflops = product_gflops()
    config = LlamaConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
                         num_attention_heads=12, num_key_value_heads=4, max_position_embeddings=args.tokens,
                         tie_word_embeddings=False, attn_implementation="sdpa", use_cache=False)
    model = LlamaForCausalLM(config).train()
    num_parameters = sum(p.numel() for p in model.parameters())
    run_model = torch.compile(model) if args.mode.endswith("compile") else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    tokens = torch.randint(0, 32000, (1, args.tokens))
    losses = []

    def step():
        with autocast(args.mode):
            loss = run_model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())

    first, seconds = time_steps(step, 2, args.steps)
    report(peer="llama_124M", mode=args.mode, parameters=num_parameters, tokens=args.tokens, first_step_s=first,
           best_step_s=seconds[0], median_step_s=seconds[len(seconds) // 2], tokens_per_s=args.tokens / seconds[0],
           last_loss=losses[-1], mm_gflops=mm_gflops, transformers=transformers_version)


if __name__ == "__main__":
    main()
