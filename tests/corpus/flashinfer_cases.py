"""FlashInfer's CUDA kernels, compiled by nvcc from the sources that its package carries: norms, activations, rotary
embeddings, caches, sampling, decode and prefill attention."""
import ctypes
import importlib.util
import pathlib
import re
import shutil
import subprocess

import numpy as np

import formats
import recorder
from case import Buffer, given, wanted

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "flashinfer_kernels.cu"
BUILD = HERE.parents[1] / "build" / "corpus" / "flashinfer"
# The package without its imports, which want a GPU.
DATA = pathlib.Path(importlib.util.find_spec("flashinfer").submodule_search_locations[0]) / "data"
HEADERS = ("include", "csrc", "cutlass/include", "cccl/libcudacxx/include", "cccl/cub", "cccl/thrust")
RECORDER = recorder.Recorder()
NAMES = dict(re.findall(r"^#define (\w+) (\d+)$", SOURCE.read_text(), re.M))
RNG = np.random.default_rng(73)


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def only(ptx, kernel):
    """The text without its other kernels."""
    kept, at = [], 0
    for found in re.finditer(r"(?:\.visible |\.weak )?\.entry\s+([\w$]+)\s*\(", ptx):
        end, depth = ptx.index("{", ptx.index(")", found.end())), 0
        while True:
            depth += {"{": 1, "}": -1}.get(ptx[end], 0)
            end += 1
            if depth == 0:
                break
        if found[1] != kernel:
            kept.append(ptx[at:found.start()])
            at = end
    return "".join(kept) + ptx[at:]


def build(name):
    folder = BUILD / name
    library = folder / "run.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        include = [f"-I{DATA / place}" for place in HEADERS]
        done = subprocess.run([recorder.CUDA / "bin" / "nvcc", "-std=c++17", "-w", "-O2", "--expt-relaxed-constexpr",
                               "-DENABLE_BF16", f"-DCASE={NAMES[name]}", *include, "-gencode",
                               "arch=compute_100a,code=compute_100a", "-shared", "-Xcompiler", "-fPIC", "-cudart",
                               "none", "--keep", "--keep-dir", folder, "-o", library, SOURCE],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
    return library, next(folder.glob("*.ptx")).read_text()


def case(name, which, buffers, first, second):
    library, ptx = build(which)
    memory = recorder.Memory(buffers)
    RECORDER.know(ptx)
    recording = RECORDER.start()
    addresses = (ctypes.c_void_p * len(buffers))(*map(memory.address, buffers))
    ctypes.CDLL(str(library)).run(addresses, first, second)
    made = recorder.case(name, "FlashInfer", RECORDER, recording, memory)
    made.ptx = only(made.ptx, made.entry)
    return made


def normal(dtype, *shape):
    return given(RNG.normal(size=shape), dtype)


def rms(x):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)


def flashinfer_rms_norm():
    x, w = normal("bf16", 3, 1024), normal("bf16", 1024)
    y = rms(values(x)) * values(w)
    return case("flashinfer_rms_norm", "RMS_NORM", {"x": x, "w": w, "y": wanted(y, "bf16", 2e-2, 2e-2)}, 3, 1024)


def flashinfer_fused_add_rms_norm():
    x, r, w = normal("bf16", 3, 2048), normal("bf16", 3, 2048), normal("bf16", 2048)
    total = values(x) + values(r)
    return case("flashinfer_fused_add_rms_norm", "FUSED_ADD_RMS_NORM",
                {"x": wanted(rms(total) * values(w), "bf16", 2e-2, 2e-2, first=values(x)),
                 "r": wanted(total, "bf16", 1e-2, 1e-2, first=values(r)), "w": w}, 3, 2048)


def rounded(x):
    return formats.decode(formats.encode(np.clip(x, -448, 448), "e4m3"), "e4m3")


def flashinfer_rms_norm_quant():
    x, w = normal("bf16", 2, 1024), normal("bf16", 1024)
    y = rounded(rms(values(x)) * values(w) * 4)
    return case("flashinfer_rms_norm_quant", "RMS_NORM_QUANT",
                {"x": x, "w": w, "y": wanted(y, "e4m3", 0.13, 0.05), "s": given(np.array([0.25]), "f32")}, 2, 1024)


