"""orders.json: samples as Megatron's own GPTDataset, BlendedMegatronDatasetBuilder and samplers give them.

megatron-core 0.19.2 (with its helpers.cpp compiled: g++ -O2 -shared -fPIC $(python -m pybind11 --includes) helpers.cpp -o
helpers_cpp<EXT_SUFFIX>), numpy 2.x, torch 2.15 (CPU).   python -W ignore make_orders.py
Not needed to build or test. The documents follow document_length() and token(), which the test repeats.
"""
import hashlib
import inspect
import json
import os
import random
import re
import tempfile

import numpy
import torch
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig, MockGPTDataset
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from megatron.core.datasets.utils import Split, get_blend_from_list
import megatron.core.datasets.gpt_dataset as gpt_dataset

VOCAB, EOD = 211, 210


class Tokenizer:
    """What a GPTDataset asks of a tokenizer: no pad token."""

    unique_identifiers = {"class": "test"}

    def __init__(self, vocab_size, eod):
        self.vocab_size, self.eod, self.eos = vocab_size, eod, eod


def document_length(file, document, shortest, spread):
    return shortest + (document * 7919 + file * 104729 + document * document * 31) % spread


def token(file, document, place, length):
    if place == length - 1:
        return EOD
    return (document * 131 + place * 7 + file * 17) % (VOCAB - 1)


def write(folder, file):
    number, documents, shortest, spread = file
    prefix = os.path.join(folder, f"file{number}")
    builder = IndexedDatasetBuilder(prefix + ".bin", dtype=numpy.uint16)
    for d in range(documents):
        n = document_length(number, d, shortest, spread)
        builder.add_item(torch.tensor([token(number, d, i, n) for i in range(n)], dtype=torch.int64))
        builder.end_document()
    builder.finalize(prefix + ".idx")
    return prefix


def digest(chunks):
    h = hashlib.sha256()
    for chunk in chunks:
        h.update(chunk)
    return h.hexdigest()


def starts(mask):
    """First position that each row may attend to."""
    return (~mask[0]).int().argmax(dim=1).to(torch.int32).numpy()


def describe(dataset):
    if dataset is None:
        return None
    # Mock data has half a million samples: the first 200 tell.
    samples = [dataset[i] for i in range(min(len(dataset), 200) if isinstance(dataset, MockGPTDataset) else len(dataset))]
    texts = [torch.cat([s["tokens"], s["labels"][-1:]]).to(torch.int32).numpy() for s in samples]
    return {
        "size": len(dataset),
        "described": len(samples),
        "head": [t.tolist() for t in texts[:2]],
        "tokens": digest(t.tobytes() for t in texts),
        "loss_mask": digest(s["loss_mask"].to(torch.uint8).numpy().tobytes() for s in samples),
        "position_ids": digest(s["position_ids"].to(torch.int32).numpy().tobytes() for s in samples),
        "document_start": digest(starts(s["attention_mask"]).tobytes() for s in samples),
    }


def build(folder, case):
    def blend(key):
        if case.get(key) is None:
            return None
        return get_blend_from_list([write(folder, e) if isinstance(e, list) else str(e) for e in case[key]])

    flags = case.get("flags", [])
    mock = case.get("mock")
    config = GPTDatasetConfig(
        random_seed=case["seed"],
        sequence_length=case["length"],
        blend=blend("blend"),
        blend_per_split=[blend("train"), blend("valid"), blend("test")] if "train" in case else None,
        split=case.get("split"),
        reset_position_ids="reset_position_ids" in flags,
        reset_attention_mask="reset_attention_mask" in flags,
        eod_mask_loss="eod_mask_loss" in flags,
        drop_last_partial_validation_sequence="keep_last_partial" not in flags,
        path_to_cache=os.path.join(folder, "cache"),
        tokenizer=Tokenizer(mock + 1, mock) if mock else Tokenizer(VOCAB, EOD),
    )
    cls = MockGPTDataset if mock else GPTDataset
    datasets = BlendedMegatronDatasetBuilder(cls, case["sizes"], lambda: True, config).build()
    return dict(zip(("train", "valid", "test"), map(describe, datasets)))


