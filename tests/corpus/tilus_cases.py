"""Tilus kernels. Its compiler writes CUDA C++, which nvcc makes a library for the launch and PTX for the case."""
import pathlib
import shlex
import subprocess

import recorder  # before Tilus, which looks for a driver

RECORDER = recorder.Recorder()
import numpy as np
import tilus
import tilus.target
import tvm_ffi
from tilus import bfloat16, float16, float32, int32, uint32
from tilus.hidet.backend import build
from tilus.runtime.compiled_program import CompiledProgram
from tilus.utils import cdiv

import foreign_tensor
import formats
from case import given, wanted

tilus.target.set_current_target(tilus.target.nvgpu_sm100a)
tilus.option.cache_dir(str(recorder.BUILD.parent / "tilus"))
RNG = np.random.default_rng(76)
compile_library = build.SourceCompiler.run_compile_command


def _compile(self, command, src_path, out_lib_path, keep_files):
    compile_library(self, command, src_path, out_lib_path, keep_files)
    ptx = pathlib.Path(src_path).with_suffix(".ptx")
    words = shlex.split(command)
    kept = [word for word in words if word.startswith(("-I", "-O", "-std", "-ftz", "-prec", "-gencode", "arch="))]
    subprocess.run([words[0], "-w", *kept, "-ptx", "-o", ptx, src_path], check=True)


build.NVCC.run_compile_command = _compile


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


load = CompiledProgram.__init__


def _load(self, program_dir):
    """Its PTX stands beside its library."""
    RECORDER.know((pathlib.Path(program_dir) / "module" / "source.ptx").read_text())
    load(self, program_dir)


CompiledProgram.__init__ = _load


def case(name, script, arguments, buffers):
    """'arguments' in the script's order: scalars, and names of buffers."""
    memory = recorder.Memory(buffers)
    recording = RECORDER.start()
    script(*(tvm_ffi.from_dlpack(foreign_tensor.tensor(memory, each)) if isinstance(each, str) else each
             for each in arguments))
    return recorder.case(name, "Tilus", RECORDER, recording, memory)


class MatmulV1(tilus.Script):
    """One stage, TMA, tcgen05."""

    def __init__(self, m, n, k):
        super().__init__()
        self.block_m, self.block_n, self.block_k = m, n, k

    def __call__(self, m_size: int32, n_size: int, k_size: int, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16):
        self.attrs.blocks = [cdiv(m_size, self.block_m), cdiv(n_size, self.block_n)]
        self.attrs.warps = 4
        offset_m: int32 = self.block_m * self.blockIdx.x
        offset_n: int32 = self.block_n * self.blockIdx.y
        g_a = self.global_view(a_ptr, dtype=float16, shape=[m_size, k_size])
        g_b = self.global_view(b_ptr, dtype=float16, shape=[n_size, k_size])
        s_a = self.shared_tensor(dtype=float16, shape=[self.block_m, self.block_k])
        s_b = self.shared_tensor(dtype=float16, shape=[self.block_n, self.block_k])
        t_acc = self.tcgen05.alloc(dtype=float32, shape=[self.block_m, self.block_n])
        tma_barrier = self.mbarrier.alloc(1)
        mma_barrier = self.mbarrier.alloc(1)
        phase: uint32 = 0
        self.sync()
        for offset_k in range(0, k_size, self.block_k):
            with self.thread_group(thread_begin=0, num_threads=32):
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(tma_barrier, transaction_bytes=s_a.nbytes + s_b.nbytes)
                self.tma.global_to_shared(src=g_a, dst=s_a, offsets=[offset_m, offset_k], mbarrier=tma_barrier)
                self.tma.global_to_shared(src=g_b, dst=s_b, offsets=[offset_n, offset_k], mbarrier=tma_barrier)
                self.mbarrier.wait(tma_barrier, phase=phase)
                self.tcgen05.mma(s_a, s_b.transpose(), t_acc, enable_input_d=offset_k != 0)
                self.tcgen05.commit(mbarrier=mma_barrier)
                self.mbarrier.wait(mma_barrier, phase=phase)
            self.sync()
            phase ^= 1
        r_acc = self.tcgen05.load(t_acc)
        g_c = self.global_view(c_ptr, dtype=float16, shape=[m_size, n_size])
        self.store_global(g_c, r_acc.to(float16), offsets=[offset_m, offset_n])
        self.sync()
        self.tcgen05.dealloc(t_acc)


