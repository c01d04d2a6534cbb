"""Kernels of quack: norms, softmax, losses, top-k, rotary embeddings and GEMMs of SM100."""
import os

os.environ.setdefault("QUACK_CACHE_ENABLED", "0")
import numpy as np

import formats
from case import given, wanted
from cute_record import TYPES, case

RNG = np.random.default_rng(70)


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def quack_softmax(name="quack_softmax", dtype="bf16", columns=1024, rows=6):
    from quack.softmax import Softmax
    x = given(RNG.normal(size=(rows, columns)), dtype)
    run = Softmax.compile(TYPES[dtype], TYPES[dtype], columns)
    return case(name, "quack", lambda x, o: run(x, o), {"x": x, "o": wanted(softmax_of(values(x)), dtype, 2e-2, 1e-5)})


def quack_softmax_cluster():
    return quack_softmax("quack_softmax_cluster", "bf16", 32768, 2)


def quack_softmax_f32():
    return quack_softmax("quack_softmax_f32", "f32", 8192, 3)


def quack_softmax_backward():
    from quack.softmax import SoftmaxBackward
    y = given(softmax_of(RNG.normal(size=(5, 2048))), "bf16")
    dy = given(RNG.normal(size=(5, 2048)), "bf16")
    dx = values(y) * (values(dy) - (values(y) * values(dy)).sum(-1, keepdims=True))
    t = TYPES["bf16"]
    run = SoftmaxBackward.compile(t, t, t, 2048)
    return case("quack_softmax_backward", "quack", lambda dy, y, dx: run(dy, y, dx),
                {"dy": dy, "y": y, "dx": wanted(dx, "bf16", 2e-2, 1e-5)})


def cross_entropy(name, columns, has_dx):
    from quack.cross_entropy import CrossEntropy
    rows = 4
    x = given(RNG.normal(size=(rows, columns)), "bf16")
    target = RNG.integers(0, columns, rows)
    logits = values(x)
    lse = np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1)) + logits.max(-1)
    loss = lse - logits[np.arange(rows), target]
    grad = softmax_of(logits)
    grad[np.arange(rows), target] -= 1
    run = CrossEntropy.compile(TYPES["bf16"], TYPES["s64"], None, columns, True, has_dx, None, 1)
    buffers = {"x": x, "target": given(target, "s64"), "loss": wanted(loss, "f32", 1e-3, 1e-3),
               "lse": wanted(lse, "f32", 1e-3, 1e-3)}
    if has_dx:
        buffers["dx"] = wanted(grad, "bf16", 2e-2, 1e-4)
    return case(name, "quack", lambda x, target, loss, lse, dx=None: run(x, target, None, loss, lse, dx, None, -100),
                buffers)


def quack_cross_entropy():
    return cross_entropy("quack_cross_entropy", 4096, False)


def quack_cross_entropy_dx():
    return cross_entropy("quack_cross_entropy_dx", 4096, True)


def norm(name, columns, layer_norm=False, residual=False, rows=5):
    from quack.rmsnorm import _compile_rmsnorm_fwd
    x, w = given(RNG.normal(size=(rows, columns)), "bf16"), given(RNG.normal(size=columns), "f32")
    total = values(x)
    buffers = {"x": x, "w": w}
    if residual:
        buffers["r"] = given(RNG.normal(size=(rows, columns)), "bf16")
        total = total + values(buffers["r"])
        buffers["ro"] = wanted(total, "bf16", 1e-2, 1e-2)
    mean = total.mean(-1, keepdims=True) if layer_norm else 0.0
    scale = 1 / np.sqrt(((total - mean) ** 2).mean(-1) + 1e-5)
    buffers["o"] = wanted((total - mean) * scale[:, None] * values(w), "bf16", 2e-2, 2e-2)
    buffers["rstd"] = wanted(scale, "f32", 1e-3, 1e-4)
    if layer_norm:
        buffers["mean"] = wanted(mean[:, 0], "f32", 1e-3, 1e-4)
    bf16 = TYPES["bf16"]
    run = _compile_rmsnorm_fwd(bf16, bf16, bf16 if residual else None, TYPES["f32"], None, bf16 if residual else None,
                               columns, True, layer_norm, layer_norm, False)

    def call(x, w, o, rstd, r=None, ro=None, mean=None):
        run(x, w, None, r, o, ro, rstd, mean, 1e-5)
    return case(name, "quack", call, buffers)


