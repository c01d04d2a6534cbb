"""A kernel of the CuTe DSL with a mistake that ptxas does not find, and one without."""
import cutlass
import cutlass.cute as cute
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.cutlass_dsl import dsl_user_op


@dsl_user_op
def leak(*, loc=None, ip=None):
    """Allocates and forgets."""
    llvm.inline_asm(None, [], "{ .shared .align 4 .b32 slot; "
                    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; }", "",
                    has_side_effects=True, is_align_stack=False, asm_dialect=llvm.AsmDialect.AD_ATT, loc=loc, ip=ip)


@cute.kernel
def doubled_kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = x[thread] * 2.0


@cute.kernel
def leaking_kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    leak()
    x[thread] = x[thread] * 2.0


@cute.jit
def doubled(x: cute.Tensor):
    doubled_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def leaking(x: cute.Tensor):
    leaking_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def compile_kernel(kernel):
    """Without a GPU."""
    return cute.compile(kernel, make_fake_compact_tensor(cutlass.Float32, (32,)))
