"""Shared by the PyTorch peers: timing, precision modes, one JSON line."""
import contextlib
import json
import os
import sys
import time


def preload_mkl_switch(library):
    """Starts this program again with the BLAS switch preloaded (LD_PRELOAD works only from the start of a process)."""
    if library and os.environ.get("PRIMUS_PEER_SWITCH") != "1":
        os.environ["LD_PRELOAD"] = os.path.abspath(library)
        os.environ["PRIMUS_PEER_SWITCH"] = "1"
        os.execv(sys.executable, [sys.executable] + sys.argv)


def autocast(mode):
    import torch

    return torch.autocast("cpu", dtype=torch.bfloat16) if mode.startswith("bf16") else contextlib.nullcontext()


def time_steps(step, num_warm, num_timed):
    """Seconds of each timed step, after the warm ones; the first step's own seconds (compilation) come first."""
    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    for _ in range(num_warm - 1):
        step()
    seconds = []
    for _ in range(num_timed):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return first, sorted(seconds)


def product_gflops(rounds=10):
    """Speed of torch's own fp32 product, 1024 x 768 x 2048: tells whether its BLAS suits this CPU."""
    import torch

    a, b = torch.randn(1024, 768), torch.randn(768, 2048)
    best = 1e9
    for _ in range(rounds):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2e-9 * 1024 * 768 * 2048 / best


def peak_memory_bytes():
    """VmHWM, not ru_maxrss: the latter also holds the size that the parent process had when it started this one."""
    with open("/proc/self/status", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024


def report(**fields):
    import torch

    fields["torch"] = torch.__version__
    fields["threads"] = torch.get_num_threads()
    fields["mkl_switch"] = os.environ.get("PRIMUS_PEER_SWITCH") == "1"
    fields["peak_memory_bytes"] = peak_memory_bytes()
    print(json.dumps(fields), flush=True)