def quack_rmsnorm():
    return norm("quack_rmsnorm", 1024)


def quack_rmsnorm_residual():
    return norm("quack_rmsnorm_residual", 2048, residual=True)


def quack_rmsnorm_cluster():
    return norm("quack_rmsnorm_cluster", 65536, rows=1)


def quack_layernorm():
    return norm("quack_layernorm", 1536, layer_norm=True)


def quack_rmsnorm_backward():
    from quack.rmsnorm import _compile_rmsnorm_bwd
    rows, columns, sms = 6, 1024, 2
    x, w, dout = (given(RNG.normal(size=s), t) for s, t in (((rows, columns), "bf16"), (columns, "f32"),
                                                           ((rows, columns), "bf16")))
    v, rstd = values(x), 1 / np.sqrt((values(x) ** 2).mean(-1) + 1e-5)
    hat, wdy = v * rstd[:, None], values(dout) * values(w)
    dx = (wdy - hat * (hat * wdy).mean(-1, keepdims=True)) * rstd[:, None]
    bf16 = TYPES["bf16"]
    run = _compile_rmsnorm_bwd(columns, bf16, bf16, bf16, TYPES["f32"], False, None, None, True)

    def call(x, w, dout, rstd, dx, dw):
        run(x, w, dout, None, rstd, None, dx, dw, None, None, sms)
    return case("quack_rmsnorm_backward", "quack", call,
                {"x": x, "w": w, "dout": dout, "rstd": given(rstd, "f32"), "dx": wanted(dx, "bf16", 3e-2, 2e-2),
                 "dw": given(np.zeros((sms, columns)), "f32")})


def quack_topk():
    from quack.topk import TopK
    rows, columns, k = 8, 128, 8
    x = given(RNG.normal(size=(rows, columns)), "f32")
    order = np.argsort(-values(x), axis=-1, kind="stable")[:, :k]
    best = np.take_along_axis(values(x), order, -1)
    run = TopK.compile(TYPES["f32"], columns, k, False)
    # The index lives in the low bits of the value that is sorted.
    return case("quack_topk", "quack", lambda x, v, i: run(x, v, i),
                {"x": x, "v": wanted(best, "f32", 1e-4, 1e-4), "i": wanted(order, "s32")})


def quack_topk_softmax():
    from quack.topk import TopK
    rows, columns, k = 8, 256, 16
    x = given(RNG.normal(size=(rows, columns)), "bf16")
    run = TopK.compile(TYPES["bf16"], columns, k, True)
    return case("quack_topk_softmax", "quack", lambda x, v, i: run(x, v, i),
                {"x": x, "v": given(np.zeros((rows, k)), "bf16"), "i": given(np.zeros((rows, k)), "s32")})


