"""Triton kernels with tl.dot over pointers."""
import numpy as np
import triton
import triton.language as tl

import formats
from case import given, wanted
from triton_case import case
from triton_simple import normal, pointers


@triton.jit
def matmul_kernel(a, b, d, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  SCALE: tl.constexpr):
    """D[M,N] = A[M,K] * B[K,N] + SCALE; edges in K are masked."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        inside = step * BLOCK_K + k < K
        left = tl.load(a + m[:, None] * K + (step * BLOCK_K + k)[None, :], mask=inside[None, :], other=0.0)
        right = tl.load(b + (step * BLOCK_K + k)[:, None] * N + n[None, :], mask=inside[:, None], other=0.0)
        total = tl.dot(left, right, total)
    tl.store(d + m[:, None] * N + n[None, :], (total + SCALE).to(d.dtype.element_ty))


def matmul(name, dtype, m, n, k, block, out="f32", **options):
    # Steps of 1/8 are exact in every format but fp8, tf32 included.
    a, b = (given(np.round(normal(seed, *shape) * 8) / 8, dtype) for seed, shape in ((20, (m, k)), (21, (k, n))))
    product = formats.decode(a.bits, dtype).astype(np.float64) @ formats.decode(b.bits, dtype) + 0.5
    tolerance = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[out]
    return case(name, matmul_kernel, (m // block[0], n // block[1], 1), {**pointers("a b d"), "M": m, "N": n, "K": k},
                dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)) | {"SCALE": 0.5},
                {"a": a, "b": b, "d": wanted(product, out, tolerance, tolerance * 4)}, **options)


def matmul_bf16():
    return matmul("triton_matmul_bf16", "bf16", 128, 128, 256, (128, 128, 64), "bf16")


def matmul_f16_ragged():
    return matmul("triton_matmul_f16_ragged", "f16", 128, 128, 200, (128, 64, 64), "f16", num_stages=4)


def matmul_f16_8_warps():
    return matmul("triton_matmul_f16_8_warps", "f16", 256, 128, 192, (128, 128, 32), num_warps=8, num_stages=2)


def matmul_small():
    return matmul("triton_matmul_small", "bf16", 64, 64, 128, (32, 32, 32), num_stages=1)


def matmul_tf32():
    return matmul("triton_matmul_tf32", "f32", 128, 64, 128, (128, 64, 32))


def matmul_e4m3():
    return matmul("triton_matmul_e4m3", "e4m3", 128, 128, 256, (128, 128, 128))


def matmul_e5m2():
    return matmul("triton_matmul_e5m2", "e5m2", 128, 64, 256, (128, 64, 64), num_stages=4)


@triton.jit
def scaled_kernel(a, a_scale, b, b_scale, d, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  FORMAT: tl.constexpr, PACK: tl.constexpr):
    """D[M,N] = A[M,K] * B[N,K]^T with a ue8m0 scale for 32 elements along K."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k, s = tl.arange(0, BLOCK_K // PACK), tl.arange(0, BLOCK_K // 32)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, K // BLOCK_K):
        at, scale_at = step * (BLOCK_K // PACK) + k, step * (BLOCK_K // 32) + s
        left = tl.load(a + m[:, None] * (K // PACK) + at[None, :])
        right = tl.load(b + n[:, None] * (K // PACK) + at[None, :])
        left_scale = tl.load(a_scale + m[:, None] * (K // 32) + scale_at[None, :])
        right_scale = tl.load(b_scale + n[:, None] * (K // 32) + scale_at[None, :])
        total = tl.dot_scaled(left, left_scale, FORMAT, right.T, right_scale, FORMAT, total)
    tl.store(d + m[:, None] * N + n[None, :], total)


def scaled(name, dtype, word, pack, m, n, k, block):
    from case import Buffer
    rng = np.random.default_rng(22)
    if dtype == "e2m1":
        a, b = (Buffer("e2m1", rng.integers(0, 256, (rows, k // 2)).astype(np.uint8)) for rows in (m, n))
    else:
        a, b = given(normal(23, m, k), dtype), given(normal(24, n, k), dtype)
    scales = {key: Buffer("u8", rng.integers(124, 130, (rows, k // 32)).astype(np.uint8))
              for key, rows in (("a_scale", m), ("b_scale", n))}
    left, right = (formats.decode(x.bits, dtype).astype(np.float64)
                   * formats.TABLES["ue8m0"][scales[s].bits].repeat(32, axis=1)
                   for x, s in ((a, "a_scale"), (b, "b_scale")))
    return case(name, scaled_kernel, (m // block[0], n // block[1], 1),
                {**pointers("a a_scale b b_scale d"), "N": n, "K": k},
                dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)) | {"FORMAT": word, "PACK": pack},
                {"a": a, "b": b, **scales, "d": wanted(left @ right.T, "f32", 1e-4, 1e-3)})


def scaled_mxf8():
    return scaled("triton_scaled_mxf8", "e4m3", "e4m3", 1, 128, 128, 256, (128, 128, 128))


def scaled_mxf4():
    return scaled("triton_scaled_mxf4", "e2m1", "e2m1", 2, 128, 128, 512, (128, 128, 256))


CASES = [matmul_bf16, matmul_f16_ragged, matmul_f16_8_warps, matmul_small, matmul_tf32, matmul_e4m3, matmul_e5m2,
         scaled_mxf8, scaled_mxf4]
