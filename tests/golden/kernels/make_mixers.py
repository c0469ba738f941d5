"""Golden values of tests/golden/kernels/mixers_test.cpp: transformers' own torch functions for Qwen3-Next, Mamba 2 and
LFM2, with gradients by torch's autograd. Inputs are not stored: both sides compute them (`wave`).

    python make_mixers.py         # writes mixers.json

Made with torch 2.15.0, transformers 5.24.0.
"""
import json, math, os
import torch
from transformers.models.lfm2.modeling_lfm2 import causal_conv1d_fn as lfm2_conv
from transformers.models.mamba2.modeling_mamba2 import MambaRMSNormGated, mamba2_chunk_scan, mamba2_selective_state_update
from transformers.models.qwen3_next.modeling_qwen3_next import (
    Qwen3NextRMSNormGated, causal_conv1d_fn, causal_conv1d_update, torch_chunk_gated_delta_rule,
    torch_recurrent_gated_delta_rule)

torch.set_num_threads(1)
golden = {}


def wave(seed, *shape):
    """sin(seed + 0.7 i + 0.013 i^2) in double, rounded to f32."""
    n = math.prod(shape)
    return torch.tensor([math.sin(seed + 0.7 * i + 0.013 * i * i) for i in range(n)], dtype=torch.float64).float().reshape(shape)


def keep(name, tensor):
    golden[name] = [float(f"{x:.8g}") for x in tensor.detach().double().flatten().tolist()]


def leaf(tensor):
    return tensor.detach().clone().requires_grad_()


def gated_delta():
    tokens, groups, heads, dk, dv = 67, 1, 2, 6, 5
    q, k, v = (leaf(wave(s, 1, tokens, h, d)) for s, h, d in [(1, groups, dk), (2, groups, dk), (3, heads, dv)])
    g = leaf(-wave(4, 1, tokens, heads).abs() * 0.5)
    beta = leaf(torch.sigmoid(wave(5, 1, tokens, heads)))
    state = leaf(wave(6, 1, heads, dk, dv))
    for name, rule in [("chunk", torch_chunk_gated_delta_rule), ("recurrent", torch_recurrent_gated_delta_rule)]:
        out, final = rule(q, k, v, g=g, beta=beta, initial_state=state, output_final_state=True, use_qk_l2norm_in_kernel=True)
        keep(f"gated_delta.{name}.out", out)
        keep(f"gated_delta.{name}.final_state", final)
        loss = (out * wave(7, *out.shape)).sum() + (final * wave(8, *final.shape)).sum()
        grads = torch.autograd.grad(loss, [q, k, v, g, beta, state])
        if name == "chunk":
            for which, grad in zip(["q", "k", "v", "g", "beta", "state"], grads):
                keep(f"gated_delta.d_{which}", grad)


def ssd():
    tokens, heads, width, groups, n = 21, 4, 3, 2, 5
    x = leaf(wave(11, 1, tokens, heads, width))
    dt = leaf(torch.nn.functional.softplus(wave(12, 1, tokens, heads)))
    a = leaf(-torch.exp(wave(13, heads)))
    b, c = leaf(wave(14, 1, tokens, groups, n)), leaf(wave(15, 1, tokens, groups, n))
    d = leaf(wave(16, heads))
    state = leaf(wave(17, 1, heads, width, n))
    out, final = mamba2_chunk_scan(x, dt, a, b, c, chunk_size=8, D=d, initial_states=state, return_final_states=True)
    keep("ssd.out", out)
    keep("ssd.final_state", final)
    loss = (out * wave(18, *out.shape)).sum() + (final * wave(19, *final.shape)).sum()
    for name, grad in zip(["x", "dt", "a", "b", "c", "d", "state"], torch.autograd.grad(loss, [x, dt, a, b, c, d, state])):
        keep(f"ssd.d_{name}", grad)
    # One token by the step that generation uses; it changes the state in place.
    with torch.no_grad():
        running = state.detach().clone()
        wide = lambda t: t[:, None, None].expand(heads, width, n)
        step = mamba2_selective_state_update(running, x[:, 0], dt[:, 0, :, None].expand(-1, -1, width), wide(a), b[:, 0], c[:, 0],
                                             D=d[:, None].expand(heads, width))
        keep("ssd.step.out", step)
        keep("ssd.step.state", running)


def short_conv():
    tokens, channels, taps = 9, 5, 4
    x, w, bias = leaf(wave(21, 1, tokens, channels)), leaf(wave(22, channels, taps)), leaf(wave(23, channels))
    y = causal_conv1d_fn(x.transpose(1, 2), w, bias, activation="silu").transpose(1, 2)
    keep("short_conv.silu.y", y)
    for name, grad in zip(["x", "w", "bias"], torch.autograd.grad((y * wave(24, *y.shape)).sum(), [x, w, bias])):
        keep(f"short_conv.silu.d_{name}", grad)
    keep("short_conv.lfm2.y", lfm2_conv(x.transpose(1, 2), w[:, :3], None).transpose(1, 2))
    state = wave(25, 1, channels, taps - 1)
    with torch.no_grad():
        keep("short_conv.step.y", causal_conv1d_update(x[:, :1].transpose(1, 2), state, w, bias, "silu").transpose(1, 2))
    keep("short_conv.step.state", state)


def gated_norm():
    rows, width = 3, 12
    for name, norm in [("norm_first", Qwen3NextRMSNormGated(width, eps=1e-3)), ("gate_first", MambaRMSNormGated(width, 4, eps=1e-3))]:
        x, z = leaf(wave(31, rows, width)), leaf(wave(32, rows, width))
        with torch.no_grad():
            norm.weight.copy_(1 + wave(33, width))
        y = norm(x, z)
        keep(f"gated_norm.{name}.y", y)
        grads = torch.autograd.grad((y * wave(34, rows, width)).sum(), [x, z, norm.weight])
        for which, grad in zip(["x", "z", "gain"], grads):
            keep(f"gated_norm.{name}.d_{which}", grad)


for make in (gated_delta, ssd, short_conv, gated_norm):
    make()
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mixers.json")
with open(path, "w") as file:
    file.write("{\n" + ",\n".join(f'"{name}": {json.dumps(values)}' for name, values in golden.items()) + "\n}\n")
