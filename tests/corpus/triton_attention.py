"""Attention in one pass over keys, as Triton's tutorial has it."""
import numpy as np
import triton
import triton.language as tl

import formats
from case import given, wanted
from triton_case import Descriptor, case
from triton_simple import normal, pointers


@triton.jit
def forward(q, k, v, o, keys, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr,
            CAUSAL: tl.constexpr):
    rows, at, depth = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DEPTH)
    query = tl.load(q + rows[:, None] * DEPTH + depth[None, :])
    most = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    out = tl.zeros((BLOCK_M, DEPTH), dtype=tl.float32)
    for first in range(0, keys, BLOCK_N):
        key = tl.load(k + (first + at)[None, :] * DEPTH + depth[:, None])
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(rows[:, None] >= (first + at)[None, :], score, -1.0e6)
        next_most = tl.maximum(most, tl.max(score, 1))
        weight = tl.math.exp2(score - next_most[:, None])
        factor = tl.math.exp2(most - next_most)
        total = total * factor + tl.sum(weight, 1)
        value = tl.load(v + (first + at)[:, None] * DEPTH + depth[None, :])
        out = tl.dot(weight.to(value.dtype), value, out * factor[:, None])
        most = next_most
    tl.store(o + rows[:, None] * DEPTH + depth[None, :], (out / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def forward_tma(q, k, v, o, keys, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr,
                SPECIALIZE: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    query = q.load([row, 0])
    most = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    out = tl.zeros((BLOCK_M, DEPTH), dtype=tl.float32)
    for first in tl.range(0, keys, BLOCK_N, warp_specialize=SPECIALIZE):
        score = tl.dot(query, k.load([first, 0]).T)
        next_most = tl.maximum(most, tl.max(score, 1) * scale)
        weight = tl.math.exp2(score * scale - next_most[:, None])
        factor = tl.math.exp2(most - next_most)
        total = total * factor + tl.sum(weight, 1)
        out = tl.dot(weight.to(tl.float16), v.load([first, 0]), out * factor[:, None])
        most = next_most
    o.store([row, 0], (out / total[:, None]).to(tl.float16))


def problem(dtype, queries, keys, depth, causal=False):
    q, k, v = (given(normal(seed, rows, depth), dtype) for seed, rows in ((50, queries), (51, keys), (52, keys)))
    values = [formats.decode(x.bits, dtype).astype(np.float64) for x in (q, k, v)]
    score = values[0] @ values[1].T / np.sqrt(depth)
    if causal:
        score = np.where(np.arange(queries)[:, None] >= np.arange(keys), score, -np.inf)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    out = weight / weight.sum(axis=1, keepdims=True) @ values[2]
    tolerance = {"f16": 5e-3, "bf16": 2e-2}[dtype]
    return {"q": q, "k": k, "v": v, "o": wanted(out, dtype, tolerance, tolerance)}


def attention(name, dtype, queries, keys, depth, block, causal=False, **options):
    return case(name, forward, (queries // block[0], 1, 1),
                {**pointers("q k v o"), "keys": keys, "scale": float(np.log2(np.e) / np.sqrt(depth))},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "DEPTH": depth, "CAUSAL": causal},
                problem(dtype, queries, keys, depth, causal), **options)


def attention_tma(name, queries, keys, depth, block, specialize, **options):
    maps = {p: Descriptor(p, (block[p in "kv"], depth)) for p in "qkvo"}
    return case(name, forward_tma, (queries // block[0], 1, 1),
                {**maps, "keys": keys, "scale": float(np.log2(np.e) / np.sqrt(depth))},
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "DEPTH": depth, "SPECIALIZE": specialize},
                problem("f16", queries, keys, depth), **options)


def attention_f16():
    return attention("triton_attention_f16", "f16", 128, 256, 64, (128, 64))


def attention_causal():
    return attention("triton_attention_causal", "bf16", 128, 128, 64, (128, 64), causal=True, num_warps=8)


def attention_descriptors():
    return attention_tma("triton_attention_tma", 128, 256, 64, (128, 64), False)


def attention_specialized():
    return attention_tma("triton_attention_specialized", 128, 256, 64, (128, 64), True)


CASES = [attention_f16, attention_causal, attention_descriptors, attention_specialized]
