"""Makes yaml11_scalars.json: how PyYAML's SafeLoader reads plain scalars.

Made with PyYAML 6.0 (Python 3.11):  python3 tests/cases/config/make_yaml11_scalars.py > tests/cases/config/yaml11_scalars.json
Rows: [text, kind, value]; a number's value is Python's repr, a date counts as "date", "error" is refused by PyYAML.
"""
import datetime
import itertools
import json

import yaml

WORDS = """
yes Yes YES yEs y Y n N no No NO on On ON oN off Off OFF of true True TRUE tRue false False FALSE t f
null Null NULL nULL None none ~ ~~ nan NaN NAN .nan .NaN .NAN .Nan .inf .Inf .INF .iNf +.inf -.inf -.Inf inf Infinity
0 00 010 0123 08 09 0800 -010 +010 0_7 0_8 0_ 1_000 _1 1_ 1__0 -1_0 +5 -5 --5 - + 0x1F 0X1F 0x 0x_ 0x1_F -0x10 0o17 0b101 0b12
0b_1 -0b11 12:30 1:2:3 1:60 1:6 01:30 190:20:30 -1:30 1:30.5 1:30. 12:3a 9223372036854775807 -9223372036854775808
1. 1.5 .5 -.5 +.5 1.e3 1e5 1E5 1e-5 1.0e5 1.0e+5 1.0E-5 1.5e-05 1_0.5_0 1.0e+ 1.0e+5_0 . .. ... .e+5 ._5 5._ 1.2.3 1,5 1e+5
0.1 0.30000000000000004 6.02214076e+23 1.7976931348623157e+308 5.0e-324 -0.0 0. 00.5 3.14159
2024-01-02 2024-1-2 2024-01-02T03:04:05Z 2024-1-2T3:04:05 2024-01-02T03:04:05.25+01:00 2024-01-2 2024-13
a a:b a#b /mnt/x:y C:\\x 1a 0xg = << <a =a 3e-5 5e-6 163.0e12 99,1,0 v1.0 1.0.0 0.0.0 +1.5 1_000_000
""".split()
WORDS += ["2024-01-02 03:04:05", "2024-01-02 03:04:05 +1", "a b", "1 2", ""]
# Every word of up to four characters over an alphabet in which the rules meet.
WORDS += ["".join(word) for size in (1, 2, 3, 4) for word in itertools.product("01_.e+-:8x", repeat=size)]


def reading(text):
    try:
        loader = yaml.SafeLoader("")
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))
        value = loader.construct_object(yaml.ScalarNode(tag, text), deep=True)
    except (yaml.YAMLError, ValueError):
        return "error", ""
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "bool", str(value).lower()
    if isinstance(value, int):
        return "int", repr(value)
    if isinstance(value, float):
        return "float", repr(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return "date", ""
    return "text", value


def main():
    rows = []
    seen = set()
    for text in WORDS:
        if text in seen:
            continue
        seen.add(text)
        kind, value = reading(text)
        # Most words of the exhaustive part are plain text: only every 25th of those is kept.
        if kind == "text" and len(seen) > 260 and len(seen) % 25:
            continue
        rows.append([text, kind, value if kind != "text" else ""])
    print("[")
    print(",\n".join(json.dumps(row) for row in rows))
    print("]")


if __name__ == "__main__":
    main()
