"""Triton kernels without matrix instructions."""
import numpy as np
import triton
import triton.language as tl

from case import given, wanted
from triton_case import Pointer, case


def pointers(names):
    return {name: Pointer(name) for name in names.split()}


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add():
    n, block = 1000, 256
    x, y = normal(1, 2, n)
    return case("triton_add", add_kernel, (4, 1, 1), {**pointers("x y z"), "n": n}, {"BLOCK": block},
                {"x": given(x, "f32"), "y": given(y, "f32"), "z": wanted(x + y, "f32")})


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, weights / tl.sum(weights, axis=0), mask=at < columns)


def softmax():
    x = normal(2, 6, 300)
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return case("triton_softmax", softmax_kernel, (6, 1, 1), {**pointers("x y"), "columns": 300}, {"BLOCK": 512},
                {"x": given(x, "f32"), "y": wanted(weights / weights.sum(axis=1, keepdims=True), "f32", 1e-5, 1e-7)})


@triton.jit
def layer_norm_kernel(x, w, b, y, mean_out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    scaled = centred * scale * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(y + row * columns + at, scaled.to(tl.float16), mask=inside)
    tl.store(mean_out + row, mean)


def layer_norm():
    x, w, b = normal(3, 5, 200).astype(np.float16), normal(4, 200), normal(5, 200)
    values = x.astype(np.float32)
    mean = values.mean(axis=1, keepdims=True)
    y = (values - mean) / np.sqrt(values.var(axis=1, keepdims=True) + 1e-5) * w + b
    return case("triton_layer_norm", layer_norm_kernel, (5, 1, 1),
                {**pointers("x w b y mean_out"), "columns": 200, "eps": 1e-5}, {"BLOCK": 256},
                {"x": given(x, "f16"), "w": given(w, "f32"), "b": given(b, "f32"),
                 "y": wanted(y, "f16", 2e-3, 2e-3), "mean_out": wanted(mean[:, 0], "f32", 1e-5, 1e-6)}, num_warps=8)


@triton.jit
def column_sum_kernel(x, y, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, at = tl.arange(0, ROWS), tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(y + at, tl.sum(tl.load(x + rows[:, None] * columns + at[None, :]), axis=0))


def column_sum():
    x = normal(6, 64, 128)
    return case("triton_column_sum", column_sum_kernel, (2, 1, 1), {**pointers("x y"), "columns": 128},
                {"ROWS": 64, "COLUMNS": 64},
                {"x": given(x, "f32"), "y": wanted(x.sum(axis=0, dtype=np.float64), "f32", 1e-5, 1e-5)})


@triton.jit
def argmax_kernel(x, best, where, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value, index = tl.max(tl.load(x + row * columns + at), axis=0, return_indices=True)
    tl.store(best + row, value)
    tl.store(where + row, index)


def argmax():
    x = normal(7, 4, 512)
    return case("triton_argmax", argmax_kernel, (4, 1, 1), {**pointers("x best where"), "columns": 512}, {"BLOCK": 512},
                {"x": given(x, "f32"), "best": wanted(x.max(axis=1), "f32"), "where": wanted(x.argmax(axis=1), "s32")})


@triton.jit
def histogram_kernel(x, bins, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + values, 1, mask=at < n, sem="relaxed")
    tl.atomic_max(total, tl.max(values, axis=0))


def histogram():
    x = np.random.default_rng(8).integers(0, 32, 700).astype(np.int32)
    return case("triton_histogram", histogram_kernel, (3, 1, 1), {**pointers("x bins total"), "n": 700}, {"BLOCK": 256},
                {"x": given(x, "s32"), "bins": wanted(np.bincount(x, minlength=32), "s32", first=np.zeros(32)),
                 "total": wanted(np.array([x.max()]), "s32", first=np.zeros(1))})


@triton.jit
def gather_kernel(table, rows, y, columns, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(rows + at)
    column = tl.arange(0, COLUMNS)
    picked = tl.load(table + row[:, None] * columns + column[None, :])
    turned = tl.gather(picked, (column[None, :] + at[:, None]) % COLUMNS, axis=1)
    tl.store(y + at[:, None] * columns + column[None, :], turned)


def gather():
    rng = np.random.default_rng(9)
    table, rows = rng.normal(size=(50, 64)).astype(np.float32), rng.integers(0, 50, 64).astype(np.int32)
    column, at = np.arange(64), np.arange(64)[:, None]
    y = np.take_along_axis(table[rows], (column + at) % 64, axis=1)
    return case("triton_gather", gather_kernel, (2, 1, 1), {**pointers("table rows y"), "columns": 64},
                {"BLOCK": 32, "COLUMNS": 64},
                {"table": given(table, "f32"), "rows": given(rows, "s32"), "y": wanted(y, "f32")})


@triton.jit
def scan_sort_kernel(x, sums, ordered, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(values, axis=0))
    tl.store(ordered + at, tl.sort(values))


def scan_sort():
    x = np.random.default_rng(10).integers(-1000, 1000, 256).astype(np.int32)
    return case("triton_scan_sort", scan_sort_kernel, (1, 1, 1), pointers("x sums ordered"), {"BLOCK": 256},
                {"x": given(x, "s32"), "sums": wanted(x.cumsum(), "s32"), "ordered": wanted(np.sort(x), "s32")})


@triton.jit
def transpose_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(tile))


def transpose():
    x = normal(11, 64, 128).astype(np.float16)
    return case("triton_transpose", transpose_kernel, (1, 2, 1), {**pointers("x y"), "rows": 64, "columns": 128},
                {"BLOCK": 64}, {"x": given(x, "f16"), "y": wanted(x.T, "f16")})


@triton.jit
def locked_sum_kernel(x, lock, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(total)
    tl.debug_barrier()  # every warp loads, one thread stores
    tl.store(total, before + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def locked_sum():
    x = np.random.default_rng(12).integers(-50, 50, 512).astype(np.float32)
    return case("triton_locked_sum", locked_sum_kernel, (4, 1, 1), pointers("x lock total"), {"BLOCK": 128},
                {"x": given(x, "f32"), "lock": wanted(np.zeros(1), "s32", first=np.zeros(1)),
                 "total": wanted(x.sum(keepdims=True), "f32", first=np.zeros(1))})


@triton.jit
def dropout_kernel(x, y, probability, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at)
    kept = tl.rand(seed, at) > probability
    tl.store(y + at, tl.where(kept, values / (1 - probability), 0.0))


def dropout():
    x = normal(13, 512)
    return case("triton_dropout", dropout_kernel, (2, 1, 1), {**pointers("x y"), "probability": 0.25, "seed": 7},
                {"BLOCK": 256},
                {"x": given(x, "f32"), "y": wanted(np.where(uniform(7, 512) > 0.25, x / np.float32(0.75), 0), "f32", 1e-6)})


def uniform(seed, n):
    """Philox 4x32-10 of a counter, and Triton's way from 32 bits to [0, 1)."""
    mask = np.uint64(0xFFFFFFFF)
    c = [np.arange(n, dtype=np.uint64)] + [np.zeros(n, np.uint64)] * 3
    key = [np.uint64(seed), np.uint64(0)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & mask, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & mask]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    whole = c[0].astype(np.uint32).view(np.int32)
    return np.where(whole < 0, -(whole + 1), whole).astype(np.float32) * np.float32(4.6566127342e-10)


CASES = [add, softmax, layer_norm, column_sum, argmax, histogram, gather, scan_sort, transpose, locked_sum, dropout]
