"""CuTe DSL kernels without matrix instructions."""
import cutlass
import cutlass.cute as cute
import numpy as np

from case import given, wanted
from cute_case import case, pointer

THREADS = 128


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * THREADS + thread
    if at < cute.size(z):
        z[at] = x[at] + y[at]


@cute.jit
def add_host(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    add_kernel(x, y, z).launch(grid=(cute.ceil_div(cute.size(z), THREADS), 1, 1), block=(THREADS, 1, 1))


def cute_add():
    x, y = np.random.default_rng(40).normal(size=(2, 500)).astype(np.float32)
    return case("cute_add", add_host, "xyz", [pointer(p) for p in "xyz"],
                {"x": given(x, "f32"), "y": given(y, "f32"), "z": wanted(x + y, "f32")}, (4, 1, 1), THREADS)


@cute.kernel
def silu_kernel(x: cute.Tensor, y: cute.Tensor):
    """Eight halves to a thread, loaded and stored as one vector."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = ((None,), block * THREADS + thread)
    values = cute.zipped_divide(x, (8,))[at].load().to(cutlass.Float32)
    cute.zipped_divide(y, (8,))[at].store((values / (1.0 + cute.math.exp(-values))).to(cutlass.Float16))


@cute.jit
def silu_host(x: cute.Tensor, y: cute.Tensor):
    silu_kernel(x, y).launch(grid=(2, 1, 1), block=(THREADS, 1, 1))


def cute_silu():
    x = np.random.default_rng(41).normal(size=2 * THREADS * 8).astype(np.float16)
    values = x.astype(np.float32)
    return case("cute_silu", silu_host, "xy", [pointer(p) for p in "xy"],
                {"x": given(x, "f16"), "y": wanted(values / (1 + np.exp(-values)), "f16", 2e-3, 1e-4)}, (2, 1, 1),
                THREADS)


@cute.kernel
def row_sum_kernel(x: cute.Tensor, y: cute.Tensor):
    """A warp to a row: 32 lanes stride through it and fold with shuffles; shared memory holds what the lanes have."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warps = THREADS // 32
    row, lane = block * warps + thread // 32, thread % 32
    total = cutlass.Float32(0)
    for step in cutlass.range(x.shape[1] // 32):
        total = total + x[row, step * 32 + lane]
    for k in cutlass.range_constexpr(5):
        total = total + cute.arch.shuffle_sync_bfly(total, 1 << k)
    parts = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, warps)
    if lane == 0:
        parts[thread // 32] = total
    cute.arch.sync_threads()
    if thread < warps:
        y[block * warps + thread] = parts[thread]


@cute.jit
def row_sum_host(x: cute.Tensor, y: cute.Tensor):
    row_sum_kernel(x, y).launch(grid=(2, 1, 1), block=(THREADS, 1, 1))


def cute_row_sum():
    x = np.random.default_rng(42).normal(size=(8, 256)).astype(np.float32)
    return case("cute_row_sum", row_sum_host, "xy", [pointer(p) for p in "xy"],
                {"x": given(x, "f32"), "y": wanted(x.sum(axis=1, dtype=np.float64), "f32", 1e-5, 1e-5)}, (2, 1, 1),
                THREADS, dynamic_smem=16)


CASES = [cute_add, cute_silu, cute_row_sum]
