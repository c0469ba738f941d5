# The two published forms of quantised checkpoints, tiny, made by plain numpy from their formulas; the expected logits
# are those of transformers' model holding the dequantised weights in fp32. See README.md.
# transformers 5.24.0, torch 2.15.0, numpy. Command, from the repository root:
#     python tests/golden/hf_models/make_quantised.py
#
# FP8 (DeepSeek-V3): W[r, c] = e4m3(q[r, c]) * scale_inv[r // 128, c // 128]; edge blocks are partial.
# MXFP4 (gpt-oss): value = LUT[nibble] * 2^(scale - 127), low nibble first, 32 values a block along the inputs;
#                  blocks [E, out, in / 32, 16] hold rows, the plain weight is [E, in, out].
import json
import pathlib
import shutil

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.core_model_loading import revert_weight_conversion
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from make_models import base, latent, yarn
from reference import compute, compute_in_float64, make_config, make_model, make_tokens, noise_of, print_line, randomise

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = 128


def e4m3_values():
    """All 256 codes: sign, 4 bits of exponent with bias 7, 3 bits of fraction; 0x7F and 0xFF are NaN."""
    out = np.zeros(256)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent, fraction = (code >> 3) & 15, code & 7
        value = fraction / 8 * 2.0 ** -6 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 7)
        out[code] = np.nan if code & 0x7F == 0x7F else sign * value
    return out


E4M3 = e4m3_values()
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def nearest(values, codes):
    order = [c for c in range(len(codes)) if not np.isnan(codes[c])]
    grid = codes[order]
    out = np.empty(values.shape, np.uint8)
    for index, value in np.ndenumerate(values):
        out[index] = order[int(np.argmin(np.abs(grid - value)))]
    return out


def quantise_fp8(weight, rng):
    """Codes, scales and the weight that they stand for. The scales jump from block to block."""
    rows, columns = weight.shape
    codes = np.empty(weight.shape, np.uint8)
    scales = np.empty((-(-rows // BLOCK), -(-columns // BLOCK)), np.float32)
    back = np.empty(weight.shape, np.float32)
    for r in range(scales.shape[0]):
        for c in range(scales.shape[1]):
            place = np.s_[r * BLOCK:(r + 1) * BLOCK, c * BLOCK:(c + 1) * BLOCK]
            scales[r, c] = np.abs(weight[place]).max() / 448 * rng.uniform(1.0, 3.0)
            codes[place] = nearest(weight[place] / scales[r, c], E4M3)
            back[place] = E4M3[codes[place]].astype(np.float32) * scales[r, c]
    return codes, scales, back


def quantise_mxfp4(weight):
    """weight [E, in, out] -> blocks [E, out, in / 32, 16], scales [E, out, in / 32], and the weight they stand for."""
    rows = weight.transpose(0, 2, 1)
    blocks = rows.reshape(*rows.shape[:2], -1, 32)
    exponent = np.floor(np.log2(np.abs(blocks).max(-1))) - 2  # so that the largest lies in [4, 8)
    codes = nearest(blocks / 2.0 ** exponent[..., None], FP4)
    packed = np.ascontiguousarray(codes[..., 0::2] | (codes[..., 1::2] << 4))
    back = (FP4[codes] * 2.0 ** exponent[..., None]).reshape(rows.shape).transpose(0, 2, 1)
    scales = np.ascontiguousarray((exponent + 127).astype(np.uint8))
    return packed, scales, np.ascontiguousarray(back).astype(np.float32)


def halve(tensor):
    return tensor.bfloat16().float()


def finish(folder, config, model, tensors, quantisation, seed):
    ids = make_tokens((2, 13), seed)
    expected = compute(model, ids)
    noise = noise_of(expected, compute_in_float64(config, model.state_dict(), ids))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    written = json.loads(config.to_json_string())
    written.update(dtype="bfloat16", architectures=[type(model).__name__], quantization_config=quantisation)
    (folder / "config.json").write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tokens.json").write_text(json.dumps({"input_ids": ids.tolist()}) + "\n")
    save_file({"logits": expected["logits"], "loss": expected["loss"]}, folder / "expected.safetensors")
    print_line(folder, seed, expected, noise)


def make_fp8():
    seed, rng = 51, np.random.default_rng(51)
    config = make_config(latent("deepseek_v3", 130, hidden=136, ffn=131, n_group=2, topk_group=1, n_routed_experts=4,
                                num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=6,
                                kv_lora_rank=124, qk_nope_head_dim=38, rope=yarn(mscale=1.0, mscale_all_dim=1.0)))
    model = make_model(config)
    randomise(model, seed)
    disk = revert_weight_conversion(model, {n: t.detach().clone() for n, t in model.state_dict().items()})
    tensors, plain = {}, {}
    for name, tensor in disk.items():
        whole = tensor.ndim < 2 or any(part in name for part in ("embed_tokens", "lm_head", "mlp.gate.weight"))
        if "correction_bias" in name:
            tensors[name] = plain[name] = tensor
        elif whole:
            tensors[name], plain[name] = tensor.bfloat16(), halve(tensor)
        else:
            codes, scales, back = quantise_fp8(tensor.numpy(), rng)
            tensors[name] = torch.from_numpy(codes).view(torch.float8_e4m3fn)
            tensors[name + "_scale_inv"] = torch.from_numpy(scales)
            plain[name] = torch.from_numpy(back)
            assert torch.equal(tensors[name].float(), torch.from_numpy(E4M3[codes].astype(np.float32)))
    model = loaded(config, plain)
    finish(HERE / "deepseek_v3_fp8", config, model, tensors,
           {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
           seed)


def loaded(config, plain):
    """A model with these on-disk tensors, through transformers' own loading."""
    folder = pathlib.Path("/tmp") / "primus_golden_plain"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file({n: t.contiguous() for n, t in plain.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    config.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=torch.float32,
                                                 attn_implementation="eager", experts_implementation="eager").eval()
    again = revert_weight_conversion(model, model.state_dict())
    assert all(torch.equal(again[n], t) for n, t in plain.items())
    shutil.rmtree(folder)
    return model


def make_mxfp4():
    seed = 53
    config = make_config(base("gpt_oss", hidden=96, ffn=32, heads=4, kv=2, head=10, num_local_experts=3,
                              num_experts_per_tok=2, sliding_window=5, swiglu_limit=2.0,
                              rope=yarn(truncate=False, beta_fast=8.0, beta_slow=1.0)))
    model = make_model(config)
    randomise(model, seed)
    tensors, plain = {}, {}
    for name, tensor in model.state_dict().items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name], plain[name] = tensor.bfloat16(), halve(tensor)
            continue
        blocks, scales, back = quantise_mxfp4(tensor.numpy().astype(np.float64))
        tensors[name + "_blocks"], tensors[name + "_scales"] = torch.from_numpy(blocks), torch.from_numpy(scales)
        plain[name] = torch.from_numpy(back)
        theirs = convert_moe_packed_tensors(torch.from_numpy(blocks), torch.from_numpy(scales), dtype=torch.float32)
        assert torch.equal(theirs, plain[name])
    finish(HERE / "gpt_oss_mxfp4", config, loaded(config, plain), tensors,
           {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                "model.embed_tokens", "lm_head"]}, seed)


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_fp8()
    make_mxfp4()
