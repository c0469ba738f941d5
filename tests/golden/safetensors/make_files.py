#!/usr/bin/env python3
"""Files of the reference writer, for tests/unit/hub/safetensors_test.cpp, which reads them and writes the same bytes.

Made with safetensors 0.8.0, torch 2.15.0:
    python tests/golden/safetensors/make_files.py     # writes reference.safetensors and empty.safetensors beside itself
"""
import pathlib

import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent

TENSORS = {
    "layer.weight": (torch.arange(15, dtype=torch.float32) * 0.5 - 3).reshape(3, 5),
    "layer.bias": torch.tensor([1.5, -2.0, 3.25], dtype=torch.bfloat16),
    "half": torch.tensor([[0.5], [-0.25]], dtype=torch.float16),
    "ids": torch.tensor([-7, 2**40], dtype=torch.int64),
    "mask": torch.tensor([True, False, True]),
    "scalar": torch.tensor(2.5, dtype=torch.float64),
    "nothing": torch.empty((0, 4), dtype=torch.float32),
    'odd "name"\\\u00e9': torch.tensor([9], dtype=torch.uint8),
}

save_file(TENSORS, HERE / "reference.safetensors", metadata={"format": "pt", "author": "somebody"})
save_file({}, HERE / "empty.safetensors")
for name, value in load_file(HERE / "reference.safetensors").items():
    assert torch.equal(value, TENSORS[name]), name
