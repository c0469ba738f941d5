# What the makers of this folder share: tiny models of transformers with loud weights, and what they compute.
import contextlib
import json
import pathlib
import re
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.core_model_loading import revert_weight_conversion
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

VOCAB = 99
ELSEWHERE_READ = ("head_dim",)  # read with getattr
LEARNING_RATE, BETAS, EPS, DECAY = 1e-2, (0.9, 0.95), 1e-8, 0.1


@contextlib.contextmanager
def all_float64():
    """transformers asks for float32 in norms, softmaxes, rotations and the loss: here it gets float64 instead."""
    single, method, default = torch.float32, torch.Tensor.float, torch.get_default_dtype()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32 = torch.float = single
        torch.Tensor.float = method
        torch.set_default_dtype(default)


def make_config(settings):
    settings = dict(settings)
    kind = CONFIG_MAPPING[settings.pop("model_type")]
    # A misspelt key would be kept and never read.
    unread = [key for key in settings if not hasattr(kind(), key) and key not in ELSEWHERE_READ]
    assert not unread, unread
    return kind(**settings)


def make_model(config, dtype=None):
    """Eager attention and eager experts; without dropout."""
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager",
                                            dtype=dtype or torch.float32).eval()


def is_choice_bias(name):
    """Of a router's choice: a buffer."""
    return "correction_bias" in name or name.endswith(".expert_bias")


