"""torch as on a machine with a B200: tensors are the host's and say that they are on a GPU. Import it before a library
that asks."""
import types

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

import foreign_tensor

NAMES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int32: "s32",
         torch.int64: "s64", torch.int8: "s8", torch.uint8: "u8", torch.bool: "bool", torch.float8_e4m3fn: "e4m3",
         torch.float8_e5m2: "e5m2", torch.float8_e8m0fnu: "ue8m0", torch.uint32: "u32", torch.int16: "s16"}
TYPES = {name: type_ for type_, name in NAMES.items()}
PROPERTIES = types.SimpleNamespace(
    name="NVIDIA B200", major=10, minor=0, multi_processor_count=148, total_memory=180 << 30, warp_size=32,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024, regs_per_multiprocessor=65536,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472,
    L2_cache_size=132644864, gcnArchName="", uuid="0", clock_rate=1965000)
GPU = torch.device("cuda", 0)
EMPTY = {}  # tensors that nothing has written, by address


class OnHost(TorchFunctionMode):
    """Allocations for a GPU are made on the host."""

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        args = tuple("cpu" if isinstance(a, torch.device) and a.type == "cuda" or a == "cuda" and isinstance(a, str) else a
                     for a in args)
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            kwargs["device"] = "cpu"
        made = function(*args, **kwargs)
        if getattr(function, "__name__", "").startswith(("empty", "new_empty")) and isinstance(made, torch.Tensor):
            EMPTY[made.data_ptr()] = made
        return made


def pretend():
    torch.cuda.get_device_capability = lambda *_: (10, 0)
    torch.cuda.get_device_properties = lambda *_: PROPERTIES
    torch.cuda.get_device_name = lambda *_: PROPERTIES.name
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda._lazy_init = lambda: None
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.current_stream = lambda *_: types.SimpleNamespace(cuda_stream=0, device=GPU)
    torch.cuda.default_stream = torch.cuda.current_stream
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.cuda.set_device = lambda *_: None
    torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = lambda *_: 0
    torch.Tensor.is_cuda = property(lambda self: True)
    torch.Tensor.device = property(lambda self: GPU)
    torch.Tensor.__dlpack_device__ = lambda self: (foreign_tensor.CUDA, 0)
    torch.Tensor.__dlpack__ = lambda self, **_: handed(self).__dlpack__()
    for shortcut in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"):
        if hasattr(torch.Tensor, shortcut):
            delattr(torch.Tensor, shortcut)


def handed(made):
    """A tensor as another library gets it."""
    return foreign_tensor.Tensor(made, NAMES[made.dtype], tuple(made.shape), tuple(made.stride()), made.data_ptr())


def plain():
    """Tensors say where they are again, for a library that traces over tensors without memory."""
    del torch.Tensor.is_cuda
    del torch.Tensor.device


pretend()


def tensor(array, dtype):
    """A torch tensor over an array of bits."""
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[array.itemsize]
    raw = torch.from_numpy(array.view(f"i{array.itemsize}") if array.itemsize > 1 else array.view("u1"))
    return raw.view(TYPES[dtype]) if TYPES[dtype] != bits else raw


def bits(made):
    """What a tensor's storage holds, as an array of its bytes."""
    storage = made.untyped_storage()
    import ctypes
    return np.ctypeslib.as_array((ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr()))
