"""Learning rates of TorchTitan's own scheduler, for tests/golden/spec/torchtitan_lr_test.cpp.

Independent implementation: torchtitan 0.2.2 (PyPI), its build_lr_schedulers around torch's LambdaLR, torch 2.15.0.
    pip install --no-deps torchtitan==0.2.2 && pip install torch==2.15.0 tyro
    python tests/golden/spec/make_torchtitan_lr.py > tests/golden/spec/torchtitan_lr.json
"""
import importlib.metadata
import itertools
import json

import torch
from torchtitan.components.lr_scheduler import build_lr_schedulers
from torchtitan.config import LRScheduler


def rates(lr, steps, **config):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedulers = build_lr_schedulers([optimizer], LRScheduler(**config), steps)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])  # what this step uses
        optimizer.step()
        schedulers.step()
    return out


cases = []
for kind, (warmup, total), ratio, low in itertools.product(
        ["linear", "sqrt", "cosine"], [(0, None), (1, None), (7, None), (22, None), (23, None), (200, None), (5, 41)],
        [None, 0.0, 0.1, 0.5, 0.8, 1.0], [0.0, 0.1]):
    config = {"warmup_steps": warmup, "total_steps": total, "decay_ratio": ratio, "decay_type": kind, "min_lr_factor": low}
    cases.append(dict(config, lr=2.2e-4, steps=23, rates=rates(2.2e-4, 23, **config)))
# Peak 1, 6 steps: the published example of the rule.
for warmup in (2, 0, 6, 8):
    config = {"warmup_steps": warmup}
    cases.append(dict({"total_steps": None, "decay_ratio": None, "decay_type": "linear", "min_lr_factor": 0.0}, lr=1.0,
                      steps=6, rates=rates(1.0, 6, **config), **config))

print(json.dumps({"made_by": f"torchtitan {importlib.metadata.version('torchtitan')}", "cases": cases}))
