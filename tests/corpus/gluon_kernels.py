"""Gluon kernels: layouts, barriers and tensor memory written by hand."""
import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, fence_async_shared, mbarrier, tcgen05_commit, tcgen05_mma, tma)

from case import given, wanted
from triton_case import Descriptor, case
from triton_descriptor import problem
from triton_simple import normal, pointers


@gluon.jit
def scale_kernel(x, y, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(y + at, gl.load(x + at, mask=at < n, other=0.0) * 2.5, mask=at < n)


def gluon_scale():
    x = normal(70, 900)
    return case("gluon_scale", scale_kernel, (2, 1, 1), {**pointers("x y"), "n": 900}, {"BLOCK": 512},
                {"x": given(x, "f32"), "y": wanted(x * np.float32(2.5), "f32")}, gluon=True)


@gluon.jit
def transpose_kernel(x, y, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    along: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    across: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    r = gl.arange(0, ROWS, layout=gl.SliceLayout(1, along))
    c = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, along))
    tile = gl.convert_layout(gl.load(x + r[:, None] * COLUMNS + c[None, :]), across)
    r = gl.arange(0, ROWS, layout=gl.SliceLayout(1, across))
    c = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, across))
    gl.store(y + c[None, :] * ROWS + r[:, None], tile)


def gluon_transpose():
    x = normal(71, 64, 64)
    return case("gluon_transpose", transpose_kernel, (1, 1, 1), pointers("x y"), {"ROWS": 64, "COLUMNS": 64},
                {"x": given(x, "f32"), "y": wanted(x.T, "f32")}, gluon=True)


@gluon.jit
def matmul_kernel(a, b, d, K, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr):
    """D[M,N] = A[M,K] * B[N,K]^T, one stage: load, multiply, wait."""
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    tile_a = gl.allocate_shared_memory(a.dtype, [BLOCK_M, BLOCK_K], a.layout)
    tile_b = gl.allocate_shared_memory(b.dtype, [BLOCK_N, BLOCK_K], b.layout)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    multiplied = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.init(multiplied, count=1)
    layout: gl.constexpr = TensorMemoryLayout([BLOCK_M, BLOCK_N], col_stride=1)
    total = allocate_tensor_memory(gl.float32, [BLOCK_M, BLOCK_N], layout)
    phase = 0
    for k in range(0, K, BLOCK_K):
        mbarrier.expect(loaded, a.block_type.nbytes + b.block_type.nbytes)
        tma.async_load(a, [m, k], loaded, tile_a)
        tma.async_load(b, [n, k], loaded, tile_b)
        mbarrier.wait(loaded, phase)
        tcgen05_mma(tile_a, tile_b.permute((1, 0)), total, use_acc=k > 0)
        tcgen05_commit(multiplied)
        mbarrier.wait(multiplied, phase)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(multiplied)
    out = gl.allocate_shared_memory(d.dtype, [BLOCK_M, BLOCK_N], d.layout)
    out.store(total.load().to(d.dtype))
    fence_async_shared()
    tma.async_store(d, [m, n], out)
    tma.store_wait(pendings=0)


def gluon_matmul():
    m, n, k = 256, 64, 192
    shapes = {"a": (128, 64), "b": (64, 64), "d": (128, 64)}
    layouts = {name: gl.NVMMASharedLayout.get_default_for(list(shape), gl.float16) for name, shape in shapes.items()}
    maps = {name: Descriptor(name, shape, layouts[name]) for name, shape in shapes.items()}
    return case("gluon_matmul", matmul_kernel, (2, 1, 1), {**maps, "K": k},
                {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, problem("f16", "f16", m, n, k), gluon=True)


CASES = [gluon_scale, gluon_transpose, gluon_matmul]
