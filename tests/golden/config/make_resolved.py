#!/usr/bin/env python3
"""Resolves every experiment of the repository by the written rules, with PyYAML, independently of the C++ loader.

Made with Python 3.11.7, PyYAML 6.0.3, from the root of the repository:

    python tests/golden/config/make_resolved.py [--samples resolved-samples.json]

It writes tests/golden/config/resolved.txt: one line for each experiment below examples/ that is not a CPU one:
path, number of parameters (leaves) of all modules, SHA-256 of the canonical form of {module: parameters};
"refused" instead of both where loading must fail. Then the same for each preset with what it extends, by itself. With --samples (a file of resolved values, as the reference project's
own loader gives them), the rules below are first proved on it, and its values are stored in resolved_samples.json.

Rules. PyYAML's safe load (YAML 1.1). Then ${NAME} and ${NAME:default} in every text; a text that changed is typed
again: bool, int, float, else text. Then `extends`: parents from left to right, the file over all, maps merge, all else
replaces. A module: the model preset, under whole top-level keys of the module preset, under keys of the module that
the module preset lacks, under `overrides` (deep). The text "null" becomes null at the top level and in maps that stood
there before. Everything but the structure goes into the parameters, and `model` too unless a preset has that key.

Canonical form: JSON, keys sorted, no blanks; a text that reads as a decimal number counts as that number, and a number
is written with 17 significant digits. So 5e-5, 0.00005 and "5e-05" are the same.
"""
import argparse
import hashlib
import json
import os
import re
import sys

import yaml

OWN_PRESETS = ("shakespeare_", "llama_124M", "tinyllama_")
STRUCTURE = ("name", "framework", "config", "model", "overrides", "params", "trainer_class")
IDENTITY = ("work_group", "user_name", "exp_name", "workspace")
PLACEHOLDER = re.compile(r"\$\{([^:{}]+)(?::([^}]*))?\}")
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class Refused(Exception):
    pass


def retyped(text):
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if NUMBER.fullmatch(text):
        return float(text)
    return text


def substitute(value, environment):
    if isinstance(value, dict):
        return {key: substitute(inner, environment) for key, inner in value.items()}
    if isinstance(value, list):
        return [substitute(inner, environment) for inner in value]
    if not isinstance(value, str):
        return value

    def stand_in(match):
        name, default = match.groups()
        if name in environment:
            return environment[name]
        if default is None:
            raise Refused(f"variable {name} is not set")
        return default

    text = PLACEHOLDER.sub(stand_in, value)
    return value if text == value else retyped(text)


def deep_merge(base, over):
    merged = dict(base)
    for key, value in over.items():
        if isinstance(merged.get(key), dict) and isinstance(value, dict):
            merged[key] = deep_merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def load_file(path, environment):
    if not os.path.isfile(path):
        raise Refused(f"no file {path}")
    with open(path, encoding="utf-8") as file:
        own = substitute(yaml.safe_load(file), environment)
    if not isinstance(own, dict):
        raise Refused(f"{path} holds no map")
    base = {}
    parents = own.pop("extends", [])
    for parent in [parents] if isinstance(parents, str) else parents:
        base = deep_merge(base, load_file(os.path.join(os.path.dirname(path), parent), environment))
    return deep_merge(base, own)


def null_from_text(value):
    return None if value == "null" else value


def merge_overrides(base, over):
    """Deep merge in which the text "null" becomes null, except inside maps that `base` does not have."""
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, dict):
            old = merged.get(key)
            merged[key] = merge_overrides(old, value) if isinstance(old, dict) else value
        else:
            merged[key] = null_from_text(value)
    return merged


def preset_path(root, kind, framework, name):
    path = os.path.join(root, "primus/configs", kind, framework, name)
    return path if name.endswith((".yaml", ".yml")) else path + ".yaml"


def resolve_module(root, name, block, environment):
    if "trainer" not in name:
        raise Refused(f"module {name}")
    for key in ("framework", "config", "model"):
        if key not in block:
            raise Refused(f"{name} lacks {key}")
    config = load_file(preset_path(root, "modules", block["framework"], block["config"]), environment)
    model = load_file(preset_path(root, "models", block["framework"], block["model"]), environment)
    params = {**model, **config}
    for key, value in block.items():
        if key not in STRUCTURE and key not in config:
            params[key] = value
    params = {key: null_from_text(value) for key, value in params.items()}
    params = merge_overrides(params, block.get("overrides") or {})
    params.pop("trainer_class", None)
    params.setdefault("model", block["model"])
    return params


def parse_overrides(tokens):
    """The command line of the reference: `key=value`, `--key=value`, `--key value`, `--flag`."""
    given = {}
    at = 0
    while at < len(tokens):
        token = tokens[at].removeprefix("--")
        if "=" in token:
            key, text = token.split("=", 1)
        elif at + 1 < len(tokens) and not tokens[at + 1].startswith("--"):
            key, text = token, tokens[at + 1]
            at += 1
        else:
            key, text = token, "true"
        at += 1
        if text.lower() in ("true", "false"):
            value = text.lower() == "true"
        else:
            try:
                value = float(text) if "." in text else int(text)
            except ValueError:
                value = text
        for part in reversed(key.split(".")):
            value = {part: value}
        given = deep_merge(given, value)
    return given