class VectorAdd(tilus.Script):
    def __call__(self, n: int32, a_ptr: ~float32, b_ptr: ~float32, c_ptr: ~float32):
        self.attrs.blocks = [cdiv(n, 1024)]
        self.attrs.warps = 4
        at: int32 = self.blockIdx.x * 1024
        g_a = self.global_view(a_ptr, dtype=float32, shape=[n])
        g_b = self.global_view(b_ptr, dtype=float32, shape=[n])
        g_c = self.global_view(c_ptr, dtype=float32, shape=[n])
        a = self.load_global(g_a, offsets=[at], shape=[1024])
        b = self.load_global(g_b, offsets=[at], shape=[1024])
        self.store_global(g_c, a + b, offsets=[at])


def tilus_add():
    n = 3000
    a, b = given(RNG.normal(size=n), "f32"), given(RNG.normal(size=n), "f32")
    return case("tilus_add", VectorAdd(), [n, "a", "b", "c"],
                {"a": a, "b": b, "c": wanted(values(a) + values(b), "f32", 1e-6, 1e-6)})


def matmul(name, script, size):
    m, n, k = size
    a, b = given(RNG.normal(size=(m, k)), "f16"), given(RNG.normal(size=(n, k)), "f16")
    return case(name, script, [m, n, k, "a", "b", "c"],
                {"a": a, "b": b, "c": wanted(values(a) @ values(b).T, "f16", 3e-3, 1e-2)})


def tilus_matmul_one_stage():
    return matmul("tilus_matmul_one_stage", MatmulV1(128, 128, 64), (256, 128, 256))


class MatmulRoles(tilus.Script):
    """A warp for TMA, a warp for the products, a ring of stages between them."""

    def __init__(self, m, n, k, stages):
        super().__init__()
        self.block_m, self.block_n, self.block_k, self.stages = m, n, k, stages

    def __call__(self, m_size: int32, n_size: int, k_size: int, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16):
        self.attrs.blocks = [cdiv(m_size, self.block_m), cdiv(n_size, self.block_n)]
        self.attrs.warps = 4
        offset_m: int32 = self.block_m * self.blockIdx.x
        offset_n: int32 = self.block_n * self.blockIdx.y
        g_a = self.global_view(a_ptr, dtype=float16, shape=[m_size, k_size])
        g_b = self.global_view(b_ptr, dtype=float16, shape=[n_size, k_size])
        s_a = self.shared_tensor(dtype=float16, shape=[self.stages, self.block_m, self.block_k])
        s_b = self.shared_tensor(dtype=float16, shape=[self.stages, self.block_n, self.block_k])
        t_acc = self.tcgen05.alloc(dtype=float32, shape=[self.block_m, self.block_n])
        full = self.mbarrier.alloc([1 for _ in range(self.stages)])
        free = self.mbarrier.alloc([1 for _ in range(self.stages)])
        done = self.mbarrier.alloc(1)
        self.sync()
        with self.thread_group(thread_begin=0, num_threads=32):
            stage: int32 = 0
            phase: uint32 = self.mbarrier.producer_initial_phase
            for offset_k in range(0, k_size, self.block_k):
                self.mbarrier.wait(free[stage], phase=phase)
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full[stage], transaction_bytes=s_a[0].nbytes + s_b[0].nbytes)
                self.tma.global_to_shared(src=g_a, dst=s_a[stage], offsets=[offset_m, offset_k], mbarrier=full[stage])
                self.tma.global_to_shared(src=g_b, dst=s_b[stage], offsets=[offset_n, offset_k], mbarrier=full[stage])
                stage = (stage + 1) % self.stages
                phase = phase ^ (stage == 0)
        with self.thread_group(thread_begin=32, num_threads=32):
            stage: int32 = 0
            phase: uint32 = self.mbarrier.consumer_initial_phase
            for offset_k in range(0, k_size, self.block_k):
                self.mbarrier.wait(full[stage], phase=phase)
                self.tcgen05.mma(s_a[stage], s_b[stage].transpose(), t_acc, enable_input_d=offset_k != 0)
                self.tcgen05.commit(mbarrier=free[stage])
                stage = (stage + 1) % self.stages
                phase = phase ^ (stage == 0)
            self.tcgen05.commit(mbarrier=done)
            self.mbarrier.wait(done, phase=0)
        self.sync()
        r_acc = self.tcgen05.load(t_acc)
        g_c = self.global_view(c_ptr, dtype=float16, shape=[m_size, n_size])
        self.store_global(g_c, r_acc.to(float16), offsets=[offset_m, offset_n])
        self.sync()
        self.tcgen05.dealloc(t_acc)


