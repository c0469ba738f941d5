"""Makes src/primus/dialect/export_megatron_flags.cpp from the argument parser of the megatron-core package.

    pip download --no-deps megatron-core==0.19.2      (its wheel holds megatron/training; that of 0.16.1 does not)
    PYTHONPATH=<unpacked wheel> python tests/optional/make_megatron_flags.py > src/primus/dialect/export_megatron_flags.cpp

Made with Python 3.11.7, torch 2.15.0, megatron-core 0.19.2. Only keys of the megatron parameter table are kept.
"""
import argparse
import glob
import re
import sys
import textwrap
import typing

if not hasattr(typing, "override"):  # Python 3.11: the package asks for 3.12
    typing.override = lambda function: function
saved, sys.stdout = sys.stdout, sys.stderr  # the package prints while it is imported
from megatron.training import arguments as upstream  # noqa: E402

sys.stdout = saved

# Added after the pinned revision, where these are fields of the model's config without a flag.
LATER = {"yarn_original_max_position_embeddings", "yarn_beta_fast", "yarn_beta_slow",
         "yarn_correction_range_round_to_int"}
# Known to the pinned revision and gone or renamed in this package. Source: docs of the pinned revision.
OLDER = {"off": ["enable_gloo_process_groups=--disable-gloo-process-groups", "scatter_gather_tensors_in_pipeline"],
         "on": ["fp4_param=--fp4-param-gather", "log_batch_size_to_tensorboard", "muon_use_nesterov"],
         "one": ["hybrid_attention_ratio", "hybrid_mlp_ratio"],
         "many": ["cuda_graph_scope"]}


def table_defaults():
    found = {}
    for path in glob.glob("src/primus/dialect/megatron_table_*.cpp"):
        text = open(path).read()
        pattern = r'\b(?:honoured|no_effect|not_built|refused|described)\("([^"]+)",\s*(\w+),\s*"([^"]*)",'
        found.update({match[1]: (match[2], match[3]) for match in re.finditer(pattern, text)})
    return found


def same(ours, theirs):
    if ours in ("null", "") or ours is None:
        return theirs is None or theirs == []
    if isinstance(theirs, bool):
        return ours == str(theirs).lower()
    if isinstance(theirs, (int, float)):
        try:
            return float(ours) == float(theirs)
        except ValueError:
            return False
    if hasattr(theirs, "name"):
        return ours == theirs.name
    bare = str.maketrans("", "", "[]' ")
    return ours.translate(bare) == str(theirs).translate(bare)


def literal(name, words):
    lines = textwrap.wrap(" ".join(sorted(words)), 108, break_long_words=False, break_on_hyphens=False)
    body = "\n".join('    "%s%s"' % (line, " " if i + 1 < len(lines) else "") for i, line in enumerate(lines))
    return "constexpr std::string_view %s =\n%s;\n" % (name, body or '    ""')


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    upstream.add_megatron_arguments(parser)
    defaults = table_defaults()
    kinds = {"on": [], "off": [], "one": [], "many": []}
    always, whole, choices = [], [], []
    for action in parser._actions:
        dest = action.dest
        if dest not in defaults or dest in LATER or dest.endswith("_deprecated") or dest.startswith("deprecated_"):
            continue
        kind = type(action).__name__
        flag = action.option_strings[0]
        if kind in ("_StoreTrueAction", "BooleanOptionalAction"):
            kind, regular = "on", "--" + dest.replace("_", "-")
        elif kind == "_StoreFalseAction":
            kind, regular = "off", "--no-" + dest.replace("_", "-")
        elif kind == "_StoreAction":
            kind, regular = ("many" if action.nargs else "one"), "--" + dest.replace("_", "-")
        else:
            raise SystemExit("unknown action " + kind + " of " + dest)
        if flag not in (regular,) and regular in action.option_strings:
            flag = regular
        kinds[kind].append(dest if flag == regular else dest + "=" + flag)
        if kind in ("one", "many") and not same(defaults[dest][1], action.default):
            always.append(dest)
        if action.type is int and "Float" in defaults[dest][0]:
            whole.append(dest)
        if action.choices and "Bool" not in defaults[dest][0]:
            words = [choice.name if hasattr(choice, "name") else str(choice) for choice in action.choices]
            choices.append(dest + "=" + "|".join(words))
    print(HEAD)
    print(literal("kOn", kinds["on"]))
    print(literal("kOff", kinds["off"]))
    print(literal("kOne", kinds["one"]))
    print(literal("kMany", kinds["many"]))
    print("// Their default moved since the pinned revision: written even where the value is the old default.")
    print(literal("kAlways", always))
    print("// Numbers in our table, whole numbers for the parser.")
    print(literal("kWhole", whole))
    print("// The only words that the parser takes.")
    print(literal("kChoices", choices))
    print("// Of the pinned revision; the package's parser has them no more.")
    for kind, name in (("on", "kOldOn"), ("off", "kOldOff"), ("one", "kOldOne"), ("many", "kOldMany")):
        print(literal(name, OLDER[kind]))
    print(TAIL, end="")


HEAD = """// Made by tests/optional/make_megatron_flags.py from megatron-core 0.19.2; do not edit.
// "dest" or "dest=--flag"; a flag that is not given is --dest with dashes, of kOff --no-dest.
#include "primus/dialect/export_megatron_flags.h"

namespace primus::dialect {

namespace {
"""
TAIL = """}  // namespace

std::vector<MegatronFlagList> megatron_flag_lists() {
  return {{MegatronFlag::Form::On, kOn, true},       {MegatronFlag::Form::Off, kOff, true},
          {MegatronFlag::Form::One, kOne, true},     {MegatronFlag::Form::Many, kMany, true},
          {MegatronFlag::Form::On, kOldOn, false},   {MegatronFlag::Form::Off, kOldOff, false},
          {MegatronFlag::Form::One, kOldOne, false}, {MegatronFlag::Form::Many, kOldMany, false}};
}

std::string_view megatron_always_written() {
  return kAlways;
}

std::string_view megatron_whole_numbers() {
  return kWhole;
}

std::string_view megatron_choices() {
  return kChoices;
}

}  // namespace primus::dialect
"""

main()
