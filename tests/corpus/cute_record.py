"""CuTe DSL kernels of libraries, compiled without a GPU, as cases. The DSL's host code runs over the recorder, which takes
the place of its runtime; only the runtime's own glue comes from the package."""
import os
import pathlib

import nvidia_cutlass_dsl

import recorder

GLUE = next(pathlib.Path(nvidia_cutlass_dsl.__path__[0]).glob("cu1*/lib/libcuda_dialect_runtime_static.a"))
RECORDER = recorder.Recorder([GLUE])
os.environ["CUTE_DSL_LIBS"] = str(RECORDER.path)

import cutlass
import cutlass.cute as cute
import tvm_ffi

import foreign_tensor

TYPES = {"f32": cutlass.Float32, "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "s32": cutlass.Int32,
         "s64": cutlass.Int64, "e4m3": cutlass.Float8E4M3FN, "u8": cutlass.Uint8}


def case(name, producer, compiled, buffers, arguments=None, which=0, grid=True):
    """'arguments' are names of buffers and scalars in the host function's order; left out, all buffers in theirs."""
    memory = recorder.Memory(buffers)
    RECORDER.know(compiled.__ptx__)
    recording = RECORDER.start()
    compiled(*(tvm_ffi.from_dlpack(foreign_tensor.tensor(memory, each)) if isinstance(each, str) else each
               for each in (arguments or list(buffers))))
    return recorder.case(name, producer, RECORDER, recording, memory, which)
