"""Indexed datasets as Megatron writes them: indexed/{u16,i32,merged,sequences}.{bin,idx}.

megatron-core 0.19.2, numpy 2.x, torch 2.15 (CPU).   python make_indexed.py
Not needed to build or test.
"""
import os

import numpy
import torch
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "indexed")
os.makedirs(here, exist_ok=True)


def build(name, dtype, documents, merge=()):
    """documents: lists of sequences; a sequence is a list of ids."""
    prefix = os.path.join(here, name)
    builder = IndexedDatasetBuilder(prefix + ".bin", dtype=dtype)
    for sequences in documents:
        for sequence in sequences:
            builder.add_item(torch.tensor(sequence, dtype=torch.int64))
        builder.end_document()
    for other in merge:
        builder.add_index(os.path.join(here, other))
    builder.finalize(prefix + ".idx")


build("u16", numpy.uint16, [[[5, 6, 7]], [[8, 9]]])
build("i32", numpy.int32, [[[]], [[3, 2, 131071]], [[]], [[70000, 1]], [[]]])
build("sequences", numpy.uint16, [[[1, 2, 3], [4]], [[65499, 0]]])
build("merged", numpy.uint16, [], merge=["u16", "sequences"])
