"""Helion kernels: their Triton code is generated over tensors without memory and compiled as in triton_case."""
import importlib.util

import numpy as np
import torch

import foreign_torch

foreign_torch.plain()
import helion
import helion.language as hl
import helion.runtime
from torch._subclasses.fake_tensor import FakeTensorMode

import formats
import recorder
import triton_record
from case import given

helion.runtime.get_num_sm = lambda *_, **__: 2
BUILD = recorder.BUILD.parent / "helion"
RNG = np.random.default_rng(75)


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def normal(dtype, *shape):
    return given(RNG.normal(size=shape), dtype)


def case(name, function, buffers, expected, scalars=(), **config):
    """'function' takes the buffers in order, then the scalars, and returns what 'expected' is compared with."""
    kernel = helion.kernel(config=helion.Config(**config), static_shapes=True)(function)
    with FakeTensorMode():
        absent = [torch.empty(b.bits.shape, dtype=foreign_torch.TYPES[b.dtype], device="cuda") for b in buffers.values()]
    code = kernel.bind((*absent, *scalars)).to_triton_code(helion.Config(**config))
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    host = getattr(module, function.__name__)

    def call(**tensors):
        out = host(*tensors.values(), *scalars,
                   _launcher=lambda launched, grid, *args, **options: launched.run(*args, grid=grid, **options))
        outs = out if isinstance(out, tuple) else (out,)
        return {str(i): each for i, each in enumerate(outs)}
    wanted = expected if isinstance(expected, list) else [expected]
    return triton_record.case(name, "Helion", call, buffers, {str(i): each for i, each in enumerate(wanted)})


def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    k, n = y.size()
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = torch.addmm(total, x[tile_m, tile_k], y[tile_k, tile_n])
        out[tile_m, tile_n] = total
    return out


def product(name, size, blocks, dtype="bf16", **config):
    m, n, k = size
    x, y = normal(dtype, m, k), normal(dtype, k, n)
    tolerance = {"bf16": 1e-2, "f16": 3e-3, "f32": 5e-2}[dtype]
    expected = (values(x) @ values(y), tolerance, tolerance * 5)
    return case(name, matmul, {"x": x, "y": y}, expected, block_sizes=blocks, **config)


def helion_matmul():
    return product("helion_matmul", (256, 128, 192), [128, 64, 64], num_warps=4, num_stages=3)


def helion_matmul_f16_wide():
    return product("helion_matmul_f16_wide", (128, 256, 128), [128, 256, 64], "f16", num_warps=8, num_stages=2)


def helion_matmul_descriptors():
    return product("helion_matmul_descriptors", (256, 256, 128), [128, 128, 64], num_warps=4, num_stages=2,
                   indexing="tensor_descriptor")


def helion_matmul_persistent():
    return product("helion_matmul_persistent", (256, 256, 128), [64, 64, 32], num_warps=4, num_stages=2,
                   pid_type="persistent_blocked")


def helion_matmul_tf32():
    return product("helion_matmul_tf32", (128, 128, 64), [64, 64, 32], "f32", num_warps=4, num_stages=2)


def softmax(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        out[tile, :] = torch.nn.functional.softmax(x[tile, :], dim=1)
    return out


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def helion_softmax():
    x = normal("f32", 16, 700)
    return case("helion_softmax", softmax, {"x": x}, (softmax_of(values(x)), 1e-4, 1e-6), block_sizes=[2], num_warps=4)


def softmax_two_pass(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        best = hl.full([tile], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile], dtype=torch.float32)
        for part in hl.tile(columns):
            some = x[tile, part]
            top = torch.maximum(best, torch.amax(some, dim=1))
            total = total * torch.exp(best - top) + torch.exp(some - top[:, None]).sum(dim=1)
            best = top
        for part in hl.tile(columns):
            out[tile, part] = torch.exp(x[tile, part] - best[:, None]) / total[:, None]
    return out


def helion_softmax_two_pass():
    x = normal("f32", 8, 1000)
    return case("helion_softmax_two_pass", softmax_two_pass, {"x": x}, (softmax_of(values(x)), 1e-4, 1e-6),
                block_sizes=[2, 128, 128], num_warps=4)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    rows, columns = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        some = x[tile, :].to(torch.float32)
        scale = torch.rsqrt((some * some).mean(-1) + 1e-5)
        out[tile, :] = (some * scale[:, None] * w[:].to(torch.float32)).to(out.dtype)
    return out


def helion_rms_norm():
    x, w = normal("bf16", 8, 1024), normal("bf16", 1024)
    y = values(x) / np.sqrt((values(x) ** 2).mean(-1, keepdims=True) + 1e-5) * values(w)
    return case("helion_rms_norm", rms_norm, {"x": x, "w": w}, (y, 2e-2, 2e-2), block_sizes=[2], num_warps=4)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    rows, columns = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        some = x[tile, :].to(torch.float32)
        mean = some.mean(-1)
        centred = some - mean[:, None]
        scale = torch.rsqrt((centred * centred).mean(-1) + 1e-5)
        out[tile, :] = (centred * scale[:, None] * w[:] + b[:]).to(out.dtype)
    return out


def helion_layer_norm():
    x, w, b = normal("f16", 6, 512), normal("f32", 512), normal("f32", 512)
    v = values(x)
    y = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5) * values(w) + values(b)
    return case("helion_layer_norm", layer_norm, {"x": x, "w": w, "b": b}, (y, 5e-3, 1e-2), block_sizes=[1], num_warps=8)


