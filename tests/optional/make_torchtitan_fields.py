"""Makes src/primus/dialect/export_torchtitan_fields.cpp from the JobConfig of the torchtitan package.

    pip install --no-deps torchtitan==0.2.2 tyro docstring_parser shtab typeguard
    python tests/optional/make_torchtitan_fields.py > src/primus/dialect/export_torchtitan_fields.cpp

Made with Python 3.11.7, torchtitan 0.2.2. JobConfig is read without importing the rest of the package.
"""
import ast
import importlib.util
import os
import textwrap


def class_fields(tree):
    classes = {}
    def visit(body, prefix=""):
        for node in body:
            if isinstance(node, ast.ClassDef):
                classes[prefix + node.name] = [
                    (s.target.id, ast.unparse(s.annotation)) for s in node.body if isinstance(s, ast.AnnAssign)]
                visit(node.body, prefix + node.name + ".")
    visit(tree.body)
    return classes


def walk(classes, name, prefix, scope=""):
    for field, annotation in classes[name]:
        candidates = [scope + annotation, name + "." + annotation, annotation]
        inner = next((c for c in candidates if c in classes), None)
        if inner:
            yield from walk(classes, inner, prefix + field + ".", inner.rpartition(".")[0] + "." if "." in inner else "")
        else:
            yield prefix + field


def main():
    folder = os.path.dirname(importlib.util.find_spec("torchtitan").origin)
    with open(os.path.join(folder, "config", "job_config.py")) as file:
        classes = class_fields(ast.parse(file.read()))
    lines = textwrap.wrap(" ".join(walk(classes, "JobConfig", "")), 108)
    print(HEAD)
    for i, line in enumerate(lines):
        print('    "%s%s"%s' % (line, " " if i + 1 < len(lines) else "", ";" if i + 1 == len(lines) else ""))
    print(TAIL, end="")


HEAD = """// Made by tests/optional/make_torchtitan_fields.py from torchtitan 0.2.2; do not edit.
#include "primus/dialect/export_torchtitan_fields.h"

namespace primus::dialect {

namespace {

// Every field of JobConfig, in the order of its sections.
constexpr std::string_view kFields ="""
TAIL = """
}  // namespace

std::string_view torchtitan_fields() {
  return kFields;
}

}  // namespace primus::dialect
"""

main()
