"""Gives what `config export` writes to the real parsers of upstream trainers, as far as they import on a CPU.

    PRIMUS=build/bin/primus python tests/optional/export_real_parsers.py [megatron] [torchtitan] [maxtext] [megatron_bridge]

Each parser is looked for on PYTHONPATH; one that cannot be imported is skipped, with the reason. Exit code 1 when a
real parser refuses a form, or a value of the experiment did not arrive. Tried with megatron-core 0.19.2 (its wheel holds megatron/training), torchtitan 0.2.2 and
maxtext 0.2.5 on Python 3.11.
"""
import argparse
import glob
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import typing
import unittest.mock

PRIMUS = os.environ.get("PRIMUS", "build/bin/primus")
SAY = os.fdopen(os.dup(1), "w", buffering=1)  # the packages print while they are imported


def exported(framework):
    for path in sorted(glob.glob("examples/%s/configs/*/*.yaml" % framework)):
        words = [PRIMUS, "config", "export", "--config", path, "--to", framework, "--format", "json"]
        done = subprocess.run(words, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        if done.returncode != 0:
            yield path, None, done.stderr.strip().splitlines()[:1]
        else:
            yield path, json.loads(done.stdout), None


# Set by Primus itself, whatever the experiment says.
DERIVED = {"save", "tensorboard_dir", "wandb_project", "wandb_exp_name", "wandb_save_dir", "wandb_entity",
           "sequence_parallel", "tokenizer_type", "tokenizer_model", "vocab_size", "num_distributed_optimizer_instances",
           "model", "model.converters", "data_path", "train_data_path", "valid_data_path", "test_data_path"}


def leaves(params, prefix=""):
    for key, value in params.items():
        if isinstance(value, dict):
            yield from leaves(value, prefix + key + ".")
        else:
            yield prefix + key, value


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def same(wanted, parsed):
    parsed = getattr(parsed, "name", parsed)
    if isinstance(wanted, list) or isinstance(parsed, (list, tuple)):
        as_list = lambda value: list(value) if isinstance(value, (list, tuple)) else [value]
        return len(as_list(wanted)) == len(as_list(parsed)) and all(map(same, as_list(wanted), as_list(parsed)))
    if number(wanted) is not None:
        return number(wanted) == number(parsed)
    return wanted == parsed


def lost_values(path, form, parsed):
    """Keys whose value did not arrive in the parser's result although the form says nothing about them."""
    words = [PRIMUS, "config", "show", "--config", path, "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    (module,) = list(json.loads(done.stdout)["modules"].values())[:1]
    told = {one["key"] for one in form["not_carried"]} | DERIVED
    labelled = {flag.lstrip("-").replace("-", "_") for flag in form["unproven"]}
    for key, wanted in leaves(module["params"]):
        if wanted is None or key in told or key in labelled or (isinstance(wanted, str) and "[" in wanted):
            continue
        value = parsed
        for name in key.split("."):
            value = getattr(value, name, typing)
        if value is not typing and not same(wanted, value):
            yield "%s: %r arrived as %r" % (key, wanted, value)


def megatron_parser():
    if not hasattr(typing, "override"):  # Python 3.11: the package asks for 3.12
        typing.override = lambda function: function
    from megatron.training import arguments

    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    arguments.add_megatron_arguments(parser)

    def parse(form):
        # Flags of the pinned revision that this package has no more are labelled in the form itself.
        words, skip = [], False
        for word in form["arguments"]:
            if word.startswith("--"):
                skip = word in form["unproven"]
            if not skip:
                words.append(word)
        known, unknown = parser.parse_known_args(words)
        if unknown:
            raise ValueError("unknown arguments " + " ".join(unknown))
        return known

    return parse


def torchtitan_parser():
    from torchtitan.config import ConfigManager

    def parse(form):
        with tempfile.TemporaryDirectory() as folder:
            (name, text), = form["files"].items()
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(text)
            return ConfigManager().parse_args(["--job.config_file", path])

    return parse


class Absent:
    """Stands in for a package that the parser imports and does not need."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == self.package:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = unittest.mock.MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


def maxtext_parser():
    # It serves a cluster, and the parser only asks whether there is one.
    if importlib.util.find_spec("pathwaysutils") is None:
        sys.meta_path.append(Absent("pathwaysutils"))
    from maxtext.configs import pyconfig

    def parse(form):
        with tempfile.TemporaryDirectory() as folder:
            (name, text), = form["files"].items()
            path = os.path.join(folder, name)
            # Keys of a newer release are labelled in the form itself.
            lines = [line for line in text.splitlines() if line.split(":")[0] not in form["unproven"]]
            with open(path, "w") as file:
                file.write("\n".join(lines) + "\n")
            return pyconfig.initialize_pydantic(["train", path, *form["arguments"][1:]])

    return parse


def bridge_parser():
    def parse(form):
        (name, text), = form["files"].items()
        compile(text, name, "exec")

    return parse


PARSERS = {"megatron": (megatron_parser, "the argument parser of megatron.training"),
           "torchtitan": (torchtitan_parser, "torchtitan's ConfigManager"),
           "maxtext": (maxtext_parser, "MaxText's pyconfig"),
           "megatron_bridge": (bridge_parser, "Python's compiler only: recipes need a GPU to import")}


def check(framework):
    make, name = PARSERS[framework]
    try:
        parse = make()
    except Exception as error:  # whatever a foreign package raises while it is imported
        SAY.write("SKIPPED %s: %s: %s\n" % (framework, type(error).__name__, str(error).splitlines()[0]))
        return 0
    accepted, refused = 0, 0
    for path, form, reason in exported(framework):
        if form is None:
            SAY.write("  not exported %s: %s\n" % (path, reason))
            continue
        try:
            parsed = parse(form)
            lost = list(lost_values(path, form, parsed)) if framework in ("megatron", "torchtitan") else []
            if lost:
                raise ValueError("; ".join(lost))
            accepted += 1
        except (Exception, SystemExit) as error:
            refused += 1
            SAY.write("  REFUSED %s: %s: %s\n" % (path, type(error).__name__, " ".join(str(error).split())[:300]))
    SAY.write("%s: %d accepted, %d refused by %s\n" % (framework, accepted, refused, name))
    return refused


def main():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not os.environ.get("PRIMUS_PARSER_NOISE"):
        os.dup2(1, 2)
    return 1 if sum(check(framework) for framework in sys.argv[1:] or PARSERS) else 0


sys.exit(main())
