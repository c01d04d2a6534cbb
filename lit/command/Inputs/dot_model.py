#!/usr/bin/env python3
"""The tensor core's arithmetic a second time, in Python's unbounded integers, from the rules of docs/numerics.md.

    dot_model.py SEED COUNT > vectors.json

prints COUNT random vectors of every form that `kiln mma` reads, dense and sparse, each with the word that it must give.
"""
import json
import math
import random
import sys

# exponent bits, fraction bits, bias, what the highest exponent means
FORMATS = {"f32": (8, 23, 127, "ieee"), "tf32": (8, 10, 127, "ieee"), "bf16": (8, 7, 127, "ieee"),
           "f16": (5, 10, 15, "ieee"), "e5m2": (5, 2, 15, "ieee"), "e4m3": (4, 3, 7, "one nan"),
           "ue4m3": (4, 3, 7, "one nan"), "e3m2": (3, 2, 3, ""), "e2m3": (2, 3, 1, ""), "e2m1": (2, 1, 1, "")}
BITS = {"tf32": 32, "f32": 32, "s32": 32, "bf16": 16, "f16": 16, "e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8, "e3m2": 6,
        "e2m3": 6, "e2m1": 4}
SMALL = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
FP4_KINDS = ("mxf4", "mxf4nvf4")


def decode(fmt, word):
    """Class, signed mantissa, exponent of its last bit, encoded exponent. An infinity's mantissa is its sign."""
    if fmt == "ue8m0":
        return ("nan", 0, 0, 0) if word == 255 else ("finite", 1, word - 127, word - 127)
    exponent_bits, fraction_bits, bias, top = FORMATS[fmt]
    if fmt == "tf32":
        word >>= 13
    fraction = word & ((1 << fraction_bits) - 1)
    exponent = word >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1 if fmt != "ue4m3" and word >> (fraction_bits + exponent_bits) & 1 else 1
    if top == "ieee" and exponent == (1 << exponent_bits) - 1:
        return ("nan", 0, 0, 0) if fraction else ("infinite", sign, 0, 0)
    if top == "one nan" and exponent == 15 and fraction == 7:
        return ("nan", 0, 0, 0)
    e = max(exponent, 1) - bias
    return ("finite", sign * (fraction + (1 << fraction_bits if exponent else 0)), e - fraction_bits, e)


def chop(m, lsb, q):
    """m * 2^lsb in whole units of 2^q, toward zero."""
    if lsb >= q:
        return m << (lsb - q)
    cut = abs(m) >> (q - lsb)
    return -cut if m < 0 else cut


def encode(n, q, fmt):
    """n * 2^q, rounded once: f32 toward zero, f16 to nearest even. Zero is +0."""
    exponent_bits, fraction_bits, bias, _ = FORMATS[fmt]
    if n == 0:
        return 0
    sign = 1 << (exponent_bits + fraction_bits) if n < 0 else 0
    e = max(abs(n).bit_length() - 1 + q, 1 - bias)
    drop = e - fraction_bits - q
    m = abs(n) << -drop if drop <= 0 else abs(n) >> drop
    if fmt == "f16" and drop > 0:
        rest, half = abs(n) & ((1 << drop) - 1), 1 << (drop - 1)
        m += rest > half or (rest == half and m & 1)
    if m == 1 << (fraction_bits + 1):
        m, e = m >> 1, e + 1
    if m == 0:
        return 0
    if e > bias:
        return sign | (2 * bias + 1) << fraction_bits
    return sign | (e + bias << fraction_bits) + m - (1 << fraction_bits) if m >> fraction_bits else sign | m


def kept_columns(v):
    """The column of B that each kept element of A meets."""
    nibbles = [word >> at & 15 for word in v["meta"] for at in range(0, 32, 4)]
    if v["kind"] == "tf32":
        return [2 * i + (s == 14) for i, s in enumerate(nibbles)]
    if v["kind"] in FP4_KINDS:
        return [8 * i + 2 * pair + j for i, s in enumerate(nibbles) for pair in (s & 3, s >> 2) for j in (0, 1)]
    return [4 * i + at for i, s in enumerate(nibbles) for at in (s & 3, s >> 2)]


def integer_dot(v, a, b):
    def value(fmt, word):
        return word - 256 if fmt == "s8" and word > 127 else word
    n = v["c"] - (v["c"] >> 31 << 32) + sum(value(v["a_fmt"], x) * value(v["b_fmt"], y) for x, y in zip(a, b))
    if v["sat"]:
        n = max(-1 << 31, min((1 << 31) - 1, n))
    return n & 0xFFFFFFFF


def special(pairs, c, fmt):
    """The word that NaN and infinities force, or None."""
    signs = {c[1]} if c[0] == "infinite" else set()
    nan = c[0] == "nan"
    for a, b, sa, sb in pairs:
        nan |= "nan" in (a[0], b[0], sa[0], sb[0])
        if "infinite" in (a[0], b[0]):
            nan |= a[1] * b[1] == 0
            signs.add(1 if a[1] * b[1] > 0 else -1)
    infinity, sign = (0x7C00, 0x8000) if fmt == "f16" else (0x7F800000, 0x80000000)
    if nan or len(signs) == 2:
        return 0x7FFF if fmt == "f16" else 0x7FFFFFFF
    return infinity | (sign if -1 in signs else 0) if signs else None


