"""A kernel of Triton with a mistake that ptxas does not find, and one without."""
import triton
import triton.language as tl


@triton.jit
def doubled(x, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def leaking(x, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.inline_asm_elementwise(
        """{ .shared .align 4 .b32 slot;
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
             mov.b32 $0, $1; }""", "=r,r", [tl.load(x + i, mask=i < n)], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(y + i, v, mask=i < n)


def compile_kernel(kernel):
    """Without a GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(kernel, {"x": "*fp32", "y": "*fp32", "n": "i32", "block": "constexpr"}, {"block": 128})
    return triton.compile(source, target=GPUTarget("cuda", 100, 32))