def resolve(root, path, environment, overrides=()):
    experiment = load_file(os.path.join(root, path), environment)
    for key in IDENTITY + ("modules",):
        if key not in experiment:
            raise Refused(f"{path} lacks {key}")
    modules = {name: resolve_module(root, name, block, environment) for name, block in experiment["modules"].items()}
    if overrides:
        first = "pre_trainer" if "pre_trainer" in modules else next(iter(modules))
        modules[first] = deep_merge(modules[first], parse_overrides(overrides))
    return {key: experiment[key] for key in IDENTITY}, modules


def flat(value, key=""):
    if not isinstance(value, dict) or not value:
        return {key: value}
    out = {}
    for name, inner in value.items():
        out.update(flat(inner, f"{key}.{name}" if key else name))
    return out


def canonical(value):
    """The value as text; see the head of this file."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{canonical(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "%.17g" % value
    return json.dumps(value)


def prove_on_samples(root, file):
    """Compares with resolved values of the reference; gives (samples, variants) in our own form."""
    with open(file, encoding="utf-8") as handle:
        samples = json.load(handle)
    variants = samples.pop("_variants")
    samples.pop("_about")
    rows = [{"experiment": path, "environment": {}, "overrides": [], "resolved": value}
            for path, value in samples.items()]
    for variant in variants:
        if "changed" in variant:
            resolved = json.loads(json.dumps(samples[variant["experiment"]]))
            changed = variant.pop("changed")
            resolved["meta"].update(changed["meta"])
            for name, module in changed["modules"].items():
                resolved["modules"][name]["params"].update(module["params"])
            variant["resolved"] = resolved
        rows.append(variant)
    proved, absent = [], []
    for row in rows:
        if not os.path.exists(os.path.join(root, row["experiment"])):
            absent.append(row["experiment"])
            continue
        meta, modules = resolve(root, row["experiment"], row["environment"], row["overrides"])
        assert meta == row["resolved"]["meta"], (row["experiment"], meta)
        wanted = {name: module["params"] for name, module in row["resolved"]["modules"].items()}
        found = {name: flat(params) for name, params in modules.items()}
        for name, params in wanted.items():
            for key in params.keys() | found[name].keys():
                mine, theirs = found[name].get(key, "(absent)"), params.get(key, "(absent)")
                assert json.dumps(mine) == json.dumps(theirs), (row["experiment"], key, mine, theirs)
        proved.append({"experiment": row["experiment"], "environment": row["environment"],
                       "overrides": row["overrides"], "meta": meta, "modules": wanted})
    print(f"{len(proved)} of {len(rows)} samples equal; not in this tree: {', '.join(absent) or 'none'}")
    return proved


def only_differences(rows):
    """Most parameters of a row are those of an earlier row: store what differs from the nearest one."""
    stored = []
    for at, row in enumerate(rows):
        (name, params), = row["modules"].items()
        entry = {key: row[key] for key in ("experiment", "environment", "overrides", "meta")}
        entry["module"] = name
        best = None
        for earlier in range(at):
            base = next(iter(rows[earlier]["modules"].values()))
            changed = {k: v for k, v in params.items() if k not in base or json.dumps(base[k]) != json.dumps(v)}
            gone = sorted(k for k in base if k not in params)
            if best is None or len(changed) + len(gone) < len(best[1]) + len(best[2]):
                best = (earlier, changed, gone)
        if best is None or len(best[1]) + len(best[2]) >= len(params):
            entry["params"] = dict(sorted(params.items()))
        else:
            entry.update(base=best[0], changed=dict(sorted(best[1].items())), absent=best[2])
        stored.append(entry)
    return stored


def experiments_below(root):
    for folder, _, files in sorted(os.walk(os.path.join(root, "examples"))):
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".yaml", ".yml")) and "/configs/CPU/" not in path:
                yield path


def presets_below(root):
    """Those of the reference: not the published ones (-hf), not our own small models."""
    for folder, _, files in sorted(os.walk(os.path.join(root, "primus/configs"))):
        for name in sorted(files):
            if name.endswith(".yaml") and not name.endswith("-hf.yaml") and not name.startswith(OWN_PRESETS):
                yield os.path.relpath(os.path.join(folder, name), root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=".")
    parser.add_argument("--samples")
    given = parser.parse_args()
    here = os.path.join(given.root, "tests/golden/config")
    if given.samples:
        rows = only_differences(prove_on_samples(given.root, given.samples))
        text = ",\n".join(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)
        with open(os.path.join(here, "resolved_samples.json"), "w", encoding="ascii") as file:
            file.write('{"rows":[\n' + text + "\n]}\n")
    lines = []
    for path in experiments_below(given.root):
        try:
            modules = resolve(given.root, path, {})[1]
        except Refused as reason:
            print(f"{path}: {reason}", file=sys.stderr)
            lines.append(f"{path} refused")
            continue
        digest = hashlib.sha256(canonical(modules).encode()).hexdigest()
        lines.append(f"{path} {sum(len(flat(params)) for params in modules.values())} {digest}")
    num_experiments = len(lines)
    for path in presets_below(given.root):
        preset = load_file(os.path.join(given.root, path), {})
        lines.append(f"{path} {len(flat(preset))} {hashlib.sha256(canonical(preset).encode()).hexdigest()}")
    with open(os.path.join(here, "resolved.txt"), "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{num_experiments} experiments, {len(lines) - num_experiments} presets")


if __name__ == "__main__":
    main()
