"""Parameter counts and FLOPs per token of TorchTitan's own models, for tests/unit/dialect/torchtitan_model_test.cpp.

Independent implementation: torchtitan 0.2.2 (PyPI), its model classes built on torch's meta device, torch 2.15.0.
    pip install --no-deps torchtitan==0.2.2 && pip install torch==2.15.0 tyro torchdata datasets  (the last two: imported only)
    python tests/golden/spec/make_torchtitan_models.py > tests/golden/spec/torchtitan_models.json
"""
import importlib
import importlib.metadata
import json

import torch
from torchtitan.config import JobConfig

FAMILIES = {"llama3": "llama3_args", "llama4": "llama4_args", "qwen3": "qwen3_args", "deepseek_v3": "deepseekv3_args",
            "gpt_oss": "gptoss_configs"}

rows = []
for family, table in FAMILIES.items():
    module = importlib.import_module(f"torchtitan.models.{family}")
    model_class = module.get_train_spec().model_cls
    for flavor, args in getattr(module, table).items():
        job = JobConfig()
        job.training.seq_len = 4096
        args.update_from_config(job)
        with torch.device("meta"):
            model = model_class(args)
        groups = {"embedding": 0, "layers": 0, "final_norm": 0, "head": 0}
        for name, parameter in model.named_parameters():  # a tied table comes once, as the embedding
            part = name.split(".")[0]
            groups[{"tok_embeddings": "embedding", "layers": "layers", "norm": "final_norm", "output": "head"}[part]] += \
                parameter.numel()
        _, flops = args.get_nparams_and_flops(model, 4096)
        rows.append({"family": family, "flavor": flavor, "seq_len": 4096, **groups, "flops_per_token": flops,
                     "moe_layers": [i for i, layer in model.layers.items() if getattr(layer, "moe_enabled", False)]})

print(json.dumps({"made_by": f"torchtitan {importlib.metadata.version('torchtitan')}", "models": rows}, indent=0))