def tilus_matmul_roles():
    return matmul("tilus_matmul_roles", MatmulRoles(128, 128, 64, 3), (256, 256, 384))


def tilus_matmul_wide():
    return matmul("tilus_matmul_wide", MatmulRoles(128, 256, 64, 2), (128, 512, 256))


class RmsNorm(tilus.Script):
    def __call__(self, m_size: int, n_size: int32, x_ptr: ~float16, w_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = [cdiv(m_size, 2)]
        self.attrs.warps = 4
        row: int32 = self.blockIdx.x * 2
        g_x = self.global_view(x_ptr, dtype=float16, shape=[m_size, n_size])
        g_w = self.global_view(w_ptr, dtype=float16, shape=[n_size])
        g_y = self.global_view(y_ptr, dtype=float16, shape=[m_size, n_size])
        total = self.register_tensor(dtype=float32, shape=[2, 256], init=0.0)
        for at in range(0, n_size, 256):
            x = self.load_global(g_x, offsets=[row, at], shape=[2, 256]).to(float32)
            total = total + self.square(x)
        scale = self.rsqrt(self.sum(total, dim=1, keepdim=True) / n_size + 1e-5)
        for at in range(0, n_size, 256):
            x = self.load_global(g_x, offsets=[row, at], shape=[2, 256]).to(float32)
            w = self.load_global(g_w, offsets=[at], shape=[256]).to(float32)
            self.store_global(g_y, (x * scale * w).to(float16), offsets=[row, at])


def tilus_rms_norm():
    x, w = given(RNG.normal(size=(6, 1024)), "f16"), given(RNG.normal(size=1024), "f16")
    y = values(x) / np.sqrt((values(x) ** 2).mean(-1, keepdims=True) + 1e-5) * values(w)
    return case("tilus_rms_norm", RmsNorm(), [6, 1024, "x", "w", "y"], {"x": x, "w": w, "y": wanted(y, "f16", 1e-2, 1e-2)})


class Softmax(tilus.Script):
    def __call__(self, m_size: int, n_size: int, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = [m_size]
        self.attrs.warps = 4
        row: int32 = self.blockIdx.x
        g_x = self.global_view(x_ptr, dtype=float32, shape=[m_size, n_size])
        g_y = self.global_view(y_ptr, dtype=float32, shape=[m_size, n_size])
        x = self.load_global(g_x, offsets=[row, 0], shape=[1, n_size])
        e = self.exp(x - self.max(x, dim=1, keepdim=True))
        self.store_global(g_y, e / self.sum(e, dim=1, keepdim=True), offsets=[row, 0])


def tilus_softmax():
    x = given(RNG.normal(size=(5, 1024)), "f32")
    e = np.exp(values(x) - values(x).max(-1, keepdims=True))
    return case("tilus_softmax", Softmax(), [5, 1024, "x", "y"],
                {"x": x, "y": wanted(e / e.sum(-1, keepdims=True), "f32", 1e-3, 1e-6)})


class Attention(tilus.Script):
    """One head, forward, by mma, with the next keys on their way."""

    def __init__(self, width, block):
        super().__init__()
        self.width, self.block = width, block
        self.scale = float(width ** -0.5)
        self.qk = self.cuda.resolve_dot_config(float16, float32, m=block, n=block, k=width, warp_m=4, warp_n=1)
        self.pv = self.cuda.resolve_dot_config(float16, float32, m=block, n=width, k=block, warp_m=4, warp_n=1)

    def __call__(self, length: int32, q_ptr: ~float16, k_ptr: ~float16, v_ptr: ~float16, o_ptr: ~float16):
        self.attrs.warps = 4
        self.attrs.blocks = [cdiv(length, self.block)]
        row: int32 = self.blockIdx.x * self.block
        gq = self.global_view(q_ptr, dtype=float16, shape=[length, self.width])
        gk = self.global_view(k_ptr, dtype=float16, shape=[length, self.width])
        gv = self.global_view(v_ptr, dtype=float16, shape=[length, self.width])
        go = self.global_view(o_ptr, dtype=float16, shape=[length, self.width])
        sq = self.shared_tensor(dtype=float16, shape=[self.block, self.width])
        self.store_shared(sq, self.load_global(gq, offsets=[row, 0], shape=[self.block, self.width]))
        self.sync()
        rq = self.load_shared(sq)
        self.sync()
        self.free_shared(sq)
        o = self.register_tensor(dtype=float32, shape=[self.block, self.width], init=0.0)
        m = self.register_tensor(dtype=float32, shape=[self.block, 1], init=-1e6)
        total = self.register_tensor(dtype=float32, shape=[self.block, 1], init=0.0)
        sk = self.shared_tensor(dtype=float16, shape=[self.block, self.width])
        sv = self.shared_tensor(dtype=float16, shape=[self.block, self.width])
        self.copy_async(gk, sk, offsets=[0, 0])
        self.copy_async_commit_group()
        for at in range(0, length, self.block):
            self.copy_async_wait_group(0)
            self.sync()
            self.copy_async(gv, sv, offsets=[at, 0])
            self.copy_async_commit_group()
            rk = self.load_shared(sk)
            score = self.dot(rq, rk.transpose(), acc_dtype=float32) * self.scale
            self.annotate_layout(score, self.qk.lc)
            self.copy_async_wait_group(0)
            self.sync()
            self.copy_async(gk, sk, offsets=[at + self.block, 0])
            self.copy_async_commit_group()
            rv = self.load_shared(sv)
            new_m = self.maximum(m, self.max(score, dim=1, keepdim=True))
            p = self.exp(score - new_m)
            part = self.dot(p.to(float16), rv, acc_dtype=float32)
            self.annotate_layout(part, self.pv.lc)
            o = o * self.exp(m - new_m) + part
            total = total * self.exp(m - new_m) + self.sum(p, dim=1, keepdim=True)
            m = new_m
        self.copy_async_wait_group(0)
        self.sync()
        self.free_shared(sk)
        self.free_shared(sv)
        so = self.shared_tensor(dtype=float16, shape=[self.block, self.width])
        self.store_shared(so, (o / total).to(float16))
        self.sync()
        self.store_global(go, self.load_shared(so), offsets=[row, 0])
        self.free_shared(so)


def tilus_attention():
    q, k, v = (given(RNG.normal(size=(128, 64)), "f16") for _ in range(3))
    s = values(q) @ values(k).T / 8
    e = np.exp(s - s.max(-1, keepdims=True))
    return case("tilus_attention", Attention(64, 64), [128, "q", "k", "v", "o"],
                {"q": q, "k": k, "v": v, "o": wanted(e / e.sum(-1, keepdims=True) @ values(v), "f16", 1e-2, 1e-2)})


CASES = [tilus_add, tilus_matmul_one_stage, tilus_matmul_roles, tilus_matmul_wide, tilus_rms_norm, tilus_softmax,
         tilus_attention]
