"""CuTe DSL GEMMs: D[M,N] = A[M,K] * B[N,K]^T with TMA and tcgen05, in the shape of NVIDIA's tutorials: one warp loads
and multiplies, all four take the accumulator out of tensor memory."""
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
import cutlass.utils.blackwell_helpers as sm100
import numpy as np
from cutlass.cute.nvgpu import cpasync, tcgen05

import formats
from case import given, wanted
from cute_case import TYPES, case, pointer

THREADS = 128
CHUNK = 32  # columns of the accumulator that a thread takes at a time


class Gemm:
    def __init__(self, dtype, out, tile, stages):
        self.dtype, self.out, self.tile, self.stages = TYPES[dtype], TYPES[out], tile, stages

    def shared_bytes(self):
        """Barriers in front, then the tiles; those begin at a multiple of 1024."""
        return 1024 + self.stages * (self.tile[0] + self.tile[1]) * self.tile[2] * self.dtype.width // 8

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
        k_major = cute.nvgpu.OperandMajorMode.K
        mma = cute.make_tiled_mma(tcgen05.MmaF16BF16Op(self.dtype, cutlass.Float32, (*self.tile[:2], 16),
                                                       tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, k_major,
                                                       k_major))
        layout_a = sm100.make_smem_layout_a(mma, self.tile, self.dtype, self.stages)
        layout_b = sm100.make_smem_layout_b(mma, self.tile, self.dtype, self.stages)
        load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
        load_a, map_a = cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.select(layout_a, mode=[0, 1, 2]), self.tile, mma)
        load_b, map_b = cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.select(layout_b, mode=[0, 1, 2]), self.tile, mma)
        self.kernel(mma, load_a, map_a, load_b, map_b, d, layout_a, layout_b).launch(
            grid=cute.ceil_div((*d.shape, 1), (*self.tile[:2], 1)), block=(THREADS, 1, 1))

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, load_a: cute.CopyAtom, map_a: cute.Tensor, load_b: cute.CopyAtom,
               map_b: cute.Tensor, d: cute.Tensor, layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout):
        thread, _, _ = cute.arch.thread_idx()
        m, n, _ = cute.arch.block_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        shared = utils.SmemAllocator()
        tile_bars = shared.allocate_array(cutlass.Int64, 2 * self.stages)
        done_bars = shared.allocate_array(cutlass.Int64, 2)
        slot = shared.allocate_array(cutlass.Int32, 1)
        tile_a = shared.allocate_tensor(self.dtype, layout_a.outer, 1024, layout_a.inner)
        tile_b = shared.allocate_tensor(self.dtype, layout_b.outer, 1024, layout_b.inner)
        tensor_memory = utils.TmemAllocator(slot, barrier_for_retrieve=pipeline.NamedBarrier(1, THREADS))
        tensor_memory.allocate(max(32, self.tile[1]))

        one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, k) for k in (1, THREADS))
        stage_bytes = sum(cute.size_in_bytes(self.dtype, cute.select(l, mode=[0, 1, 2])) for l in (layout_a, layout_b))
        loads, tiles = pipeline.PipelineTmaUmma.create(
            num_stages=self.stages, producer_group=one, consumer_group=one, tx_count=stage_bytes,
            barrier_storage=tile_bars).make_participants()
        product, results = pipeline.PipelineUmmaAsync.create(
            num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=done_bars).make_participants()

        part = mma.get_slice(0)
        here = (m, n, None)
        global_a = part.partition_A(cute.local_tile(map_a, self.tile, here, proj=(1, None, 1)))
        global_b = part.partition_B(cute.local_tile(map_b, self.tile, here, proj=(None, 1, 1)))
        global_d = part.partition_C(cute.local_tile(d, self.tile, here, proj=(1, 1, None)))
        left, right = mma.make_fragment_A(tile_a), mma.make_fragment_B(tile_b)
        to_a, from_a = cpasync.tma_partition(load_a, 0, cute.make_layout(1), cute.group_modes(tile_a, 0, 3),
                                             cute.group_modes(global_a, 0, 3))
        to_b, from_b = cpasync.tma_partition(load_b, 0, cute.make_layout(1), cute.group_modes(tile_b, 0, 3),
                                             cute.group_modes(global_b, 0, 3))
        tensor_memory.wait_for_alloc()
        columns = tensor_memory.retrieve_ptr(cutlass.Float32)
        total = cute.make_tensor(columns, mma.make_fragment_C(mma.partition_shape_C(self.tile[:2])).layout)

        if warp == 0:
            whole = product.acquire_and_advance()
            for step in cutlass.range(cute.size(global_a, mode=[3]), prefetch_stages=self.stages - 1):
                free = loads.acquire_and_advance()
                cute.copy(load_a, from_a[None, free.count], to_a[None, free.index], tma_bar_ptr=free.barrier)
                cute.copy(load_b, from_b[None, free.count], to_b[None, free.index], tma_bar_ptr=free.barrier)
                full = tiles.wait_and_advance()
                for k in cutlass.range_constexpr(cute.size(left, mode=[2])):
                    at = (None, None, k, full.index)
                    cute.gemm(mma, total, left[at], right[at], total)
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                full.release()
            whole.commit()
        tensor_memory.relinquish_alloc_permit()
        self.write_out(thread, total, global_d, results)
        pipeline.sync(barrier_id=1)
        tensor_memory.free(columns)

    @cute.jit
    def write_out(self, thread, total, global_d, results):
        chunk = ((cute.size(total, mode=[0, 0]), CHUNK),)
        columns, places = cute.zipped_divide(total, chunk), cute.zipped_divide(global_d, chunk)
        load = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(CHUNK)),
                                                          cutlass.Float32), columns[None, 0])
        mine = load.get_slice(thread)
        source, target = mine.partition_S(columns), mine.partition_D(places)
        values = cute.make_rmem_tensor(target[None, None, 0].shape, cutlass.Float32)
        narrow = cute.make_rmem_tensor(target[None, None, 0].shape, self.out)
        whole = results.wait_and_advance()
        for i in cutlass.range(cute.size(source, mode=[2])):
            cute.copy(load, source[None, None, i], values)
            narrow.store(values.load().to(self.out))
            cute.autovec_copy(narrow, target[None, None, i])
        whole.release()