def fp4_dot(pairs, c):
    """Groups of 16 are exact; the window hangs on the scales' exponents."""
    terms, tops = [], [c[3]] if c[1] else []
    for first in range(0, len(pairs), 16):
        group = pairs[first:first + 16]
        _, _, sa, sb = group[0]
        if not any(a[1] * b[1] * sa[1] * sb[1] for a, b, _, _ in group):
            continue
        quarters = sum(a[1] * b[1] << (a[2] + b[2] + 2) for a, b, _, _ in group)
        terms.append((quarters * sa[1] * sb[1], sa[2] + sb[2] - 2))
        tops.append(sa[3] + sb[3])
    if not tops:
        return 0
    q = max(max(tops) - 35, -174)
    return encode(chop(c[1], c[2], q) + sum(chop(m, lsb, q) for m, lsb in terms), q, "f32")


def window_dot(pairs, c, fmt):
    """Every product and C cut to one grid, 25 bits below the highest encoded exponent."""
    terms = []
    for row in pairs:
        _, mantissas, lsbs, exponents = zip(*row)
        if m := math.prod(mantissas):
            terms.append((m, sum(lsbs), sum(exponents)))
    if c[1]:
        terms.append(c[1:])
    if not terms:
        return 0
    q = max(max(e for _, _, e in terms), -21 if fmt == "f16" else -133) - 25
    return encode(sum(chop(m, lsb, q) for m, lsb, _ in terms), q, fmt)


def dot(v):
    a, b = v["a"], v["b"]
    if "meta" in v:
        columns = kept_columns(v)
        a, b = [a[k] for k in columns], [b[k] for k in columns]
    if v["kind"] == "i8":
        return integer_dot(v, a, b)
    unit = ("finite", 1, 0, 0)
    block = len(a) // v.get("scale_vec", 1)
    scales = [(decode(v["scale_fmt"], v["sa"][k // block]), decode(v["scale_fmt"], v["sb"][k // block]))
              if "scale_vec" in v else (unit, unit) for k in range(len(a))]
    pairs = [(decode(v["a_fmt"], x), decode(v["b_fmt"], y), *s) for x, y, s in zip(a, b, scales)]
    c = decode(v["d_fmt"], v["c"])
    forced = special(pairs, c, v["d_fmt"])
    if forced is not None:
        return forced
    return fp4_dot(pairs, c) if v["kind"] in FP4_KINDS else window_dot(pairs, c, v["d_fmt"])


def forms():
    """kind, A, B, D, K, and for block-scaled kinds the scales' format and how many a row has."""
    yield "tf32", "tf32", "tf32", "f32", 8, None, 0
    for a, d in (("bf16", "f32"), ("f16", "f32"), ("f16", "f16")):
        yield "f16", a, a, d, 16, None, 0
    for a in SMALL:
        for b in SMALL:
            yield "f8f6f4", a, b, "f32", 32, None, 0
            yield "f8f6f4", a, b, "f16", 32, None, 0
            yield "mxf8f6f4", a, b, "f32", 32, "ue8m0", 1
    for a in ("u8", "s8"):
        for b in ("u8", "s8"):
            yield "i8", a, b, "s32", 32, None, 0
    for kind, k, scale, count in (("mxf4", 64, "ue8m0", 2), ("mxf4nvf4", 64, "ue8m0", 2), ("mxf4nvf4", 64, "ue8m0", 4),
                                  ("mxf4nvf4", 64, "ue4m3", 4), ("mxf4", 96, "ue8m0", 3), ("mxf4nvf4", 96, "ue8m0", 6),
                                  ("mxf4nvf4", 96, "ue4m3", 6)):
        yield kind, "e2m1", "e2m1", "f32", k, scale, count


def random_word(source, fmt, style):
    """`style`: any bits, mostly zeros, exponents close together, or subnormals and what is next to them."""
    word = source.getrandbits(BITS[fmt])
    if style == "any" or fmt in ("u8", "s8", "s32"):
        return word
    if style == "sparse":
        return word if source.random() < .2 else 0
    exponent_bits, fraction_bits, bias, _ = FORMATS[fmt]
    at = fraction_bits + (13 if fmt == "tf32" else 0)
    exponent = max(0, min(bias + source.randint(-6, 3), 2 * bias)) if style == "near" else source.choice([0, 0, 1, 2])
    return word & ~(((1 << exponent_bits) - 1) << at) | exponent << at


def random_scale(source, fmt):
    if fmt == "ue4m3":
        return source.choice([source.randrange(128), source.randrange(10), source.randrange(50, 60)])
    return source.choice([source.randrange(low, high) for low, high in ((0, 256), (110, 140), (0, 6), (60, 70))])


def random_vector(source, form, sparse):
    kind, a, b, d, k, scale, count = form
    style = source.choice(["any", "sparse", "near", "small"])
    n = 2 * k if sparse else k
    v = {"kind": kind, "a_fmt": a, "b_fmt": b, "d_fmt": d, "a": [random_word(source, a, style) for _ in range(n)],
         "b": [random_word(source, b, style) for _ in range(n)],
         "c": 0 if source.random() < .3 else random_word(source, d, style)}
    if kind == "i8":
        v["sat"] = source.random() < .5
    if sparse:
        chunk = 2 if kind == "tf32" else 8 if kind in FP4_KINDS else 4
        nibbles = [4, 14] if kind == "tf32" else [4, 6, 8, 9, 12, 13, 14]
        v["meta"] = [sum(source.choice(nibbles) << at for at in range(0, 32, 4)) for _ in range(n // chunk // 8)]
    if scale:
        v["scale_fmt"], v["scale_vec"] = scale, count
        v["sa"], v["sb"] = ([random_scale(source, scale) for _ in range(count)] for _ in "ab")
    v["expect"] = dot(v)
    return v


def main(seed, count):
    source = random.Random(int(seed))
    vectors = [random_vector(source, form, i % 3 == 0 and form[4] != 96) for form in forms() for i in range(int(count))]
    json.dump({"vectors": vectors}, sys.stdout)


main(*sys.argv[1:])
