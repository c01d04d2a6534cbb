"""FlashAttention-4: forward, decode and backward kernels of its CuTe DSL package."""
import os

os.environ.setdefault("QUACK_CACHE_ENABLED", "0")
os.environ.setdefault("FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED", "0")
import numpy as np

import formats
from case import given, wanted
from cute_record import case

RNG = np.random.default_rng(71)


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def attention(q, k, v, causal=False, window=None, softcap=0.0, used=None):
    """Batches of [length, heads, width]; keys of fewer heads are shared."""
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    rows, columns = scores.shape[2:]
    at, to = np.arange(rows)[:, None] + (columns - rows), np.arange(columns)[None]
    masked = np.zeros((rows, columns), bool)
    if causal:
        masked |= to > at
    if window is not None:
        masked |= (to < at - window[0]) | (to > at + window[1])
    scores = np.where(masked, -np.inf, scores)
    if used is not None:
        scores = np.where(to[None, None] >= used[:, None, None, None], -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    lse = np.log(e.sum(-1)) + scores.max(-1)
    return np.einsum("bhqk,bkhd->bqhd", e / e.sum(-1, keepdims=True), v), lse


def forward(name, batch, length, keys, heads, kv_heads, width, value_width=None, dtype="bf16", reference=True, which=0,
            **more):
    from flash_attn.cute.interface import _flash_attn_fwd
    value_width = value_width or width
    q, k, v = (given(RNG.normal(size=(batch, n, h, d)), dtype) for n, h, d in
               ((length, heads, width), (keys, kv_heads, width), (keys, kv_heads, value_width)))
    window = (more["window_size_left"], more["window_size_right"]) if "window_size_left" in more else None
    out, lse = attention(values(q), values(k), values(v), more.get("causal", False), window, more.get("softcap", 0.0))
    buffers = {"q": q, "k": k, "v": v,
               "out": wanted(out, dtype, 2e-2, 2e-2) if reference else given(np.zeros(out.shape), dtype),
               "lse": wanted(lse, "f32", 1e-2, 1e-2) if reference else given(np.zeros(lse.shape), "f32")}

    def call(q, k, v, out, lse):
        _flash_attn_fwd(q, k, v, out=out, lse=lse, return_lse=True, _arch=100, **more)
    return case(name, "FlashAttention-4", call, buffers, which)


def flash_forward():
    return forward("flash_forward", 1, 256, 256, 1, 1, 128)


def flash_causal():
    return forward("flash_causal", 1, 256, 256, 2, 2, 128, causal=True)


def flash_gqa_64():
    return forward("flash_gqa_64", 1, 256, 384, 4, 2, 64, dtype="f16")


def flash_window():
    return forward("flash_window", 1, 384, 384, 1, 1, 128, window_size_left=128, window_size_right=0)


def flash_ragged():
    return forward("flash_ragged", 1, 200, 300, 1, 1, 64)


def flash_decode():
    return forward("flash_decode", 2, 1, 512, 8, 1, 128)


def flash_decode_split():
    return forward("flash_decode_split", 1, 1, 1024, 8, 1, 128, num_splits=2, reference=False)


def flash_wide_192():
    return forward("flash_wide_192", 1, 256, 256, 1, 1, 192, 128)


def flash_wide_192_two_tiles():
    """Both tiles by one CTA, as a full machine would."""
    made = forward("flash_wide_192_two_tiles", 2, 256, 256, 1, 1, 192, 128)
    made.grid = (1, 1, 1)
    return made


def flash_96():
    return forward("flash_96", 1, 256, 256, 1, 1, 96)


def flash_hd256():
    return forward("flash_hd256", 1, 256, 256, 1, 1, 256)


def flash_softcap():
    return forward("flash_softcap", 1, 256, 256, 1, 1, 64, softcap=20.0)


def flash_varlen():
    import torch
    from flash_attn.cute.interface import _flash_attn_fwd
    lengths = [200, 130]
    starts = np.cumsum([0, *lengths])
    q, k, v = (given(RNG.normal(size=(330, 1, 64)), "bf16") for _ in range(3))
    out = np.concatenate([attention(*(values(t)[None, a:b] for t in (q, k, v)))[0][0]
                          for a, b in zip(starts, starts[1:])])

    def call(q, k, v, starts, out):
        _flash_attn_fwd(q, k, v, cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=200, max_seqlen_k=200, out=out,
                        _arch=100)
    return case("flash_varlen", "FlashAttention-4", call,
                {"q": q, "k": k, "v": v, "starts": given(starts, "s32"), "out": wanted(out, "bf16", 2e-2, 2e-2)})


def flash_paged():
    from flash_attn.cute.interface import _flash_attn_fwd
    pages, size, batch = 6, 128, 2
    table = np.array([[3, 0, 5], [1, 4, 2]])
    used = np.array([300, 384])
    q = given(RNG.normal(size=(batch, 1, 4, 128)), "bf16")
    k, v = (given(RNG.normal(size=(pages, size, 1, 128)), "bf16") for _ in range(2))
    k_all, v_all = (np.stack([values(t)[row].reshape(-1, 1, 128) for row in table]) for t in (k, v))
    out = attention(values(q), k_all, v_all, used=used)[0]

    def call(q, k, v, table, used, out):
        _flash_attn_fwd(q, k, v, page_table=table, seqused_k=used, out=out, _arch=100)
    return case("flash_paged", "FlashAttention-4", call,
                {"q": q, "k": k, "v": v, "table": given(table, "s32"), "used": given(used, "s32"),
                 "out": wanted(out, "bf16", 2e-2, 2e-2)})


def flash_combine():
    return forward("flash_combine", 1, 1, 1024, 8, 1, 128, num_splits=2, reference=False, which=1)


def flash_mla():
    """Keys of 64 columns and, for the rest of the scores, the values' 512."""
    from flash_attn.cute.interface import _flash_attn_fwd
    q, qv = given(RNG.normal(size=(1, 128, 16, 64)), "bf16"), given(RNG.normal(size=(1, 128, 16, 512)), "bf16")
    k, v = given(RNG.normal(size=(1, 256, 1, 64)), "bf16"), given(RNG.normal(size=(1, 256, 1, 512)), "bf16")

    def call(q, k, v, qv, out):
        _flash_attn_fwd(q, k, v, qv, out=out, _arch=100)
    return case("flash_mla", "FlashAttention-4", call,
                {"q": q, "k": k, "v": v, "qv": qv, "out": given(np.zeros((1, 128, 16, 512)), "bf16")})


def flash_e4m3():
    from flash_attn.cute.interface import _flash_attn_fwd
    q, k, v = (given(RNG.normal(size=(1, 256, 1, 128)), "e4m3") for _ in range(3))
    out, _ = attention(values(q), values(k), values(v))
    return case("flash_e4m3", "FlashAttention-4", lambda q, k, v, out: _flash_attn_fwd(q, k, v, out=out, _arch=100),
                {"q": q, "k": k, "v": v, "out": wanted(out, "bf16", 0.1, 0.05)})


def backward(name, which, causal=False, width=128, length=256):
    from flash_attn.cute.interface import _flash_attn_bwd
    q, k, v, dout = (given(RNG.normal(size=(1, length, 1, width)), "bf16") for _ in range(4))
    out, lse = attention(values(q), values(k), values(v), causal)

    def call(q, k, v, out, dout, lse):
        _flash_attn_bwd(q, k, v, out, dout, lse, causal=causal)
    return case(name, "FlashAttention-4", call,
                {"q": q, "k": k, "v": v, "out": given(out, "bf16"), "dout": dout, "lse": given(lse, "f32")}, which)


def flash_backward_before():
    return backward("flash_backward_before", 0)


def flash_backward():
    return backward("flash_backward", 1)


def flash_backward_causal_64():
    return backward("flash_backward_causal_64", 1, True, 64)


def flash_backward_after():
    return backward("flash_backward_after", 2)


CASES = [flash_forward, flash_causal, flash_gqa_64, flash_window, flash_ragged, flash_decode, flash_decode_split,
         flash_combine, flash_wide_192, flash_wide_192_two_tiles,
         flash_96, flash_hd256, flash_softcap, flash_varlen, flash_paged,
         flash_mla, flash_e4m3, flash_backward_before, flash_backward, flash_backward_causal_64, flash_backward_after]
