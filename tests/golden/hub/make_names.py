# Names and shapes of the tensors that transformers saves, for every configuration of tests/golden/hf_config (published
# sizes and tiny ones), as a count and a hash: the models are made on the meta device, no weights exist.
# transformers 5.24.0, torch 2.15.0. Command: python tests/golden/hub/make_names.py > tests/golden/hub/names.json
#
# sha256 is that of the sorted lines "name [size, size]\n". configs that hf_config lacks stand beside them.
import hashlib
import json
import sys

import torch
from transformers import AutoModelForCausalLM
from transformers.core_model_loading import revert_weight_conversion
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


# Families of which hf_config has no published size.
MORE = [
    {"name": "gpt2_xl", "config": dict(model_type="gpt2", n_embd=1600, n_layer=48, n_head=25, n_positions=1024,
                                       vocab_size=50257)},
    {"name": "glm4_9B", "config": dict(model_type="glm4", hidden_size=4096, num_hidden_layers=40,
                                       num_attention_heads=32, num_key_value_heads=2, head_dim=128,
                                       intermediate_size=13696, vocab_size=151552, attention_bias=True,
                                       tie_word_embeddings=False, eos_token_id=None, pad_token_id=None)},
]


def untagged(values):
    """Infinity as JSON holds it, back to a number."""
    if isinstance(values, dict):
        return float("inf") if "__float__" in values else {k: untagged(v) for k, v in values.items()}
    return [untagged(v) for v in values] if isinstance(values, list) else values


def saved_tensors(config):
    values = dict(config)
    values = values.get("text_config", values) | {k: values[k] for k in ("tie_word_embeddings",) if k in values}
    kind = values.pop("model_type")
    if kind == "kimi_k2":
        kind = "deepseek_v3"
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**untagged(values)))
    state = model.state_dict()
    for name in getattr(model, "all_tied_weights_keys", {}):
        state.pop(name, None)
    state = revert_weight_conversion(model, state)
    return {name: list(tensor.shape) for name, tensor in state.items()}


def main():
    out = []
    for case in json.load(open("tests/golden/hf_config/configs.json")) + MORE:
        if case["config"].get("model_type") in ("grok-1", "git"):
            continue  # not in transformers
        tensors = saved_tensors(case["config"])
        lines = "".join(sorted(f"{name} {shape}\n" for name, shape in tensors.items()))
        one = {"name": case["name"], "tensors": len(tensors), "sha256": hashlib.sha256(lines.encode()).hexdigest()}
        out.append(one | ({"config": case["config"]} if case in MORE else {}))
        print(case["name"], len(tensors), file=sys.stderr)
    print("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]")


if __name__ == "__main__":
    main()
