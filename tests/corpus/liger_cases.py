"""Liger's Triton kernels: norms, rotary embeddings, activations and losses, forward and backward."""
import numpy as np
import torch

import foreign_torch
import triton_record
from case import given, wanted
import formats
from triton_record import case

RNG = np.random.default_rng(74)


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def normal(dtype, *shape):
    return given(RNG.normal(size=shape), dtype)


def rms(x, w):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * w


def liger_rms_norm():
    from liger_kernel.ops.rms_norm import rms_norm_forward
    x, w = normal("bf16", 5, 512), normal("bf16", 512)
    return case("liger_rms_norm", "Liger", lambda x, w: {"y": rms_norm_forward(x, w, 1e-6, 0.0, "llama", None)[0]},
                {"x": x, "w": w}, {"y": (rms(values(x), values(w)), 2e-2, 2e-2)})


def liger_rms_norm_backward():
    from liger_kernel.ops.rms_norm import rms_norm_backward, rms_norm_forward
    x, w, dy = normal("bf16", 6, 256), normal("bf16", 256), normal("bf16", 6, 256)
    rstd = 1 / np.sqrt((values(x) ** 2).mean(-1, keepdims=True) + 1e-6)
    hat, wdy = values(x) * rstd, values(dy) * values(w)
    dx = (wdy - hat * (hat * wdy).mean(-1, keepdims=True)) * rstd

    def call(x, w, dy):
        y, kept, r, block, warps, mode = rms_norm_forward(x, w, 1e-6, 0.0, "llama", None)
        r.copy_(torch.from_numpy(rstd[:, 0].astype(np.float32)))
        foreign_torch.EMPTY.pop(r.data_ptr(), None)
        triton_record.launches.clear()
        return {"dx": rms_norm_backward(dy, kept, w, r, 0.0, mode, block, warps, False, None)[0]}
    return case("liger_rms_norm_backward", "Liger", call, {"x": x, "w": w, "dy": dy}, {"dx": (dx, 3e-2, 2e-2)})


def liger_layer_norm():
    from liger_kernel.ops.layer_norm import layer_norm_forward
    x, w, b = normal("bf16", 5, 512), normal("bf16", 512), normal("bf16", 512)
    v = values(x)
    y = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5) * values(w) + values(b)
    return case("liger_layer_norm", "Liger", lambda x, w, b: {"y": layer_norm_forward(x, w, b, 1e-5)[0]},
                {"x": x, "w": w, "b": b}, {"y": (y, 2e-2, 3e-2)})


def liger_group_norm():
    from liger_kernel.ops.group_norm import group_norm_forward
    x, w, b = normal("f32", 2, 8, 64), normal("f32", 8), normal("f32", 8)
    v = values(x).reshape(2, 2, -1)
    hat = ((v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5)).reshape(2, 8, 64)
    return case("liger_group_norm", "Liger", lambda x, w, b: {"y": group_norm_forward(x, 8, 2, w, b, 1e-5)[0]},
                {"x": x, "w": w, "b": b}, {"y": (hat * values(w)[:, None] + values(b)[:, None], 1e-3, 1e-3)})


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def liger_softmax():
    from liger_kernel.ops.softmax import _softmax_forward
    x = normal("f32", 6, 700)
    return case("liger_softmax", "Liger", lambda x: {"y": _softmax_forward(x)[0]}, {"x": x},
                {"y": (softmax_of(values(x)), 1e-4, 1e-6)})


def liger_swiglu():
    from liger_kernel.ops.swiglu import swiglu_forward
    a, b = normal("bf16", 4, 600), normal("bf16", 4, 600)
    y = values(a) / (1 + np.exp(-values(a))) * values(b)
    return case("liger_swiglu", "Liger", lambda a, b: {"y": swiglu_forward(a, b)[2]}, {"a": a, "b": b},
                {"y": (y, 2e-2, 2e-2)})


def liger_geglu():
    from liger_kernel.ops.geglu import geglu_forward
    a, b = normal("bf16", 4, 600), normal("bf16", 4, 600)
    v = values(a)
    y = v / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3))) * values(b)
    return case("liger_geglu", "Liger", lambda a, b: {"y": geglu_forward(a, b)[2]}, {"a": a, "b": b},
                {"y": (y, 2e-2, 2e-2)})


def liger_rope():
    from liger_kernel.ops.rope import rope_forward
    q, k = normal("f32", 1, 4, 10, 64), normal("f32", 1, 2, 10, 64)
    return case("liger_rope", "Liger", lambda q, k, cos, sin: {"q": rope_forward(q, k, cos, sin)[0]} and None,
                {"q": q, "k": k, "cos": normal("f32", 1, 10, 64), "sin": normal("f32", 1, 10, 64)})


def liger_cross_entropy():
    """Leaves the gradient where the logits were."""
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
    x, target = normal("f32", 4, 5000), RNG.integers(0, 5000, 4)
    grad = softmax_of(values(x))
    grad[np.arange(4), target] -= 1

    def call(x, target):
        x.requires_grad_()
        LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.0, "mean", None, False)
        return {"dx": x.detach()}
    return case("liger_cross_entropy", "Liger", call, {"x": x, "target": given(target, "s64")},
                {"dx": (grad / 4, 1e-3, 1e-6)})


def liger_kl_div():
    from liger_kernel.ops.kl_div import kldiv_forward_triton
    logs = [np.log(np.random.default_rng(seed).dirichlet(np.ones(300), 4)) for seed in (3, 4)]
    x, y = (given(each, "f32") for each in logs)
    loss = np.exp(values(y)) * (values(y) - values(x))
    return case("liger_kl_div", "Liger", lambda x, y: {"o": kldiv_forward_triton(x, y, True, "none", 1e-10)},
                {"x": x, "y": y}, {"o": (loss, 1e-3, 1e-6)})


def liger_dyt():
    from liger_kernel.ops.dyt import liger_dyt_fwd
    x, a, g, b = normal("f32", 5, 512), normal("f32", 1), normal("f32", 512), normal("f32", 512)
    y = np.tanh(values(x) * values(a)) * values(g) + values(b)
    return case("liger_dyt", "Liger", lambda x, a, g, b: {"y": liger_dyt_fwd(x, a, g, b)}, {"x": x, "a": a, "g": g, "b": b},
                {"y": (y, 1e-3, 1e-3)})


def liger_sparsemax():
    from liger_kernel.ops.sparsemax import _sparsemax_forward
    x = normal("f32", 4, 200)
    ordered = -np.sort(-values(x), -1)
    sums, ranks = ordered.cumsum(-1), np.arange(1, 201)
    support = (1 + ranks * ordered > sums).sum(-1, keepdims=True)
    threshold = (np.take_along_axis(sums, support - 1, -1) - 1) / support
    return case("liger_sparsemax", "Liger", lambda x: {"y": _sparsemax_forward(x, 1)[0]}, {"x": x},
                {"y": (np.maximum(values(x) - threshold, 0), 1e-3, 1e-5)})


CASES = [liger_rms_norm, liger_rms_norm_backward, liger_layer_norm, liger_group_norm, liger_softmax, liger_swiglu,
         liger_geglu, liger_rope, liger_cross_entropy, liger_kl_div, liger_dyt, liger_sparsemax]
