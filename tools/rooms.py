#!/usr/bin/env python3
"""The rooms of src/primus and who may include whom, read from cmake/Layers.cmake.

tools/rooms.py --changed   prints the rooms that differ from the last commit and all rooms that build on them.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def layers():
    """room -> set of rooms that it may include."""
    text = (ROOT / "cmake/Layers.cmake").read_text()
    found = re.findall(r"^set\(PRIMUS_LAYER_(\w+)([^)]*)\)", text, re.MULTILINE)
    return {room: set(below.split()) for room, below in found}


def changed_rooms():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout
    files = git("diff", "--name-only", "HEAD").split() + git("ls-files", "--others", "--exclude-standard").split()
    rooms = set()
    for name in files:
        match = re.match(r"(?:src/primus|tests/[a-z]+)/(\w+)/", name)
        if match:
            rooms.add(match.group(1))
    return rooms


def main():
    if sys.argv[1:] != ["--changed"]:
        sys.exit(__doc__)
    below = layers()
    changed = changed_rooms()
    print("\n".join(sorted(room for room in below if room in changed or below[room] & changed)))


if __name__ == "__main__":
    main()
