"""First weights and optimizer steps by independent means, for tests/golden/train/first_weights_test.cpp.

Weights: the counter-based stream (../philox/make_philox.py's Philox), and the normal law, cut or not, by the inverse
distribution function of Python's statistics.NormalDist. Optimizer: optax.adamw behind optax.clip_by_global_norm (eps_root,
every weight decays), and the same update computed by numpy in float32 with weights and moments rounded to bfloat16 after
every step (ml_dtypes: to nearest, ties to even).

    python make_first_weights.py        # writes first_weights.json

Made with Python 3.11, numpy 2.4, jax 0.7.0, optax 0.2.8, ml_dtypes.
"""
import json, os, sys
from statistics import NormalDist

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax

HERE = os.path.dirname(os.path.abspath(__file__))
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & M64
    return h


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def key_of(seed, name):
    k = splitmix64(splitmix64(splitmix64(seed) ^ fnv1a64(name.encode())) ^ 0)
    return k & M32, k >> 32


def word(key, index):
    (k0, k1), (c0, c1, c2, c3) = key, (index // 4 & M32, index // 4 >> 32, 0, 0)
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & M32, (a >> 32) ^ c3 ^ k1, a & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return (c0, c1, c2, c3)[index % 4]


def weight(seed, name, index, std, cut):
    u = (word(key_of(seed, name), index) + 0.5) / 2**32
    normal = NormalDist()
    if cut == 0 or cut / std > 6.4:
        return std * normal.inv_cdf(u)
    low, high = normal.cdf(-cut / std), normal.cdf(cut / std)
    return std * normal.inv_cdf(low + (high - low) * u)


SEED, D, FFN, Q, KV, LAYERS, HEAD_DIM = 1234, 40, 56, 48, 24, 3, 12
TRUNC = 0.87962566103423978


def laws(name):  # name -> piece -> (std, cut)
    table = {}
    for i in range(LAYERS):
        if name == "torchtitan":
            out = 0.02 / (2 * (i + 1)) ** 0.5
            stds = {"attn.q": 0.02, "attn.k": 0.02, "attn.v": 0.02, "attn.o": out, "mlp.gate": 0.02, "mlp.up": out, "mlp.down": out}
            table |= {f"layer.{i}.{k}.weight": (v, 2.0) for k, v in stds.items()}
        else:
            fan = lambda n: n ** -0.5
            stds = {"attn.q": fan(D) * fan(HEAD_DIM), "attn.k": fan(D), "attn.v": fan(D), "attn.o": fan(Q)}
            table |= {f"layer.{i}.{k}.weight": (v, 0.0) for k, v in stds.items()}
            cuts = {"mlp.gate": fan(D) / TRUNC, "mlp.up": fan(D) / TRUNC, "mlp.down": fan(FFN) / TRUNC}
            table |= {f"layer.{i}.{k}.weight": (v, 2 * v) for k, v in cuts.items()}
    if name == "torchtitan":
        return table | {"embed.weight": (1.0, 0.0), "head.weight": (D**-0.5, 3 * D**-0.5)}
    return table | {"embed.weight": (D**-0.5, 0.0), "head.weight": (D**-0.5 / TRUNC, 2 * D**-0.5 / TRUNC)}


places = (0, 1, 2, 3, 17, 63, 64, 65, 500, 957)
golden = {"made_with": f"Python {sys.version.split()[0]}, numpy {np.__version__}, jax {jax.__version__}, optax {optax.__version__}",
          "places": places, "weights": {}}
for law in ("torchtitan", "maxtext"):
    golden["weights"][law] = {piece: [weight(SEED, piece, i, std, cut) for i in places] for piece, (std, cut) in laws(law).items()}

# ---- optimizer: one matrix and one vector, gradients that clip and gradients that do not
rng = np.random.default_rng(7)
matrix, vector = rng.normal(size=(3, 5)).astype(np.float32), rng.normal(size=7).astype(np.float32)
steps = [[(s * rng.normal(size=(3, 5))).astype(np.float32), (s * rng.normal(size=7)).astype(np.float32)]
         for s in (1.0, 0.05, 3.0, 1e-4, 0.5, 2.0)]
LR, B1, B2, EPS, EPS_ROOT, WD, CLIP = 0.03, 0.9, 0.95, 1e-6, 1e-3, 0.2, 1.0
tx = optax.chain(optax.clip_by_global_norm(CLIP), optax.adamw(LR, b1=B1, b2=B2, eps=EPS, eps_root=EPS_ROOT, weight_decay=WD))
params = [jnp.asarray(matrix), jnp.asarray(vector)]
state, after = tx.init(params), []
for gradients in steps:
    updates, state = tx.update([jnp.asarray(g) for g in gradients], state, params)
    params = optax.apply_updates(params, updates)
    after.append([np.asarray(p).reshape(-1).tolist() for p in params])
golden["optimizer"] = {"lr": LR, "beta1": B1, "beta2": B2, "eps": EPS, "eps_root": EPS_ROOT, "weight_decay": WD, "clip": CLIP,
                       "start": [matrix.reshape(-1).tolist(), vector.tolist()],
                       "gradients": [[g.reshape(-1).tolist() for g in gs] for gs in steps], "after": after}

half = lambda x: np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
f = np.float32
p = [half(matrix), half(vector)]
m, v, after = [np.zeros_like(x) for x in p], [np.zeros_like(x) for x in p], []
for t, gradients in enumerate(steps, 1):
    norm = float(np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients)))
    scale = f(min(1.0, CLIP / norm))
    for i, g in enumerate(gradients):
        g = g * scale
        m_new, v_new = f(B1) * m[i] + f(1 - B1) * g, f(B2) * v[i] + f(1 - B2) * g * g
        step = f(LR) * (m_new / f(1 - B1**t)) / (np.sqrt(v_new / f(1 - B2**t)) + f(EPS))
        p[i], m[i], v[i] = half(p[i] * f(1 - LR * WD) - step), half(m_new), half(v_new)
    after.append([x.reshape(-1).tolist() for x in p])
golden["stored_in_bf16"] = {"after": after}

with open(os.path.join(HERE, "first_weights.json"), "w") as file:
    json.dump(golden, file)
    file.write("\n")