def swiglu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(a)
    for at in hl.tile(a.size()):
        some = a[at].to(torch.float32)
        out[at] = (some * torch.sigmoid(some) * b[at].to(torch.float32)).to(out.dtype)
    return out


def helion_swiglu():
    a, b = normal("bf16", 40, 300), normal("bf16", 40, 300)
    y = values(a) / (1 + np.exp(-values(a))) * values(b)
    return case("helion_swiglu", swiglu, {"a": a, "b": b}, (y, 2e-2, 2e-2), block_sizes=[16, 128], num_warps=4)


def quantise(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, columns = x.size()
    out = torch.empty([rows, columns], dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty([rows], dtype=torch.float32, device=x.device)
    for tile in hl.tile(rows):
        some = x[tile, :].to(torch.float32)
        top = torch.clamp(torch.amax(torch.abs(some), dim=1), min=1e-4) / 448.0
        scale[tile] = top
        out[tile, :] = (some / top[:, None]).to(torch.float8_e4m3fn)
    return out, scale


def helion_quantise():
    x = normal("bf16", 12, 512)
    top = np.maximum(np.abs(values(x)).max(-1), 1e-4) / 448
    y = formats.decode(formats.encode(values(x) / top[:, None], "e4m3"), "e4m3")
    return case("helion_quantise", quantise, {"x": x}, [(y, 0.13, 0.01), (top, 1e-5, 0)], block_sizes=[2], num_warps=4)


def gather(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    (count,) = rows.size()
    width = table.size(1)
    out = torch.empty([count, width], dtype=table.dtype, device=table.device)
    for tile, part in hl.tile([count, width]):
        out[tile, part] = hl.load(table, [rows[tile], part])
    return out


def helion_embedding():
    rows, table = RNG.integers(0, 50, 40), normal("f32", 50, 128)
    return case("helion_embedding", gather, {"rows": given(rows, "s32"), "table": table}, (values(table)[rows], 0, 0),
                block_sizes=[16, 64], num_warps=4)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads, rows, width = q.size()
    length = k.size(1)
    width = hl.specialize(width)
    out = torch.empty_like(q)
    scale = 1.44269504 / width ** 0.5
    turned = k.transpose(1, 2)
    for tile_b, tile_m in hl.tile([heads, rows]):
        best = hl.full([tile_b, tile_m], float("-inf"), dtype=torch.float32)
        total = torch.full_like(best, 1.0)
        sums = hl.zeros([tile_b, tile_m, width], dtype=torch.float32)
        mine = q[tile_b, tile_m, :]
        for tile_n in hl.tile(length):
            scores = torch.bmm(mine, turned[tile_b, :, tile_n]).to(torch.float32)
            top = torch.maximum(best, torch.amax(scores, -1) * scale)
            p = torch.exp2(scores * scale - top[:, :, None])
            factor = torch.exp2(best - top)
            total = total * factor + torch.sum(p, -1)
            sums = torch.baddbmm(sums * factor[:, :, None], p.to(v.dtype), v[tile_b, tile_n, :])
            best = top
        out[tile_b, tile_m, :] = (sums / total[:, :, None]).to(out.dtype)
    return out


def attend(name, heads, rows, length, width, blocks, **config):
    q, k, v = normal("f16", heads, rows, width), normal("f16", heads, length, width), normal("f16", heads, length, width)
    out = softmax_of(values(q) @ values(k).transpose(0, 2, 1) / np.sqrt(width)) @ values(v)
    return case(name, attention, {"q": q, "k": k, "v": v}, (out, 1e-2, 1e-2), block_sizes=blocks, **config)


def helion_attention():
    return attend("helion_attention", 2, 128, 256, 64, [1, 64, 64], num_warps=4, num_stages=2)


def helion_attention_wide():
    return attend("helion_attention_wide", 1, 128, 256, 128, [1, 128, 128], num_warps=8, num_stages=2)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    rows, columns = logits.size()
    losses = torch.empty([rows], dtype=torch.float32, device=logits.device)
    flat = logits.view(-1)
    for tile in hl.tile(rows):
        at = tile.index * columns + labels[tile]
        mine = hl.load(flat, [at])
        some = logits[tile, :]
        top = torch.amax(some, dim=-1)
        losses[tile] = torch.log(torch.exp(some - top[:, None]).sum(-1)) + top - mine
    return losses


def helion_cross_entropy():
    x, labels = normal("f32", 8, 900), RNG.integers(0, 900, 8)
    v = values(x)
    loss = np.log(np.exp(v - v.max(-1, keepdims=True)).sum(-1)) + v.max(-1) - v[np.arange(8), labels]
    return case("helion_cross_entropy", cross_entropy, {"logits": x, "labels": given(labels, "s32")}, (loss, 1e-4, 1e-4),
                block_sizes=[2], num_warps=4)


CASES = [helion_matmul, helion_matmul_f16_wide, helion_matmul_descriptors, helion_matmul_persistent, helion_matmul_tf32,
         helion_softmax, helion_softmax_two_pass, helion_rms_norm, helion_layer_norm, helion_swiglu, helion_quantise,
         helion_embedding, helion_attention, helion_attention_wide, helion_cross_entropy]