def flashinfer_fused_add_norm_quant():
    x, r, w = normal("bf16", 2, 1024), normal("bf16", 2, 1024), normal("bf16", 1024)
    total = values(x) + values(r)
    return case("flashinfer_fused_add_norm_quant", "FUSED_ADD_NORM_QUANT",
                {"x": x, "r": wanted(total, "bf16", 1e-2, 1e-2, first=values(r)), "w": w,
                 "y": wanted(rounded(rms(total) * values(w) * 4), "e4m3", 0.13, 0.05), "s": given(np.array([0.25]), "f32")},
                2, 1024)


def flashinfer_layer_norm():
    x, w, b = normal("bf16", 3, 512), normal("f32", 512), normal("f32", 512)
    v = values(x)
    y = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5) * values(w) + values(b)
    return case("flashinfer_layer_norm", "LAYER_NORM", {"x": x, "w": w, "b": b, "y": wanted(y, "bf16", 2e-2, 2e-2)}, 3, 512)


def flashinfer_silu_and_mul():
    x = normal("bf16", 4, 1024)
    gate, up = values(x)[:, :512], values(x)[:, 512:]
    return case("flashinfer_silu_and_mul", "SILU_AND_MUL",
                {"x": x, "y": wanted(gate / (1 + np.exp(-gate)) * up, "bf16", 2e-2, 1e-2)}, 4, 512)


def flashinfer_rope():
    tokens, heads = 20, 2
    q, k = normal("bf16", tokens, heads, 64), normal("bf16", tokens, heads, 64)
    at = RNG.integers(0, 100, tokens)
    angle = at[:, None] * 1e-4 ** (2 * np.arange(32) / 64)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def turned(x):
        low, high = values(x)[..., :32], values(x)[..., 32:]
        return wanted(np.concatenate([low * c - high * s, high * c + low * s], -1), "bf16", 2e-2, 2e-2)
    return case("flashinfer_rope", "ROPE", {"q": q, "k": k, "qo": turned(q), "ko": turned(k), "at": given(at, "s32")},
                tokens, heads)


def flashinfer_merge_state():
    length, heads = 5, 4
    a, b = normal("bf16", length, heads, 128), normal("bf16", length, heads, 128)
    sa, sb = normal("f32", length, heads), normal("f32", length, heads)
    wa, wb = 2 ** values(sa), 2 ** values(sb)
    out = (values(a) * wa[..., None] + values(b) * wb[..., None]) / (wa + wb)[..., None]
    return case("flashinfer_merge_state", "MERGE_STATE",
                {"a": a, "sa": sa, "b": b, "sb": sb, "o": wanted(out, "bf16", 2e-2, 2e-2),
                 "so": wanted(np.log2(wa + wb), "f32", 1e-3, 1e-3)}, length, heads)


def flashinfer_pack_bits():
    flags = RNG.integers(0, 2, 3000).astype(np.uint8)
    return case("flashinfer_pack_bits", "PACK_BITS",
                {"x": Buffer("u8", flags), "y": wanted(np.packbits(flags, bitorder="little"), "u8")}, 3000, 0)


def flashinfer_softmax():
    x = normal("f32", 3, 5000)
    e = np.exp(values(x) - values(x).max(-1, keepdims=True))
    return case("flashinfer_softmax", "SOFTMAX", {"x": x, "y": wanted(e / e.sum(-1, keepdims=True), "f32", 1e-3, 1e-7)}, 3,
                5000)


def flashinfer_top_p_sampling():
    """The most probable token has more than the threshold, so that there is one answer."""
    p = RNG.random((4, 1000)) * 1e-4
    best = RNG.integers(0, 1000, 4)
    p[np.arange(4), best] = 1
    p /= p.sum(-1, keepdims=True)
    return case("flashinfer_top_p_sampling", "TOP_P_SAMPLING",
                {"p": given(p, "f32"), "i": wanted(best, "s32"), "valid": given(np.zeros(4), "u8")}, 4, 1000)