def quack_rotary():
    from quack.rotary import RotaryKernel
    b, s, h, d = 1, 16, 2, 64
    x = given(RNG.normal(size=(b, s, h, d)), "bf16")
    angle = np.arange(s)[:, None] * 10000.0 ** (-np.arange(d // 2) / (d // 2))
    cos, sin = given(np.cos(angle), "f32"), given(np.sin(angle), "f32")
    v, c, n = values(x), values(cos)[None, :, None], values(sin)[None, :, None]
    low, high = v[..., :d // 2], v[..., d // 2:]
    out = np.concatenate([low * c - high * n, high * c + low * n], -1)
    run = RotaryKernel.compile(TYPES["bf16"], TYPES["f32"], None, None, d, False, False)
    return case("quack_rotary", "quack", lambda x, cos, sin, o: run(x, cos, sin, None, None, o, s),
                {"x": x, "cos": cos, "sin": sin, "o": wanted(out, "bf16", 2e-2, 2e-2)})


def gemm(name, size, tile, cluster=(1, 1), dtype="bf16", out="bf16", batch=1, **more):
    from quack.gemm import gemm as quack_gemm
    m, n, k = size
    a, b = given(RNG.normal(size=(batch, m, k)), dtype), given(RNG.normal(size=(batch, n, k)), dtype)
    product = values(a) @ values(b).transpose(0, 2, 1)
    import torch

    def call(a, b, d):
        semaphore = torch.zeros(1, dtype=torch.int32) if more.get("is_dynamic_persistent") else None
        quack_gemm(a, b, d, None, semaphore, *tile, *cluster, **more)
    tolerance = {"bf16": 1e-2, "f16": 2e-3, "f32": 1e-3}[out]
    return case(name, "quack", call, {"a": a, "b": b, "d": wanted(product, out, tolerance, tolerance)})


def quack_gemm_bf16():
    return gemm("quack_gemm_bf16", (256, 256, 256), (128, 128))


def quack_gemm_f16_f32():
    return gemm("quack_gemm_f16_f32", (128, 192, 128), (128, 192), dtype="f16", out="f32")


def quack_gemm_batched():
    return gemm("quack_gemm_batched", (128, 128, 192), (128, 64), batch=2)


def quack_gemm_pair():
    return gemm("quack_gemm_pair", (512, 256, 256), (256, 128), (2, 1))


def quack_gemm_pair_wide():
    return gemm("quack_gemm_pair_wide", (256, 256, 192), (256, 256), (2, 1), dtype="f16", out="f16")


def quack_gemm_multicast():
    return gemm("quack_gemm_multicast", (256, 256, 128), (128, 128), (1, 2))


def quack_gemm_e4m3():
    return gemm("quack_gemm_e4m3", (128, 128, 256), (128, 128), dtype="e4m3")


def quack_gemm_clc():
    return gemm("quack_gemm_clc", (256, 256, 128), (128, 128), is_dynamic_persistent=True)


def quack_gemm_grouped():
    """A matrix for each group of rows, as the experts of a mixture have them."""
    from quack.gemm import gemm as quack_gemm
    starts, n, k = np.array([0, 100, 100, 256]), 128, 128
    a, b = given(RNG.normal(size=(256, k)), "bf16"), given(RNG.normal(size=(3, n, k)), "bf16")
    product = np.concatenate([values(a)[low:high] @ values(b)[i].T
                              for i, (low, high) in enumerate(zip(starts, starts[1:]))])

    def call(a, b, d, starts):
        quack_gemm(a, b, d, None, None, 128, 128, 1, 1, cu_seqlens_m=starts)
    made = case("quack_gemm_grouped", "quack", call, {"a": a, "b": b, "d": wanted(product, "bf16", 1e-2, 1e-2),
                                                      "starts": given(starts, "s32")})
    made.grid = None  # the map of D begins in front of its buffer, which no contract can say
    return made


def quack_gemm_bias():
    from quack.gemm import gemm as quack_gemm
    m, n, k = 128, 256, 128
    a, b, c = (given(RNG.normal(size=(1, *s)), "bf16") for s in ((m, k), (n, k), (m, n)))
    bias = given(RNG.normal(size=(1, n)), "f32")
    out = values(a) @ values(b).transpose(0, 2, 1) + values(c) + values(bias)[:, None]

    def call(a, b, c, bias, d):
        quack_gemm(a, b, d, c, None, 128, 128, 1, 1, rowvec_bias=bias)
    return case("quack_gemm_bias", "quack", call, {"a": a, "b": b, "c": c, "bias": bias,
                                                   "d": wanted(out, "bf16", 1e-2, 2e-2)})


CASES = [quack_softmax, quack_softmax_cluster, quack_softmax_f32, quack_softmax_backward, quack_cross_entropy,
         quack_cross_entropy_dx, quack_rmsnorm, quack_rmsnorm_residual, quack_rmsnorm_cluster, quack_layernorm,
         quack_rmsnorm_backward, quack_topk, quack_topk_softmax, quack_rotary, quack_gemm_bf16, quack_gemm_f16_f32,
         quack_gemm_batched, quack_gemm_pair, quack_gemm_pair_wide, quack_gemm_multicast, quack_gemm_e4m3,
         quack_gemm_clc, quack_gemm_grouped, quack_gemm_bias]
