#!/usr/bin/env python3
"""How much longer a producer takes to compile three matmuls with its hook of Kiln: docs/adopt.md has the numbers.

    PYTHONPATH=python bench/hooks.py triton|cute|tilelang [ROUNDS]

Rounds without and with the hook alternate, and the least of each counts: this is for busy machines. Once as KILN_HOOKS has it, with
checks while the program goes on, and once as `enable()` has it, with each check before the next kernel. Needs the package, and no GPU.
"""
import contextlib
import importlib
import io
import os
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/corpus"))
os.environ.update(CUTE_DSL_ARCH="sm_100a", CUTE_DSL_DISABLE_FILE_CACHING="1", TILELANG_DISABLE_CACHE="1")
import kiln._checked as checked


def triton():
    """Three blockings of the matmul of the corpus, from Python to a cubin."""
    import triton
    import triton_case
    from triton.compiler import ASTSource
    from triton_matmul import matmul_kernel as kernel

    names = kernel.arg_names
    signature = {"a": "*bf16", "b": "*bf16", "d": "*fp32", "M": "i32", "N": "i32", "K": "i32", **{n: "constexpr" for n in names[6:]}}
    divisible = {(i,): [["tt.divisibility", 16]] for i in range(6)}

    def compile_all():
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TRITON_CACHE_DIR"] = cache
            for blocks in ((128, 128, 64), (64, 64, 64), (128, 256, 32)):
                source = ASTSource(kernel, signature, dict(zip(names[6:], [*blocks, *9 * [1]])), divisible)
                triton.compile(source, target=triton_case.TARGET, options={"num_warps": 4, "num_stages": 3})
            seconds = time.perf_counter() - begun
            wait_for_checks()
        return seconds
    return compile_all


def cute():
    """The three GEMMs of the corpus, without the making of their operands."""
    import cute_gemm
    from cutlass import cute

    spent = []
    compile_one = cute.compile

    def timed(*arguments, **named):
        begun = time.perf_counter()
        try:
            return compile_one(*arguments, **named)
        finally:
            spent.append(time.perf_counter() - begun)

    cute.compile = timed

    def compile_all():
        spent.clear()
        for case in (cute_gemm.cute_gemm_bf16, cute_gemm.cute_gemm_f16, cute_gemm.cute_gemm_narrow):
            case()
        return sum(spent)
    return compile_all


def tilelang():
    """Three blockings of a pipelined matmul for sm_90a."""
    import tilelang
    import tilelang.language as T
    from tilelang import tvm

    def matmul(m, n, k, size=256):
        @T.prim_func
        def main(a: T.Tensor((size, size), "bfloat16"), b: T.Tensor((size, size), "bfloat16"), c: T.Tensor((size, size), "float32")):
            with T.Kernel(size // n, size // m, threads=128) as (x, y):
                a_s, b_s = T.alloc_shared((m, k), "bfloat16"), T.alloc_shared((n, k), "bfloat16")
                c_l = T.alloc_fragment((m, n), "float32")
                T.clear(c_l)
                for step in T.Pipelined(size // k, num_stages=2):
                    T.copy(a[y * m, step * k], a_s)
                    T.copy(b[x * n, step * k], b_s)
                    T.gemm(a_s, b_s, c_l, transpose_B=True)
                T.copy(c_l, c[y * m, x * n])
        return main

    def compile_all():
        begun = time.perf_counter()
        for blocks in ((128, 128, 64), (64, 64, 64), (128, 64, 32)):
            with tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}) as target:
                tilelang.lower(matmul(*blocks), target=target, enable_device_compile=True)
        return time.perf_counter() - begun
    return compile_all


def wait_for_checks():
    for thread in threading.enumerate():
        if thread.name == "kiln":
            thread.join()


def compare(hook, compile_all, rounds):
    """Seconds of each round without the hook and with it."""
    without, with_hook = [], []
    for _ in range(rounds):
        hook.disable()
        without.append(compile_all())
        with contextlib.redirect_stderr(io.StringIO()):
            hook.enable()
            with_hook.append(compile_all())
            wait_for_checks()
    return without, with_hook


def main():
    producers = {"triton": triton, "cute": cute, "tilelang": tilelang}
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in producers:
        sys.exit(__doc__)
    name, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 5
    hook = importlib.import_module(f"kiln.{name}")
    getattr(hook, "prepare", lambda: None)()
    compile_all = producers[name]()
    compile_all()  # imports and the first use of everything
    for mode in ("enable()", "KILN_HOOKS"):
        if mode == "KILN_HOOKS":
            checked.check_in_background()
        without, with_hook = compare(hook, compile_all, rounds)
        print(f"{name}, {mode}: {min(with_hook) / min(without):.2f} times: {min(without):.2f} s without, {min(with_hook):.2f} s with; "
              f"{len(hook.checked)} kernels checked, {sum(not k.report.errors for k in hook.checked)} without errors")


if __name__ == "__main__":
    main()
