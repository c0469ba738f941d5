"""random.json: numbers of NumPy's and torch's generators that fix the order of data.

numpy 2.x, torch 2.15 (CPU).   python make_random.py
Not needed to build or test.
"""
import hashlib
import json
import os

import numpy
import torch


def digest(array):
    return hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()


def shuffled(n, seed, dtype):
    values = numpy.arange(n, dtype=dtype)
    numpy.random.RandomState(seed).shuffle(values)
    return values.astype(numpy.int64)


def randperm(n, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return torch.randperm(n, generator=generator).numpy()


# Masked rejection above 2^32, as random_interval does it: the legacy generator's 64-bit integers.
wide = numpy.random.RandomState(7).randint(0, 5_000_000_001, size=64, dtype=numpy.uint64)
# numpy.sum of weights whose last bits depend on the order of the sum
weights = {n: [1.0 / (3 + i) for i in range(n)] for n in (3, 7, 8, 9, 20, 128, 129, 300)}

golden = {
    "versions": {"numpy": numpy.__version__, "torch": torch.__version__.split("+")[0]},
    "shuffle": [
        {"n": n, "seed": seed, "dtype": dtype, "head": shuffled(n, seed, dtype)[:16].tolist(),
         "sha256": digest(shuffled(n, seed, dtype))}
        for n, seed, dtype in [(1, 0, "int32"), (2, 1, "int32"), (10, 1234, "int32"), (4097, 1234, "uint32"),
                               (100003, 4294967295, "int64"), (65536, 42, "uint32")]
    ],
    "randperm": [
        {"n": n, "seed": seed, "head": randperm(n, seed)[:16].tolist(), "sha256": digest(randperm(n, seed))}
        for n, seed in [(1, 0), (2, 5), (10, 0), (12, 1), (4097, 2), (100003, 77)]
    ],
    "interval_above_2_32": {"seed": 7, "max": 5_000_000_000, "values": [int(v) for v in wide]},
    "integers": [
        {"seed": seed, "low": low, "high": high, "size": size,
         "head": numpy.random.default_rng(seed).integers(low, high, size, dtype=numpy.int32)[:16].tolist(),
         "sha256": digest(numpy.random.default_rng(seed).integers(low, high, size, dtype=numpy.int32))}
        for seed, low, high, size in [(0, 1, 4096, 100000), (12345, -5, 1000, 999), (1, 0, 2**31 - 1, 1001)]
    ],
    "sum": [{"values": v, "sum": float(numpy.sum(numpy.array(v, dtype=numpy.float64))).hex()} for v in weights.values()],
}
# Long sums are told by their rule, not by their numbers: values[i] = 1 / (3 + i).
for entry in golden["sum"]:
    entry["n"] = len(entry.pop("values"))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "random.json")
json.dump(golden, open(path, "w"), indent=1)
