"""Golden values of tests/parity/kernels/philox_test.cpp: a second implementation in plain Python, whose floats are
IEEE doubles without fused operations.

    python3 make_philox.py        (Python 3.11, mpmath 1.3; no other package)

Prints: words of a stream, normals by AS 241 (hex floats), FNV-1a of 10,007 fp32 normals, exact quantiles by mpmath.
"""
import math
import struct

import mpmath

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & M64
    return h


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def key_of(seed, name, step):
    k = splitmix64(splitmix64(splitmix64(seed) ^ fnv1a64(name.encode())) ^ step)
    return k & M32, k >> 32


def philox(key, counter):
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & M32, (a >> 32) ^ c3 ^ k1, a & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c0, c1, c2, c3


A = [3.3871328727963666080, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
     4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3]
B = [1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3, 2.1213794301586595867e+4,
     3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3]
C = [1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4]
D = [1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9]
# r never exceeds sqrt(log 2^33) = 4.79 for words, so the far tail (E, F) is not needed here.


def poly(c, x):
    s = c[-1]
    for k in reversed(c[:-1]):
        s = s * x + k
    return s


def fixed_log(x):
    m, e = math.frexp(x)  # in [0.5, 1)
    m, e = m * 2, e - 1
    if m > 1.4142135623730951:
        m, e = m * 0.5, e + 1
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    total = 1.0 / 21.0
    for k in range(19, 0, -2):
        total = total * t + 1.0 / k
    return e * 0.6931471805599453 + 2.0 * s * total


def normal(word):
    p = (word + 0.5) * 2.0**-32
    q = p - 0.5
    if -0.425 <= q <= 0.425:
        r = 0.180625 - q * q
        return q * poly(A, r) / poly(B, r)
    r = math.sqrt(-fixed_log(p if q < 0 else 1.0 - p))
    z = poly(C, r - 1.6) / poly(D, r - 1.6)
    return -z if q < 0 else z


def stream_word(key, i):
    c = i // 4
    return philox(key, (c & M32, c >> 32, 0, 0))[i % 4]


if __name__ == "__main__":
    key = key_of(1234, "decoder.layers.0.mlp.linear_fc1.weight", 0)
    print("key", [hex(k) for k in key])
    print("words 0..4", [hex(stream_word(key, i)) for i in range(5)])
    print("word 2^34+5", hex(stream_word(key, 2**34 + 5)))
    f32 = lambda x: struct.pack("<f", x)
    data = b"".join(f32(0.25 + 0.02 * normal(stream_word(key, i))) for i in range(3, 3 + 10007))
    print("fnv1a64 of fp32(0.25 + 0.02 z), elements 3..10010", hex(fnv1a64(data)))
    mpmath.mp.dps = 40
    for w in (0, 1, 12345, 2**28, 322122547, 2**31, 3 * 10**9, 4000000000, 2**32 - 1):
        p = (mpmath.mpf(w) + mpmath.mpf(1) / 2) / 2**32
        exact = mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
        off = float(abs(normal(w) / exact - 1))
        print(f"{{{w}U, {mpmath.nstr(exact, 20)}}},  // AS 241 {normal(w).hex()}, off by {off:.1e}")
