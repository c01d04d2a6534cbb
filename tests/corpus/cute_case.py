"""A CuTe DSL kernel compiled without a GPU, as a case. Tensors have static layouts, so a tensor parameter is a pointer."""
import re

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

from case import Case

TYPES = {"f32": cutlass.Float32, "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "s32": cutlass.Int32}


def row_major(buffer):
    """What stands for the buffer when the host function is compiled."""
    shape = buffer.bits.shape
    return make_fake_compact_tensor(TYPES[buffer.dtype], shape, stride_order=tuple(reversed(range(len(shape)))),
                                    assumed_align=16)


def pointer(name):
    return {"buffer": name}


def case(name, host, tensors, params, buffers, grid, block, **launch):
    """'tensors' name the buffers that the host function takes, 'params' is what the kernel then gets."""
    # The PTX is kept because of CUTE_DSL_KEEP, which the package reads when it is imported.
    compiled = cute.compile(host, *(row_major(buffers[t]) for t in tensors))
    ptx = compiled.__ptx__
    entry = re.search(r"\.entry\s+(\w+)", ptx).group(1)
    return Case(name, "CuTe DSL", ptx, entry, grid, block, params, buffers, **launch)
