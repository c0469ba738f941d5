"""Learning rates and weight decays of Megatron's own scheduler, for tests/golden/spec/schedules_test.cpp.

Independent implementation: megatron-core 0.16.1 (PyPI; the class is the same as at Megatron-LM d3528a21), torch 2.15.0.
    pip install --no-deps megatron-core==0.16.1 numpy torch==2.15.0
    python tests/golden/spec/make_schedules.py > tests/golden/spec/schedules.json
"nemo aligned" warm-up is Primus' own patch; its line below is written from its description, not from our code.
"""
import itertools
import json

import megatron.core
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler


class Dummy:
    def __init__(self):
        self.param_groups = [{"params": [], "lr": 0.0, "weight_decay": 0.0, "wd_mult": 1.0, "lr_mult": 1.0}]


def run(batch, steps, init, peak, low, warmup, decay, style, wd0, wd1, wd_len, wd_style, wsd_len=None, wsd_style=None):
    optimizer = Dummy()
    scheduler = OptimizerParamScheduler(
        optimizer, init_lr=init, max_lr=peak, min_lr=low, lr_warmup_steps=warmup, lr_decay_steps=decay,
        lr_decay_style=style, start_wd=wd0, end_wd=wd1, wd_incr_steps=wd_len, wd_incr_style=wd_style,
        use_checkpoint_opt_param_scheduler=False, override_opt_param_scheduler=True, wsd_decay_steps=wsd_len,
        lr_wsd_decay_style=wsd_style)
    lrs, wds = [], []
    for _ in range(steps):
        group = optimizer.param_groups[0]
        lrs.append(group["lr"])          # what this step uses
        wds.append(group["weight_decay"])
        scheduler.step(increment=batch)
    return lrs, wds


def case(**k):
    nemo = k.pop("nemo", False)
    lrs, wds = run(**k)
    if nemo:
        for i in range(k["steps"]):
            n = i * k["batch"]
            if k["warmup"] > 0 and n <= k["warmup"]:
                lrs[i] = k["init"] + (k["peak"] - k["init"]) * (n + k["batch"]) / (k["warmup"] + k["batch"])
    return dict(k, nemo=nemo, lr=lrs, wd=wds)


cases = []
warmups = [(0, 0.0), (12, 0.0), (13, 1e-4), (0.3 * 70, 2e-4), (28.000000000000004, 0.0)]
for style, (warmup, init) in itertools.product(["constant", "linear", "cosine", "inverse-square-root"], warmups):
    for low in (0.0, 3e-4):
        cases.append(case(batch=3, steps=27, init=init, peak=1.7e-3, low=low, warmup=warmup, decay=70, style=style,
                          wd0=0.01, wd1=0.01, wd_len=81, wd_style="constant"))
for wsd, (warmup, init), length in itertools.product(["exponential", "linear", "cosine", "minus_sqrt"],
                                                     [(0, 0.0), (10, 1e-5)], [7, 25, 66]):
    cases.append(case(batch=4, steps=20, init=init, peak=0.9, low=0.05, warmup=warmup, decay=70, style="WSD", wd0=0.1,
                      wd1=0.1, wd_len=80, wd_style="constant", wsd_len=length, wsd_style=wsd))
for wd_style in ("linear", "cosine"):
    for batch in (1, 5):
        cases.append(case(batch=batch, steps=23, init=0.0, peak=1.0, low=0.0, warmup=0, decay=60, style="linear",
                          wd0=0.02, wd1=0.31, wd_len=17 * batch, wd_style=wd_style))
for style in ("linear", "cosine"):
    cases.append(case(batch=6, steps=15, init=1e-5, peak=2e-3, low=1e-4, warmup=30, decay=84, style=style, wd0=0.0, wd1=0.0,
                      wd_len=90, wd_style="constant", nemo=True))

print(json.dumps({"made_by": f"megatron-core {megatron.core.__version__}", "cases": cases}))
