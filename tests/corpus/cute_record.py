"""CuTe DSL kernels of libraries, compiled without a GPU, as cases. The DSL's host code runs over the recorder, which takes
the place of its runtime; only the runtime's own glue comes from the package."""
import os
import pathlib

import numpy as np
import nvidia_cutlass_dsl

import recorder

GLUE = next(pathlib.Path(nvidia_cutlass_dsl.__path__[0]).glob("cu1*/lib/libcuda_dialect_runtime_static.a"))
RECORDER = recorder.Recorder([GLUE])
os.environ["CUTE_DSL_LIBS"] = str(RECORDER.path)

import cutlass
import cutlass.cute as cute
import cutlass.utils
import torch
import tvm_ffi

import foreign_torch
from case import Buffer

TYPES = {"f32": cutlass.Float32, "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "s32": cutlass.Int32,
         "s64": cutlass.Int64, "e4m3": cutlass.Float8E4M3FN, "u8": cutlass.Uint8}
COMPILE = cute.compile
memory = None  # of the case that is being made


def _passed(value):
    """An argument of a compiled function: torch's tensors as tensors of the GPU that is not there."""
    if isinstance(value, torch.Tensor):
        _know(value)
        return tvm_ffi.from_dlpack(foreign_torch.handed(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_passed, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_passed, value))
    return value


def _know(value):
    """A tensor that the library made itself becomes a buffer."""
    if memory is None or value.numel() == 0 or memory.find(value.data_ptr()):
        return
    storage = foreign_torch.bits(value)
    name = f"made{len(memory.arrays)}"
    memory.arrays[name] = storage
    memory.buffers[name] = Buffer("u8", storage.copy(), poison=storage.ctypes.data in foreign_torch.EMPTY)


class Called:
    """A compiled function that takes torch's tensors."""

    def __init__(self, compiled):
        self.compiled = compiled
        RECORDER.know(compiled.__ptx__ or "")

    def __call__(self, *args, **kwargs):
        return self.compiled(*map(_passed, args), **{name: _passed(value) for name, value in kwargs.items()})

    def __getattr__(self, name):
        return getattr(self.compiled, name)


class Compile:
    def __call__(self, *args, **kwargs):
        return Called(COMPILE(*args, **kwargs))

    def __getitem__(self, options):
        inner = COMPILE[options]
        return lambda *args, **kwargs: Called(inner(*args, **kwargs))

    def __getattr__(self, name):
        return getattr(COMPILE, name)


cute.compile = Compile()
cutlass.utils.HardwareInfo.get_max_active_clusters = lambda self, cluster_size, **_: 148 // cluster_size


def case(name, producer, call, buffers, which=0):
    """'call' gets torch's tensors by name and calls the library as on a GPU; its launch number 'which' is the case."""
    global memory
    memory = recorder.Memory(dict(buffers))
    tensors = {each: foreign_torch.tensor(memory.arrays[each], b.dtype) for each, b in buffers.items()}
    recording = RECORDER.start()
    with foreign_torch.OnHost():
        call(**tensors)
    if which:  # what the launches before it would have left
        for buffer in memory.buffers.values():
            if buffer.poison and buffer.expected is None:
                buffer.poison = False
                buffer.bits.view(np.float32)[...] = np.random.default_rng(0).random(buffer.bits.nbytes // 4)
    return recorder.case(name, producer, RECORDER, recording, memory, which)
