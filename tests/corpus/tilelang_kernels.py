"""TileLang kernels: products by tcgen05 and by mma, attention, norms, softmax, quantisation, routing."""
import numpy as np
import tilelang_case
import tilelang
import tilelang.language as T

import formats
from case import given, wanted
from tilelang_case import case

RNG = np.random.default_rng(72)
BF16, F16, F32 = "bfloat16", "float16", "float32"
SHORT = {BF16: "bf16", F16: "f16", F32: "f32", "float8_e4m3fn": "e4m3"}
KEYS = tilelang.PassConfigKey
PLAIN = {KEYS.TL_DISABLE_TMA_LOWER: True, KEYS.TL_DISABLE_WARP_SPECIALIZED: True}


def values(buffer):
    return formats.decode(buffer.bits, buffer.dtype).astype(np.float64)


def normal(dtype, *shape):
    return given(RNG.normal(size=shape), SHORT[dtype])


def product_case(name, function, size, dtype, out, transposed, configs=None):
    m, n, k = size
    a = normal(dtype, m, k)
    b = normal(dtype, n, k) if transposed else normal(dtype, k, n)
    product = values(a) @ (values(b).T if transposed else values(b))
    tolerance = {BF16: 1e-2, F16: 2e-3, F32: 1e-3}[out]
    return case(name, function, {"a": a, "b": b, "c": wanted(product, SHORT[out], tolerance, tolerance)},
                pass_configs=configs)


def tmem_gemm(size, tile, stages, dtype, out, threads=128):
    (M, N, K), (bm, bn, bk) = size, tile

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            a, b = T.alloc_shared((bm, bk), dtype), T.alloc_shared((bn, bk), dtype)
            total, done = T.alloc_tmem([bm, bn], F32), T.alloc_barrier(1)
            mine, tile_out = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), out)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[bx * bn, k * bk], b)
                T.tcgen05_gemm(a, b, total, transpose_B=True, mbar=done, clear_accum=k == 0)
                T.mbarrier_wait_parity(done, k % 2)
            T.copy(total, mine)
            T.copy(mine, tile_out)
            T.copy(tile_out, C[by * bm, bx * bn])
    return main


def tilelang_gemm():
    size = (256, 128, 256)
    return product_case("tilelang_gemm", tmem_gemm(size, (128, 128, 64), 2, BF16, BF16, 256), size, BF16, BF16, True, PLAIN)


def tilelang_gemm_tma():
    size = (128, 256, 256)
    return product_case("tilelang_gemm_tma", tmem_gemm(size, (128, 256, 64), 0, F16, F32), size, F16, F32, True,
                        {KEYS.TL_DISABLE_WARP_SPECIALIZED: True})


def tilelang_gemm_auto():
    """Stages, barriers and roles are the compiler's."""
    size = (256, 128, 256)
    return product_case("tilelang_gemm_auto", tmem_gemm(size, (128, 128, 64), 2, BF16, BF16), size, BF16, BF16, True)


def tilelang_gemm_e4m3():
    size = (128, 128, 256)
    return product_case("tilelang_gemm_e4m3", tmem_gemm(size, (128, 128, 128), 1, "float8_e4m3fn", BF16), size,
                        "float8_e4m3fn", BF16, True, PLAIN)


