"""A Triton or Gluon kernel compiled without a GPU, as a case. Triton's own compiler passes run up to PTX; ptxas and the
driver are not asked."""
import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import expand_signature
from triton.compiler import ASTSource, make_backend
from triton._C.libtriton import ir
from triton.experimental.gluon._runtime import GluonASTSource

import formats
from case import Case

TARGET = GPUTarget("cuda", 100, 32)
# Triton writes the PTX version of the ptxas that it finds; this one has every instruction that it uses.
PTX_VERSION = 88
TRITON_TYPES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "e4m3": "fp8e4nv", "e5m2": "fp8e5", "ue8m0": "u8",
                "e2m1": "u8", "s32": "i32", "u32": "u32", "s8": "i8", "u8": "u8", "s64": "i64", "f64": "fp64"}
SWIZZLES = ["none", "32B", "64B", "128B"]  # CUtensorMapSwizzle


class Descriptor:
    """A host-made tensor descriptor argument: a matrix of a buffer, read or written in blocks. Gluon gives the layout of
    a block in shared memory; Triton chooses it."""

    def __init__(self, buffer, block, layout=None):
        self.buffer, self.block, self.layout = buffer, block, layout


class Pointer(str):
    """An argument that is a buffer's address."""


def _signature(kernel, arguments, constants, buffers):
    signature = {}
    for name in kernel.arg_names:
        value = arguments.get(name)
        if name in constants:
            signature[name] = "constexpr"
        elif isinstance(value, Pointer):
            signature[name] = "*" + TRITON_TYPES[buffers[value].dtype]
        elif isinstance(value, Descriptor):
            signature[name] = _descriptor_type(value, buffers)
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
    return signature


def _descriptor_type(value, buffers):
    layout = f",{value.layout!r}" if value.layout else ""
    return f"tensordesc<{TRITON_TYPES[buffers[value.buffer].dtype]}{list(value.block)}{layout}>"


def _specializations(kernel, arguments, constants):
    """What the launcher would find: pointers and integers that 16 divides."""
    divisible = {}
    for index, name in enumerate(kernel.arg_names):
        value = arguments.get(name)
        if name not in constants and (isinstance(value, Pointer) or isinstance(value, int) and value % 16 == 0):
            divisible[(index,)] = [["tt.divisibility", 16]]
    return divisible


def compile_to_ptx(source, options):
    """PTX text and metadata: triton.compile's stages, less the assembler."""
    backend = make_backend(TARGET)
    options = backend.parse_options({"ptx_version": PTX_VERSION, **options})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(),
                            context)
    metadata = {**options.__dict__}
    stages = {}
    backend.add_stages(stages, options, source.language)
    for extension in list(stages)[list(stages).index(source.ext):]:
        if extension == "cubin":
            break
        module = stages[extension](module, metadata)
    return module, metadata


def _tensor_map(value, meta, buffer):
    elements = list(reversed(buffer.bits.shape))
    strides = [int(np.prod(elements[: i + 1])) * buffer.bits.itemsize for i in range(len(elements) - 1)]
    return {"buffer": value.buffer, "dims": elements, "strides": strides, "box": list(reversed(meta["block_size"])),
            "swizzle": SWIZZLES[meta["swizzle"]]}


def case(name, kernel, grid, arguments, constants, buffers, gluon=False, **options):
    """'arguments' are Pointers, Descriptors and scalars by parameter name; 'options' are the compiler's."""
    signature = _signature(kernel, arguments, constants, buffers)
    make = GluonASTSource if gluon else ASTSource
    source = make(kernel, signature, constants, _specializations(kernel, arguments, constants))
    ptx, metadata = compile_to_ptx(source, options)
    described = list(metadata.get("tensordesc_meta") or [])
    params, maps = [], {}
    for parameter in kernel.arg_names:
        if parameter in constants:
            continue
        value = arguments[parameter]
        if isinstance(value, Descriptor):
            buffer = buffers[value.buffer]
            maps[parameter] = _tensor_map(value, described.pop(0), buffer)
            shape = buffer.bits.shape
            params.append({"tensor_map": parameter})
            params += [{"s32": int(extent)} for extent in shape]
            params += [{"s64": int(np.prod(shape[i + 1:]))} for i in range(len(shape))]
        elif isinstance(value, Pointer):
            params.append({"buffer": str(value)})
        else:
            params.append({"f32": value} if isinstance(value, float) else {"s32": value})
    ctas = int(metadata["num_ctas"])
    grid = (grid[0] * ctas, *grid[1:])
    buffers = dict(buffers)
    for scratch in ("global_scratch", "profile_scratch"):
        size = metadata.get(scratch + "_size", 0) * int(np.prod(grid))
        if size:
            buffers[scratch] = _scratch(size)
        params.append({"buffer": scratch} if size else {"u64": 0})
    producer = "Gluon" if gluon else "Triton"
    return Case(name, producer, ptx, metadata["name"], grid, metadata["num_warps"] * 32, params, buffers, maps,
                metadata["shared"], (ctas, 1, 1))


def _scratch(size):
    from case import Buffer
    return Buffer("u8", np.zeros(size, np.uint8), poison=True)