def flashinfer_append_paged():
    batch, heads, pages = 3, 2, 4
    k, v = (RNG.normal(size=(pages, 16, heads, 128)) for _ in range(2))
    indices, starts, last = np.array([2, 0, 3, 1]), np.array([0, 1, 3, 4]), np.array([5, 9, 16])
    new_k, new_v = normal("bf16", batch, heads, 128), normal("bf16", batch, heads, 128)
    after = []
    for cache, new in ((k, new_k), (v, new_v)):
        old = formats.decode(formats.encode(cache, "bf16"), "bf16")
        full = old.copy()
        for row in range(batch):
            full[indices[starts[row + 1] - 1], last[row] - 1] = values(new)[row]
        after.append(wanted(full, "bf16", first=cache))
    return case("flashinfer_append_paged", "APPEND_PAGED",
                {"k": after[0], "v": after[1], "indices": given(indices, "s32"), "starts": given(starts, "s32"),
                 "last": given(last, "s32"), "nk": new_k, "nv": new_v}, batch, heads)


def attention(q, k, v, causal=False):
    """[length, heads, width]"""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.arange(k.shape[0])[None] > np.arange(q.shape[0])[:, None], -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v)


def flashinfer_single_decode():
    length, heads = 100, 8
    q, k, v = normal("bf16", 1, heads, 128), normal("bf16", length, 2, 128), normal("bf16", length, 2, 128)
    return case("flashinfer_single_decode", "SINGLE_DECODE",
                {"q": q, "k": k, "v": v, "o": wanted(attention(values(q), values(k), values(v)), "bf16", 2e-2, 2e-2)}, length,
                heads)


def flashinfer_batch_decode():
    batch, heads, pages = 3, 4, 6
    lengths = [20, 16, 37]
    q = normal("bf16", batch, heads, 128)
    k, v = normal("bf16", pages, 16, 1, 128), normal("bf16", pages, 16, 1, 128)
    indices, starts, last = np.array([4, 0, 2, 5, 1, 3]), np.array([0, 2, 3, 6]), np.array([4, 16, 5])
    out = []
    for row in range(batch):
        mine = indices[starts[row]:starts[row + 1]]
        keys, cells = (values(t)[mine].reshape(-1, 1, 128)[:lengths[row]] for t in (k, v))
        out.append(attention(values(q)[row][None], keys, cells)[0])
    zeros = np.zeros(batch)
    return case("flashinfer_batch_decode", "BATCH_DECODE",
                {"q": q, "k": k, "v": v, "indices": given(indices, "s32"), "starts": given(starts, "s32"),
                 "last": given(last, "s32"), "o": wanted(np.array(out), "bf16", 2e-2, 2e-2),
                 "lse": given(np.zeros((batch, heads)), "f32"), "request": given(np.arange(batch), "s32"),
                 "tile": given(zeros, "s32"), "o_indptr": given(np.arange(batch + 1), "s32"),
                 "chunk": given(np.array([1 << 20]), "s32")}, batch, heads)


def flashinfer_single_prefill():
    length, heads = 80, 2
    q, k, v = normal("bf16", length, heads, 64), normal("bf16", length, 1, 64), normal("bf16", length, 1, 64)
    out = attention(values(q), values(k), values(v), True)
    return case("flashinfer_single_prefill", "SINGLE_PREFILL",
                {"q": q, "k": k, "v": v, "o": wanted(out, "bf16", 2e-2, 2e-2)}, length, heads)


CASES = [flashinfer_rms_norm, flashinfer_fused_add_rms_norm, flashinfer_rms_norm_quant, flashinfer_fused_add_norm_quant,
         flashinfer_layer_norm, flashinfer_silu_and_mul, flashinfer_rope, flashinfer_merge_state, flashinfer_pack_bits,
         flashinfer_softmax, flashinfer_top_p_sampling, flashinfer_append_paged, flashinfer_single_decode,
         flashinfer_batch_decode, flashinfer_single_prefill]