def roles_gemm(size, tile, stages, dtype, out):
    (M, N, K), (bm, bn, bk) = size, tile
    steps = K // bk

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            a, b = T.alloc_shared((stages, bm, bk), dtype), T.alloc_shared((stages, bk, bn), dtype)
            total = T.alloc_tmem([bm, bn], F32)
            mine, narrow = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), out)
            full, free = T.alloc_barrier([32] * stages), T.alloc_barrier([1] * stages)
            done = T.alloc_barrier([1])
            thread = T.get_thread_binding()
            if thread < 32:
                for k in T.serial(steps):
                    T.mbarrier_wait_parity(free[k % stages], ((k // stages) & 1) ^ 1)
                    T.tma_copy(A[by * bm:(by + 1) * bm, k * bk:(k + 1) * bk], a[k % stages, :, :],
                               barrier=full[k % stages])
                    T.tma_copy(B[k * bk:(k + 1) * bk, bx * bn:(bx + 1) * bn], b[k % stages, :, :],
                               barrier=full[k % stages])
                    T.mbarrier_arrive(full[k % stages])
            elif thread < 64:
                for k in T.serial(steps):
                    T.mbarrier_wait_parity(full[k % stages], (k // stages) & 1)
                    T.tcgen05_gemm(a[k % stages, :, :], b[k % stages, :, :], total, mbar=free[k % stages],
                                   clear_accum=k == 0)
                T.tcgen05_mma_arrive(done)
            T.mbarrier_wait_parity(done, 0)
            T.copy(total, mine)
            T.copy(mine, narrow)
            T.copy(narrow, C[by * bm, bx * bn])
    return main


def tilelang_gemm_roles():
    size = (256, 256, 384)
    return product_case("tilelang_gemm_roles", roles_gemm(size, (128, 128, 64), 3, BF16, BF16), size, BF16, BF16, False)


def tilelang_gemm_pair():
    M, N, K, bm, bn, bk, stages = 256, 256, 256, 128, 256, 64, 3
    steps = K // bk

    @T.prim_func
    def main(A: T.Tensor((M, K), BF16), B: T.Tensor((K, N), BF16), C: T.Tensor((M, N), BF16)):
        with T.Kernel(T.ceildiv(M, bm), T.ceildiv(N, bn), threads=128, cluster_dims=2) as (by, bx):
            a, b = T.alloc_shared((stages, bm, bk), BF16), T.alloc_shared((stages, bk, bn // 2), BF16)
            total = T.alloc_tmem([bm, bn], F32)
            mine, narrow = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), BF16)
            full, free = T.alloc_cluster_barrier([32 * 2] * stages), T.alloc_cluster_barrier([1] * stages)
            done = T.alloc_cluster_barrier([1])
            thread, rank = T.get_thread_binding(), T.block_rank_in_cluster()
            T.assume(rank < 2)
            if thread < 32:
                for k in T.serial(steps):
                    T.mbarrier_wait_parity(free[k % stages], ((k // stages) & 1) ^ 1)
                    T.tma_copy(A[by * bm:(by + 1) * bm, k * bk:(k + 1) * bk], a[k % stages, :, :],
                               barrier=full[k % stages])
                    T.tma_copy(B[k * bk:(k + 1) * bk, (bx * 2 + rank) * (bn // 2):(bx * 2 + rank + 1) * (bn // 2)],
                               b[k % stages, :, :], barrier=full[k % stages])
                    T.mbarrier_arrive(full[k % stages], 0)
            elif rank == 0 and thread < 64:
                for k in T.serial(steps):
                    T.mbarrier_wait_parity(full[k % stages], (k // stages) & 1)
                    T.tcgen05_gemm(a[k % stages, :, :], b[k % stages, :, :], total, mbar=free[k % stages],
                                   clear_accum=k == 0, use_2cta=True)
                T.tcgen05_mma_arrive(done, arrive_2cta=True)
            T.mbarrier_wait_parity(done, 0)
            T.copy(total, mine)
            T.copy(mine, narrow)
            T.copy(narrow, C[by * bm, bx * bn])
    return product_case("tilelang_gemm_pair", main, (M, N, K), BF16, BF16, False)


def tilelang_gemm_mma():
    M, N, K = 128, 128, 192

    @T.prim_func
    def main(A: T.Tensor((M, K), F16), B: T.Tensor((N, K), F16), C: T.Tensor((M, N), F32)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
            a, b = T.alloc_shared((64, 32), F16), T.alloc_shared((64, 32), F16)
            total = T.alloc_fragment((64, 64), F32)
            T.clear(total)
            for k in T.Pipelined(K // 32, num_stages=3):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[bx * 64, k * 32], b)
                T.gemm(a, b, total, transpose_B=True)
            T.copy(total, C[by * 64, bx * 64])
    return product_case("tilelang_gemm_mma", main, (M, N, K), F16, F32, True)


def attention_of(q, k, v, causal=False):
    scores = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        scores = np.where(np.arange(k.shape[0])[None] > np.arange(q.shape[0])[:, None], -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def flash(name, causal, length=128, width=64, bm=64, bn=64):
    scale = 1.44269504 / width ** 0.5

    @T.prim_func
    def main(Q: T.Tensor((length, width), F16), K: T.Tensor((length, width), F16), V: T.Tensor((length, width), F16),
             O: T.Tensor((length, width), F16)):
        with T.Kernel(T.ceildiv(length, bm), threads=128) as bx:
            q, k, v = T.alloc_shared((bm, width), F16), T.alloc_shared((bn, width), F16), T.alloc_shared((bn, width), F16)
            s, p, o = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), F16), T.alloc_fragment((bm, width), F32)
            best, before, factor, part, total = (T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32),
                                                 T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32),
                                                 T.alloc_fragment((bm,), F32))
            T.copy(Q[bx * bm, 0], q)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(best, -T.infinity(F32))
            for step in T.Pipelined(T.ceildiv((bx + 1) * bm, bn) if causal else length // bn, num_stages=2):
                T.copy(K[step * bn, 0], k)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        s[i, j] = T.if_then_else(bx * bm + i >= step * bn + j, 0, -T.infinity(F32))
                else:
                    T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(best, before)
                T.reduce_max(s, best, dim=1, clear=False)
                for i in T.Parallel(bm):
                    factor[i] = T.exp2(before[i] * scale - best[i] * scale)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2(s[i, j] * scale - best[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(bm, width):
                    o[i, j] *= factor[i]
                T.copy(V[step * bn, 0], v)
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, width):
                o[i, j] /= total[i]
            T.copy(o, O[bx * bm, 0])
    q, k, v = (normal(F16, length, width) for _ in range(3))
    out = attention_of(values(q), values(k), values(v), causal)
    return case(name, main, {"q": q, "k": k, "v": v, "o": wanted(out, "f16", 1e-2, 1e-2)})


def tilelang_flash():
    return flash("tilelang_flash", False, 256)


def tilelang_flash_causal():
    return flash("tilelang_flash_causal", True)


def tilelang_rms_norm():
    rows, columns = 8, 1024

    @T.prim_func
    def main(X: T.Tensor((rows, columns), BF16), W: T.Tensor((columns,), F32), Y: T.Tensor((rows, columns), BF16)):
        with T.Kernel(rows // 2, threads=128) as bx:
            x, square = T.alloc_fragment((2, columns), F32), T.alloc_fragment((2, columns), F32)
            total = T.alloc_fragment((2,), F32)
            T.copy(X[bx * 2, 0], x)
            for i, j in T.Parallel(2, columns):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(2):
                total[i] = T.rsqrt(total[i] / columns + 1e-5)
            for i, j in T.Parallel(2, columns):
                Y[bx * 2 + i, j] = x[i, j] * total[i] * W[j]
    x, w = normal(BF16, rows, columns), normal(F32, columns)
    v = values(x)
    y = v / np.sqrt((v ** 2).mean(-1, keepdims=True) + 1e-5) * values(w)
    return case("tilelang_rms_norm", main, {"x": x, "w": w, "y": wanted(y, "bf16", 2e-2, 2e-2)})


def tilelang_softmax():
    rows, columns, block = 4, 2048, 512

    @T.prim_func
    def main(X: T.Tensor((rows, columns), F16), Y: T.Tensor((rows, columns), F16)):
        with T.Kernel(rows, threads=128) as bx:
            x = T.alloc_fragment((1, block), F32)
            e = T.alloc_fragment((1, block), F32)
            best, total, part, before = (T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32),
                                         T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32))
            T.fill(best, -T.infinity(F32))
            T.fill(total, 0)
            for step in T.serial(columns // block):
                T.copy(X[bx, step * block], x)
                T.copy(best, before)
                T.reduce_max(x, best, dim=1, clear=False)
                for i, j in T.Parallel(1, block):
                    e[i, j] = T.exp(x[i, j] - best[i])
                T.reduce_sum(e, part, dim=1)
                total[0] = total[0] * T.exp(before[0] - best[0]) + part[0]
            for step in T.serial(columns // block):
                T.copy(X[bx, step * block], x)
                for i, j in T.Parallel(1, block):
                    Y[bx + i, step * block + j] = T.exp(x[i, j] - best[i]) / total[i]
    x = normal(F16, rows, columns)
    e = np.exp(values(x) - values(x).max(-1, keepdims=True))
    return case("tilelang_softmax", main, {"x": x, "y": wanted(e / e.sum(-1, keepdims=True), "f16", 2e-2, 1e-5)})


def tilelang_quantise():
    """Rows of e4m3 with a scale for each 128 columns."""
    rows, columns, group = 16, 512, 128

    @T.prim_func
    def main(X: T.Tensor((rows, columns), BF16), Y: T.Tensor((rows, columns), "float8_e4m3fn"),
             S: T.Tensor((rows, columns // group), F32)):
        with T.Kernel(rows // 8, columns // group, threads=128) as (bx, by):
            x, top = T.alloc_fragment((8, group), F32), T.alloc_fragment((8,), F32)
            T.copy(X[bx * 8, by * group], x)
            T.reduce_absmax(x, top, dim=1)
            for i in T.Parallel(8):
                top[i] = T.max(top[i], 1e-4) / 448.0
                S[bx * 8 + i, by] = top[i]
            for i, j in T.Parallel(8, group):
                Y[bx * 8 + i, by * group + j] = T.clamp(x[i, j] / top[i], -448.0, 448.0)
    x = normal(BF16, rows, columns)
    blocks = values(x).reshape(rows, -1, group)
    scale = np.maximum(np.abs(blocks).max(-1), 1e-4) / 448
    y = formats.decode(formats.encode((blocks / scale[..., None]).reshape(rows, columns), "e4m3"), "e4m3")
    return case("tilelang_quantise", main, {"x": x, "y": wanted(y, "e4m3", 0.13, 0.01), "s": wanted(scale, "f32", 1e-5)})


def tilelang_gate():
    """The two best experts of each token."""
    tokens, experts, best = 64, 32, 2

    @T.prim_func
    def main(X: T.Tensor((tokens, experts), F32), V: T.Tensor((tokens, best), F32), I: T.Tensor((tokens, best), "int32")):
        with T.Kernel(tokens // 32, threads=128) as bx:
            x, top = T.alloc_fragment((32, experts), F32), T.alloc_fragment((32,), F32)
            index, at = T.alloc_fragment((32, experts), "int32"), T.alloc_fragment((32,), "int32")
            T.copy(X[bx * 32, 0], x)
            for k in T.serial(best):
                T.fill(index, -1)
                T.reduce_max(x, top, dim=1, clear=True)
                for i, j in T.Parallel(32, experts):
                    index[i, j] = T.if_then_else(top[i] == x[i, j], j, index[i, j])
                T.reduce_max(index, at, dim=1, clear=True)
                for i, j in T.Parallel(32, experts):
                    x[i, j] = T.if_then_else(top[i] == x[i, j], -10000.0, x[i, j])
                for i in T.Parallel(32):
                    V[bx * 32 + i, k] = top[i]
                    I[bx * 32 + i, k] = at[i]
    x = normal(F32, tokens, experts)
    order = np.argsort(-values(x), -1)[:, :best]
    return case("tilelang_gate", main, {"x": x, "v": wanted(np.take_along_axis(values(x), order, -1), "f32", 1e-6),
                                        "i": wanted(order, "s32")})


def tilelang_gemv():
    n, k = 64, 1024

    @T.prim_func
    def main(A: T.Tensor((k,), F16), B: T.Tensor((n, k), F16), C: T.Tensor((n,), F32)):
        with T.Kernel(n // 4, threads=(32, 4)) as bx:
            lane, row = T.get_thread_binding(0), T.get_thread_binding(1)
            a, b = T.alloc_local((8,), F16), T.alloc_local((8,), F16)
            part, total = T.alloc_local((1,), F32), T.alloc_local((1,), F32)
            T.clear(part)
            for step in T.serial(k // 256):
                for j in T.vectorized(8):
                    a[j] = A[step * 256 + lane * 8 + j]
                    b[j] = B[bx * 4 + row, step * 256 + lane * 8 + j]
                for j in T.serial(8):
                    part[0] += a[j].astype(F32) * b[j].astype(F32)
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.cast(0, F32)]), "reduce_scope",
                        T.reinterpret(T.uint64(0), dtype="handle")):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), part[0], True, total[0], lane, dtype="handle"))
            if lane == 0:
                C[bx * 4 + row] = total[0]
    a, b = normal(F16, k), normal(F16, n, k)
    return case("tilelang_gemv", main, {"a": a, "b": b, "c": wanted(values(b) @ values(a), "f32", 1e-3, 1e-3)})


def tilelang_decode_split():
    """One query over keys that several CTAs share; a second kernel would combine."""
    heads, length, width, parts = 16, 256, 64, 2

    @T.prim_func
    def main(Q: T.Tensor((heads, width), F16), K: T.Tensor((length, width), F16), V: T.Tensor((length, width), F16),
             O: T.Tensor((parts, heads, width), F32), L: T.Tensor((parts, heads), F32)):
        with T.Kernel(parts, threads=128) as bx:
            q, k = T.alloc_shared((heads, width), F16), T.alloc_shared((length // parts, width), F16)
            s, p = T.alloc_fragment((heads, length // parts), F32), T.alloc_shared((heads, length // parts), F16)
            o = T.alloc_fragment((heads, width), F32)
            best, total = T.alloc_fragment((heads,), F32), T.alloc_fragment((heads,), F32)
            T.copy(Q, q)
            T.copy(K[bx * (length // parts), 0], k)
            T.clear(s)
            T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            T.reduce_max(s, best, dim=1)
            for i, j in T.Parallel(heads, length // parts):
                s[i, j] = T.exp((s[i, j] - best[i]) * 0.125)
            T.reduce_sum(s, total, dim=1)
            T.copy(s, p)
            T.copy(V[bx * (length // parts), 0], k)
            T.clear(o)
            T.gemm(p, k, o, policy=T.GemmWarpPolicy.FullCol)
            for i, j in T.Parallel(heads, width):
                o[i, j] /= total[i]
            T.copy(o, O[bx, 0, 0])
            for i in T.Parallel(heads):
                L[bx, i] = T.log(total[i]) + best[i] * 0.125
    q, k, v = normal(F16, heads, width), normal(F16, length, width), normal(F16, length, width)
    half = length // parts
    out = np.stack([attention_of(values(q), values(k)[i * half:][:half], values(v)[i * half:][:half]) for i in range(parts)])
    scores = np.stack([values(q) @ values(k)[i * half:][:half].T / 8 for i in range(parts)])
    lse = np.log(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1)) + scores.max(-1)
    return case("tilelang_decode_split", main, {"q": q, "k": k, "v": v, "o": wanted(out, "f32", 1e-2, 1e-2),
                                                "l": wanted(lse, "f32", 1e-2, 1e-2)})


def wrong(make, what):
    """A kernel whose PTX is wrong: TileLang 0.1.15 makes it so, or our use of its interface."""
    def case_():
        made = make()
        made.wrong = what
        return made
    case_.__name__ = make.__name__
    return case_


LAPPED = "one lane of the producer's warps goes on, so another warp's wait can miss a phase and never end"
BEHIND = "a stage is filled while the product that reads it runs: the wait comes after the copy"
CASES = [wrong(tilelang_gemm, BEHIND), tilelang_gemm_tma,
         wrong(tilelang_gemm_auto, "stages are freed before the product is done; dealloc has no barrier"),
         wrong(tilelang_gemm_e4m3, BEHIND),
         wrong(tilelang_gemm_roles, "warp 0 frees tensor memory that other warps still read"), tilelang_gemm_pair,
         wrong(tilelang_gemm_mma, LAPPED), wrong(tilelang_flash, LAPPED), tilelang_flash_causal, tilelang_rms_norm,
         tilelang_softmax, tilelang_quantise, tilelang_gate, tilelang_gemv, tilelang_decode_split]