def randomise(model, seed):
    """Loud values everywhere: no norm weight near 1 alone, no bias near 0, routers far from even."""
    generator = torch.Generator().manual_seed(seed)
    zero_centered = model.config.model_type in ("gemma", "gemma2", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
    persistent = model.state_dict()
    tensors = {**dict(model.named_parameters()), **{n: b for n, b in model.named_buffers() if n in persistent}}
    with torch.no_grad():
        for name in sorted(tensors):
            tensor = tensors[name]
            noise = torch.randn(tensor.shape, generator=generator)
            if is_choice_bias(name):
                value = 0.3 * noise
            elif name.endswith("A_log"):
                value = noise - 0.5
            elif name.endswith(".D"):
                value = 1.0 + 0.4 * noise
            elif name.endswith(("linear_attn.norm.weight", "mixer.norm.weight")):
                value = 1.0 + 0.4 * noise
            elif "sinks" in name:
                value = 1.5 * noise
            elif re.search(r"(norm|ln_\w+)\.weight$", name):
                value = (0.0 if zero_centered else 1.0) + 0.4 * noise
            elif name.endswith("bias"):
                value = 0.3 * noise
            elif re.search(r"(gate|router)\.weight$", name):
                value = noise * 2.0 / tensor.shape[-1] ** 0.5
            elif "embed" in name or "wte" in name or "wpe" in name:
                value = (0.2 if model.config.tie_word_embeddings else 0.7) * noise
            elif "mlp.c_fc.weight" in name:
                value = noise * 2.5 / tensor.shape[0] ** 0.5  # where the two forms of gelu differ most
            elif "mlp.c_proj.weight" in name:
                value = noise * 4.0 / tensor.shape[0] ** 0.5
            else:
                # gpt2, gpt_oss and llama4 keep some weights as [in, out]; square enough that it does not matter
                value = noise * 1.1 / tensor.shape[-1] ** 0.5
            tensor.copy_(value)


def loss_of(model, ids):
    """Logits, and the mean loss of the next tokens."""
    logits = model(input_ids=ids, use_cache=False).logits
    flat = logits[:, :-1].reshape(-1, logits.shape[-1])
    return logits, torch.nn.functional.cross_entropy(flat.float(), ids[:, 1:].reshape(-1))


def gradients(model):
    """By their names and in their shapes on disk."""
    grads = {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    return {name: grad.contiguous() for name, grad in revert_weight_conversion(model, grads).items()}


def compute(model, ids, loss_of=loss_of, gradients=gradients):
    """logits, loss, grad.*, the losses before and after each of three steps of AdamW. Puts the weights back."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    out = {}
    # On-disk rule "2+ dims decays": the same parameters in memory, as stacked experts have 3 dims and no 1-dim pieces.
    groups = [{"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": DECAY},
              {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=LEARNING_RATE, betas=BETAS, eps=EPS,
                                  foreach=False)
    losses = []
    for step in range(4):
        optimizer.zero_grad(set_to_none=True)
        logits, loss = loss_of(model, ids)
        losses.append(loss.detach())
        if step == 3:
            break
        loss.backward()
        if step == 0:
            out["logits"], out["loss"] = logits.detach().clone(), loss.detach().reshape(1)
            out.update({"grad." + name: grad for name, grad in gradients(model).items()})
        optimizer.step()
    out["losses"] = torch.stack(losses)
    out["loss_after_3_steps"] = losses[3].reshape(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(before[name])
            p.grad = None
    return out


def compute_in_float64(config, state, ids):
    with all_float64():
        model = make_model(config, torch.float64)
        model.load_state_dict({k: v.double() if v.is_floating_point() else v for k, v in state.items()}, strict=True)
        return compute(model, ids)


def distance(a, b):
    """Largest difference over the largest magnitude."""
    scale = b.abs().max().double().item()
    return (a.double() - b.double()).abs().max().item() / (scale if scale > 0 else 1.0)


def noise_of(single, double):
    """Per quantity; gradients count against the largest gradient of any tensor and against their own tensor's."""
    biggest = max(v.abs().max().item() for k, v in double.items() if k.startswith("grad."))
    grads = [(single[k].double() - double[k].double()).abs().max().item() / biggest for k in double
             if k.startswith("grad.")]
    own = [distance(single[k], double[k]) for k in double if k.startswith("grad.")
           and double[k].abs().max().item() > 1e-9 * biggest]
    return {"logits": distance(single["logits"], double["logits"]), "gradients": max(grads), "own": max(own),
            "losses": distance(single["losses"], double["losses"])}


def make_tokens(shape, seed, vocab=VOCAB, pad=None):
    ids = torch.randint(0, vocab, shape, generator=torch.Generator().manual_seed(seed + 1000))
    ids[0, 0], ids[-1, -1] = vocab - 1, 0  # both ends of the vocabulary
    if pad is not None:
        ids[0, 3] = ids[0, 7] = pad
    return ids


def quiet(noise):
    return noise["logits"] < 3e-6 and noise["gradients"] < 2e-5 and noise["losses"] < 3e-6


def old_style(config, keep_layer_types):
    """The spellings of published files: rope_theta and rope_scaling at the top, torch_dtype."""
    out = dict(config)
    rope = dict(out.pop("rope_parameters"))
    out["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        out["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    kind = rope.pop("rope_type", "default")
    if kind == "default" and out["model_type"] != "gpt_oss":  # to gpt_oss, null means its own YaRN
        out["rope_scaling"] = None
    else:
        out["rope_scaling"] = {"type" if kind == "yarn" else "rope_type": kind, **rope}
    out["torch_dtype"] = out.pop("dtype", "float32")
    out.pop("transformers_version")
    if not keep_layer_types:
        out.pop("layer_types", None)
    out["transformers_version"] = "4.44.0"
    return out


def write_expected(folder, ids, expected):
    (folder / "tokens.json").write_text(json.dumps({"input_ids": ids.tolist()}) + "\n")
    save_file({k: v.float().contiguous() for k, v in expected.items()}, folder / "expected.safetensors")


def print_line(folder, seed, expected, noise):
    size = sum(f.stat().st_size for f in folder.iterdir()) // 1000
    print(f"{folder.name:28s} seed {seed:5d} {size:4d} KB  loss {expected['loss'].item():.4f} -> "
          f"{expected['loss_after_3_steps'].item():.4f}  fp32 against fp64: logits {noise['logits']:.1e} gradients "
          f"{noise['gradients']:.1e} (own {noise['own']:.1e}) losses {noise['losses']:.1e}"
          f"{'' if quiet(noise) else '  LOUD'}", flush=True)


def write_case(folder, settings, seed, shape=(2, 13), bf16=False, shard=None, old=False, edit=None, search=True):
    """One folder: config.json, weights, tokens.json, expected.safetensors. Gives the line for the list."""
    folder = pathlib.Path(folder)
    config = make_config(settings)
    vocab = config.vocab_size
    pad = getattr(config, "pad_token_id", None)
    for attempt in range(30 if search else 1):
        model = make_model(config)
        randomise(model, seed + 100 * attempt)
        if bf16:
            with torch.no_grad():
                for name, tensor in model.state_dict().items():
                    if not is_choice_bias(name):
                        tensor.copy_(tensor.bfloat16().float())
        ids = make_tokens(shape, seed, vocab, pad)
        expected = compute(model, ids)
        noise = noise_of(expected, compute_in_float64(config, model.state_dict(), ids))
        if quiet(noise):
            break
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if bf16:
        halved = make_model(config)
        halved.load_state_dict(model.state_dict())
        for name, tensor in list(halved.named_parameters()):
            tensor.data = tensor.data.bfloat16()
        halved.config.dtype = torch.bfloat16
        halved.save_pretrained(folder)
    else:
        model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
    if edit:
        path = folder / "config.json"
        path.write_text(json.dumps(edit(json.loads(path.read_text())), indent=2) + "\n")
    written = json.loads((folder / "config.json").read_text())
    if old:
        older = old_style(written, "layer_types" in settings)
        (folder / "config.old.json").write_text(json.dumps(older, indent=2) + "\n")
    write_expected(folder, ids, expected)
    check(folder, expected, ids, old, config if written["model_type"] == "kimi_k2" else None)
    print_line(folder, seed + 100 * attempt, expected, noise)


def disk_tensors(folder):
    out = {}
    for path in sorted(folder.glob("model*.safetensors")):
        out.update(load_file(path))
    return out


def check(folder, expected, ids, old, config):
    """The folder, read back by transformers, gives the logits; gradients have the names and shapes on disk."""
    kinds = [("config.json", config)]
    if old:
        kinds.append(("config.old.json", None))
    for name, given in kinds:
        if given is None:
            content = json.loads((folder / name).read_text())
            kind = CONFIG_MAPPING[content["model_type"]]
            given = kind.from_pretrained(folder) if name == "config.json" else kind.from_dict(content)
        again = AutoModelForCausalLM.from_pretrained(folder, config=given, dtype=torch.float32,
                                                     attn_implementation="eager",
                                                     experts_implementation="eager").eval()
        with torch.no_grad():
            logits, _ = loss_of(again, ids)
        # Not the very bits: products depend on where a tensor lies in memory.
        assert distance(logits, expected["logits"]) < 1e-6, (folder, name, distance(logits, expected["logits"]))
    disk = {n: tuple(t.shape) for n, t in disk_tensors(folder).items() if not is_choice_bias(n)}
    grads = {k[5:]: tuple(v.shape) for k, v in expected.items() if k.startswith("grad.")}
    assert disk == grads, (folder, set(disk.items()) ^ set(grads.items()))