def gemm(name, dtype, out, size, tile, stages):
    m, n, k = size
    rng = np.random.default_rng(43)
    a, b = given(rng.normal(size=(m, k)), dtype), given(rng.normal(size=(n, k)), dtype)
    product = formats.decode(a.bits, dtype).astype(np.float64) @ formats.decode(b.bits, dtype).astype(np.float64).T
    tolerance = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[out]
    of = Gemm(dtype, out, tile, stages)
    maps = {"map_a": {"buffer": "a", "box": [64, tile[0]], "swizzle": "128B"},
            "map_b": {"buffer": "b", "box": [64, tile[1]], "swizzle": "128B"}}
    # The tiled MMA travels in 32 bytes: whether it accumulates and negates, and the mask of columns it leaves alone.
    params = [{"hex": "00" * 32}, {"tensor_map": "map_a"}, {"tensor_map": "map_b"}, pointer("d")]
    return case(name, of, "abd", params, {"a": a, "b": b, "d": wanted(product, out, tolerance, tolerance)},
                (m // tile[0], n // tile[1], 1), THREADS, tensor_maps=maps, dynamic_smem=of.shared_bytes())


def cute_gemm_bf16():
    return gemm("cute_gemm_bf16", "bf16", "f32", (256, 128, 256), (128, 128, 64), 3)


def cute_gemm_f16():
    return gemm("cute_gemm_f16", "f16", "f16", (128, 256, 512), (128, 256, 64), 4)


def cute_gemm_narrow():
    return gemm("cute_gemm_narrow", "bf16", "bf16", (128, 64, 192), (128, 32, 64), 2)


CASES = [cute_gemm_bf16, cute_gemm_f16, cute_gemm_narrow]
