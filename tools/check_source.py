#!/usr/bin/env python3
"""House rules that no compiler checks. tools/check_source.py FILE...; prints `file:line: what`, exit code 1 when it found any.

layers     #include "primus/<room>/..." only along an edge of cmake/Layers.cmake
sizes      headers over 150 lines are reported (warning), sources over 600 lines are errors, over 400 warnings
ascii      code holds ASCII only
torch      nobody includes torch/torch.h
names      a header includes, directly or by what it includes, the header of each type of the base room that it names
duplicates six or more identical lines (blanks, braces and comments aside) in two places
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # no cache folder among the sources
from rooms import ROOT, layers  # noqa: E402

DUPLICATE_LINES = 6
CODE = {".h", ".cpp", ".c"}
SCRIPTS = {".py", ".sh", ".cmake", ""}


def normalised(lines):
    """(line number, text) of the lines that count for duplicates: no blanks, comments, includes, lone punctuation."""
    result = []
    for number, line in enumerate(lines, 1):
        text = re.sub(r"\s+", " ", line).strip()
        if not re.search(r"\w{2}", text) or text.startswith(("//", "#", "*", "namespace ", "using ", "}  //")):
            continue
        result.append((number, text))
    return result


def check_layers(path, lines, below, report):
    match = re.match(r"src/primus/(\w+)/", path)
    if not match:
        return
    room = match.group(1)
    for number, line in enumerate(lines, 1):
        used = re.match(r'\s*#\s*include\s+"primus/(\w+)/', line)
        if used and used.group(1) != room and used.group(1) not in below.get(room, set()):
            report(path, number, f"room {room} may not include room {used.group(1)} (cmake/Layers.cmake)")


def check_text(path, lines, report, warn):
    suffix = pathlib.Path(path).suffix
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            report(path, number, "not ASCII")
        if suffix in CODE and re.match(r'\s*#\s*include\s+[<"]torch/torch\.h', line):
            report(path, number, "torch/torch.h is slow to parse; use primus/tensor/prelude.h")
    count = len(lines)
    if path.startswith("src/third_party/"):
        return
    if suffix == ".h" and count > 150:
        warn(path, count, f"header with {count} lines (150)")
    if suffix in {".cpp", ".c"} and count > 600:
        report(path, count, f"source with {count} lines (600 at most)")
    elif suffix in {".cpp", ".c"} and count > 400:
        warn(path, count, f"source with {count} lines (400)")


def without_comments(line):
    return re.sub(r'//.*|"(?:[^"\\\\]|\\\\.)*"', "", line)


def check_names(report):
    """Grouped builds hide a missing include: another file of the group has it."""
    headers = {str(p.relative_to(ROOT / "src")): p.read_text(errors="replace").splitlines()
               for p in (ROOT / "src/primus").glob("*/*.h")}
    declared = {}
    for path, lines in headers.items():
        for line in lines:
            match = re.match(r"(?:struct|class|enum class|using) (\w+)\b(?!.*;$)|using (\w+) =", line)
            if match:
                declared.setdefault(match.group(1) or match.group(2), set()).add(path)
    reached = {}

    def reach(path):
        if path not in reached:
            reached[path] = {path}
            for line in headers.get(path, []):
                used = re.match(r'\s*#\s*include\s+"(primus/[^"]+)"', line)
                if used:
                    reached[path] |= reach(used.group(1))
        return reached[path]

    for path, lines in headers.items():
        own = set(re.findall(r"\b(?:struct|class|enum class|using|typename) (\w+)", "\n".join(lines)))
        for number, line in enumerate(lines, 1):
            for name in set(re.findall(r"(?<![\w:])([A-Z]\w+)(?= [a-z]|[<&*>:])", without_comments(line))):
                places = declared.get(name, set())
                of_base = len(places) == 1 and min(places).startswith("primus/base/")  # else it may be another's name
                if of_base and name not in own and not places & reach(path):
                    report(f"src/{path}", number, f"{name} is declared in {min(places)}, which is not included")


def check_duplicates(files, report):
    """Reports each run of equal lines once, at its second place."""
    seen = {}
    for path, lines in files:
        counted = normalised(lines)
        skip_until = -1
        for i in range(len(counted) - DUPLICATE_LINES + 1):
            key = tuple(text for _, text in counted[i:i + DUPLICATE_LINES])
            here = (path, counted[i][0], i)
            first = seen.setdefault(key, here)
            # Overlapping windows of one repeated pattern are not two places.
            if first is here or (first[0] == path and abs(first[2] - i) < DUPLICATE_LINES) or i <= skip_until:
                continue
            report(path, counted[i][0], f"{DUPLICATE_LINES} or more lines as in {first[0]}:{first[1]}")
            skip_until = i + DUPLICATE_LINES - 1


def main():
    errors, warnings = [], []
    report = lambda path, line, what: errors.append(f"{path}:{line}: {what}")
    warn = lambda path, line, what: warnings.append(f"{path}:{line}: warning: {what}")
    below = layers()
    product = []
    for path in sorted(sys.argv[1:]):
        suffix = pathlib.Path(path).suffix
        if suffix not in CODE | SCRIPTS:
            continue
        lines = (ROOT / path).read_text(errors="replace").splitlines()
        check_text(path, lines, report, warn)
        check_layers(path, lines, below, report)
        # Parameter tables and their like are rows of data; tests may repeat themselves to stay readable one by one.
        if suffix in CODE and path.startswith(("src/primus/", "apps/")) and "_table" not in path:
            product.append((path, lines))
    check_names(report)
    check_duplicates(product, report)
    print("\n".join(warnings + errors), end="\n" if warnings or errors else "")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
