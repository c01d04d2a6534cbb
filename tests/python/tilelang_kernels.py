"""A kernel of TileLang with a mistake that ptxas does not find, and one without."""
import tilelang
import tilelang.language as T
from tilelang import tvm

LEAK = """
extern "C" __device__ void leak() {
  asm volatile("{ .shared .align 4 .b32 slot; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; }" ::: "memory");
}
"""


def doubled():
    @T.prim_func
    def doubled_kernel(x: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                x[i] = x[i] * 2.0

    return doubled_kernel


def leaking():
    @T.prim_func
    def leaking_kernel(x: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            T.import_source(LEAK)
            T.call_extern("handle", "leak")
            for i in T.Parallel(32):
                x[i] = x[i] * 2.0

    return leaking_kernel


def compile_kernel(kernel):
    """Without a GPU."""
    with tvm.target.Target({"kind": "cuda", "arch": "sm_100a"}) as target:
        return tilelang.lower(kernel(), target=target, enable_device_compile=True)
