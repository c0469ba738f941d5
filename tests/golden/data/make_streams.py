"""streams.json: what the streams of texts and the synthetic batch are made of.

numpy 2.x, jax 0.7.   python make_streams.py
random_texts: torchtitan's mock texts (numbers of default_rng(42), one call a text), their numbers modulo 99 with a 99
behind each text, cut into pieces of 38. jax: jax.random.randint(PRNGKey(0)), as MaxText's synthetic data draws it.
Not needed to build or test.
"""
import hashlib
import json
import os

import jax
import numpy

generator = numpy.random.default_rng(42)
texts = [generator.integers(0, 32000, size=8192, dtype=numpy.int32) for _ in range(256)]
stream = numpy.concatenate([part for text in texts for part in (text % 99, [99])]).astype(numpy.int32)
samples = {i: numpy.take(stream, range(i * 38, (i + 1) * 38), mode="wrap").tolist()
           for i in (0, 1, 215, 5000, len(stream) // 38, len(stream) // 38 + 1)}
jax_draws = []
for rows, length, high in [(3, 18, 100), (2, 33, 32000), (5, 7, 151936), (1, 9, 1), (2, 5, 2**31 - 1)]:
    values = numpy.asarray(jax.random.randint(jax.random.PRNGKey(0), (rows, length), 0, high, dtype=jax.numpy.int32))
    jax_draws.append({"rows": rows, "length": length, "high": high, "values": values.reshape(-1).tolist()})
golden = {
    "versions": {"numpy": numpy.__version__, "jax": jax.__version__},
    "random_texts": {"first_text": " ".join(map(str, texts[0][:8])), "tokens": len(stream),
                     "sha256": hashlib.sha256(stream.tobytes()).hexdigest(), "samples": samples},
    "jax": jax_draws,
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "streams.json")
with open(path, "w") as file:
    json.dump(golden, file)
    file.write("\n")
