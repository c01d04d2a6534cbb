"""Triton GEMMs with tensor descriptors: TMA by maps that the host made or the kernel makes, persistent and warp
specialised loops."""
import numpy as np
import triton
import triton.language as tl

import formats
from case import given, wanted
from triton_case import Descriptor, case
from triton_simple import normal, pointers


@triton.jit
def host_kernel(a, b, d, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                SPECIALIZE: tl.constexpr):
    """D[M,N] = A[M,K] * B[N,K]^T."""
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIALIZE):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    d.store([m, n], total.to(d.dtype))


@triton.jit
def persistent_kernel(a, b, d, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      SPECIALIZE: tl.constexpr, FLATTEN: tl.constexpr):
    """The same, a CTA taking every num_programs-th tile."""
    tiles_n = N // BLOCK_N
    for tile in tl.range(tl.program_id(0), (M // BLOCK_M) * tiles_n, tl.num_programs(0), flatten=FLATTEN,
                         warp_specialize=SPECIALIZE):
        m, n = tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
        d.store([m, n], total.to(d.dtype))


@triton.jit
def device_kernel(a, b, d, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The same, the maps written by the kernel into scratch memory."""
    map_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    map_b = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    map_d = tl.make_tensor_descriptor(d, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        total = tl.dot(map_a.load([m, k]), map_b.load([n, k]).T, total)
    map_d.store([m, n], total.to(d.dtype.element_ty))


def problem(dtype, out, m, n, k):
    a, b = (given(np.round(normal(seed, *shape) * 8) / 8, dtype) for seed, shape in ((30, (m, k)), (31, (n, k))))
    product = formats.decode(a.bits, dtype).astype(np.float64) @ formats.decode(b.bits, dtype).astype(np.float64).T
    tolerance = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[out]
    return {"a": a, "b": b, "d": wanted(product, out, tolerance, tolerance)}


def blocks(block, **more):
    return dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)) | more


def described(block):
    return {"a": Descriptor("a", (block[0], block[2])), "b": Descriptor("b", (block[1], block[2])),
            "d": Descriptor("d", (block[0], block[1]))}


def host(name, dtype, out, size, block, specialize=False, **options):
    m, n, k = size
    return case(name, host_kernel, (m // block[0], n // block[1], 1), {**described(block), "K": k},
                blocks(block, SPECIALIZE=specialize), problem(dtype, out, m, n, k), **options)


def persistent(name, dtype, out, size, block, ctas, specialize=False, flatten=False, **options):
    m, n, k = size
    return case(name, persistent_kernel, (ctas, 1, 1), {**described(block), "M": m, "N": n, "K": k},
                blocks(block, SPECIALIZE=specialize, FLATTEN=flatten), problem(dtype, out, m, n, k), **options)


def tma_bf16():
    return host("triton_tma_bf16", "bf16", "bf16", (128, 128, 256), (128, 128, 64))


def tma_e4m3():
    return host("triton_tma_e4m3", "e4m3", "f16", (128, 128, 512), (128, 128, 128), num_stages=4)


def tma_specialized():
    return host("triton_tma_specialized", "f16", "f16", (256, 128, 256), (128, 128, 64), specialize=True)


def tma_persistent():
    return persistent("triton_tma_persistent", "bf16", "bf16", (384, 128, 128), (128, 128, 64), 2)


def tma_persistent_specialized():
    return persistent("triton_tma_persistent_specialized", "f16", "f16", (384, 256, 128), (128, 128, 64), 2,
                      specialize=True, flatten=True)


def tma_two_ctas():
    return host("triton_tma_two_ctas", "f16", "f16", (256, 128, 128), (256, 128, 64), num_ctas=2)


def tma_device_maps():
    m, n, k, block = 128, 256, 128, (128, 128, 64)
    return case("triton_tma_device_maps", device_kernel, (1, 2, 1), {**pointers("a b d"), "M": m, "N": n, "K": k},
                blocks(block), problem("bf16", "bf16", m, n, k))


CASES = [tma_bf16, tma_e4m3, tma_specialized, tma_persistent, tma_persistent_specialized, tma_two_ctas,
         tma_device_maps]
