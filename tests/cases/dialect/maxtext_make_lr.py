"""Learning rates by MaxText's own schedule, for tests/unit/dialect/maxtext_train_test.cpp.

Takes create_learning_rate_schedule out of the maxtext package as it is and runs it on jax and optax in double
precision. Made with maxtext 0.2.5, jax 0.10.2, optax 0.2.8, Python 3.11:

    pip download maxtext==0.2.5 --no-deps && unzip maxtext-0.2.5-py3-none-any.whl -d pkg
    python tests/cases/dialect/maxtext_make_lr.py pkg > tests/cases/dialect/maxtext_lr.txt
"""

import ast
import sys
import types as python_types

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import optax

path = sys.argv[1] + "/maxtext/utils/maxtext_utils.py"
source = open(path, encoding="utf-8").read()
function = next(
    node
    for node in ast.parse(source).body
    if isinstance(node, ast.FunctionDef) and node.name == "create_learning_rate_schedule"
)
names = python_types.SimpleNamespace(
    LearningRateScheduleType=python_types.SimpleNamespace(COSINE="cosine", WSD="wsd"),
    WsdDecayStyle=python_types.SimpleNamespace(LINEAR="linear", COSINE="cosine"),
)
scope = {"jnp": jnp, "optax": optax, "types": names}
exec(compile(ast.Module([function], []), path, "exec"), scope)

# type, style, steps, schedule steps (-1: steps), warm-up, wsd, final fraction
CASES = [
    ("cosine", "linear", 23, -1, 0.1, 0.1, 0.1),
    ("cosine", "linear", 20, 13, 0.31, 0.1, 0.05),
    ("cosine", "linear", 5, -1, 0.1, 0.1, 0.1),  # too short to warm up
    ("cosine", "linear", 7, 9, 0.5, 0.1, 0.0),  # stops before the schedule does
    ("cosine", "linear", 6, 4, 0.75, 0.1, 0.25),  # one step behind the warm-up
    ("wsd", "linear", 31, 27, 0.2, 0.3, 0.1),
    ("wsd", "cosine", 31, 27, 0.2, 0.3, 0.1),
    ("wsd", "linear", 12, 10, 0.1, 0.1, 0.1),  # a decay of one step
    ("wsd", "cosine", 12, 10, 0.1, 0.1, 0.1),
    ("wsd", "linear", 12, 10, 0.2, 0.05, 0.1),  # a decay of no step
    ("wsd", "linear", 12, -1, 0.5, 0.5, 0.3),  # no stable phase
]
for kind, style, steps, length, warmup, wsd, final in CASES:
    config = python_types.SimpleNamespace(
        learning_rate=0.003,
        learning_rate_final_fraction=final,
        learning_rate_schedule_steps=steps if length == -1 else length,
        warmup_steps_fraction=warmup,
        wsd_decay_steps_fraction=wsd,
        steps=steps,
        lr_schedule_type=kind,
        wsd_decay_style=style,
    )
    schedule = scope["create_learning_rate_schedule"](config)
    rates = " ".join(repr(float(schedule(jnp.asarray(i, jnp.int64)))) for i in range(steps))
    print(f"{kind} {style} {steps} {length} {warmup} {wsd} {final} : {rates}")