def border(file, length):
    """Numbers of samples whose last epoch is exactly 0.8 of an epoch, and one less."""
    number, documents, shortest, spread = file
    tokens = sum(document_length(number, d, shortest, spread) for d in range(documents))
    threshold = int(0.80 * ((tokens - 1) // length))
    return ((2 * tokens - 1) // length) + threshold


A, B, C = [1, 65, 3, 40], [2, 211, 1, 90], [3, 37, 5, 17]
EMPTY = [4, 50, 0, 4]
TEN = [[10 + i, 12 + i, 2, 30] for i in range(10)]
edge = border(A, 16)
flags = ["reset_position_ids", "reset_attention_mask", "eod_mask_loss"]
cases = [
    {"name": "one file, one epoch", "blend": [A], "split": "80,10,10", "length": 16, "seed": 1234, "sizes": [40, 3, 1]},
    {"name": "halves round to even", "blend": [A], "split": "1, 1", "length": 16, "seed": 1, "sizes": [20, 20, 0]},
    {"name": "many epochs", "blend": [B], "split": "90,8,2", "length": 32, "seed": 99, "sizes": [2500, 70, 9]},
    {"name": "last epoch at the border", "blend": [A], "split": "1", "length": 16, "seed": 5, "sizes": [edge, 0, 0]},
    {"name": "last epoch below the border", "blend": [A], "split": "1", "length": 16, "seed": 5, "sizes": [edge - 1, 0, 0]},
    {"name": "one weighted file", "blend": ["1.0", A], "split": "8,1,1", "length": 16, "seed": 1234, "sizes": [300, 20, 6]},
    {"name": "three weights", "blend": ["0.3", A, "0.3", C, "0.4", B], "split": "9,1", "length": 8, "seed": 7,
     "sizes": [1000, 37, 0]},
    {"name": "weights that do not sum to one", "blend": ["30", A, "70", B], "split": "9,1", "length": 24, "seed": 7,
     "sizes": [501, 10, 0]},
    {"name": "ten weights", "blend": [x for i, f in enumerate(TEN) for x in (str(0.1 * (i + 1)), f)], "split": "1",
     "length": 8, "seed": 3, "sizes": [700, 0, 0]},
    {"name": "two files without weights", "blend": [A, C], "split": "8,1,1", "length": 16, "seed": 1234,
     "sizes": [64, 12, 4]},
    {"name": "files of each split", "train": ["2", A, "1", B], "valid": [C], "test": [A, B], "length": 16, "seed": 11,
     "sizes": [128, 17, 30]},
    {"name": "a kept last partial validation sample", "blend": [A], "split": "1,1", "length": 16, "seed": 21,
     "sizes": [8, 100, 0], "flags": ["keep_last_partial"]},
    {"name": "documents without tokens", "blend": [EMPTY], "split": "3,1", "length": 5, "seed": 2, "sizes": [31, 9, 0]},
    {"name": "all resets", "blend": [C], "split": "1,1", "length": 64, "seed": 21, "sizes": [40, 9, 0], "flags": flags},
    {"name": "resets in a padded sample", "blend": [C], "split": "1,1", "length": 64, "seed": 22, "sizes": [3, 5, 0],
     "flags": flags + ["keep_last_partial"]},
    {"name": "positions only", "blend": [C], "split": "1", "length": 64, "seed": 21, "sizes": [9, 0, 0],
     "flags": ["reset_position_ids"]},
    {"name": "mock", "mock": 131072, "length": 128, "seed": 1234, "sizes": [60, 10, 5]},
    {"name": "mock with a small vocabulary", "mock": 500, "length": 64, "seed": 8, "sizes": [33, 3, 0], "flags": flags},
]


def sampler_class():
    """The sampler's own text, without the imports of its module (they need a GPU stack)."""
    import megatron

    path = os.path.join(list(megatron.__path__)[0], "training", "datasets", "data_samplers.py")
    text = open(path).read()
    scope = {"torch": torch, "Dataset": torch.utils.data.Dataset, "random": random, "np": numpy}
    for name in ("RandomSeedDataset", "MegatronPretrainingSampler", "MegatronPretrainingRandomSampler"):
        body = re.search(rf"^class {name}\b.*?(?=^class |\Z)", text, re.S | re.M).group(0)
        exec(body, scope)
    return scope


def cyclic(scope, n, mbs, ranks, rank, sharding, consumed, batches):
    sampler = scope["MegatronPretrainingRandomSampler"](None, n, consumed, mbs, rank, ranks, sharding)
    out = []
    while len(out) < batches:
        for batch in sampler:
            out.append(batch)
            if len(out) == batches:
                break
    return out


def single(scope, n, mbs, ranks, rank, consumed):
    return list(scope["MegatronPretrainingSampler"](n, consumed, mbs, rank, ranks))


scope = sampler_class()
orders = []
for n, mbs, ranks, consumed in [(20, 2, 1, 0), (23, 2, 2, 0), (23, 2, 2, 8), (50, 3, 4, 12), (17, 1, 1, 0), (64, 4, 2, 128)]:
    for sharding in (True, False):
        orders.append({"loader": "cyclic", "n": n, "micro_batch": mbs, "ranks": ranks, "sharding": sharding,
                       "consumed": consumed,
                       "batches": [cyclic(scope, n, mbs, ranks, r, sharding, consumed, 12) for r in range(ranks)]})
    orders.append({"loader": "single", "n": n, "micro_batch": mbs, "ranks": ranks, "sharding": True,
                   "consumed": consumed if consumed < n else 0,
                   "batches": [single(scope, n, mbs, ranks, r, consumed if consumed < n else 0) for r in range(ranks)]})

result = {"versions": {"megatron-core": "0.19.2", "numpy": numpy.__version__, "torch": torch.__version__.split("+")[0]},
          "vocab": VOCAB, "eod": EOD, "cases": [], "orders": orders}
for case in cases:
    with tempfile.TemporaryDirectory() as folder:
        expected = build(folder, case)
    result["cases"].append({**case, "expected": expected})
    print(case["name"], {k: v and v["size"] for k, v in expected.items()})
text = json.dumps(result, indent=1)
text = re.sub(r"\[\s+([-0-9,\s]+?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text)
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "orders.json"), "w").write(text + "\n")
