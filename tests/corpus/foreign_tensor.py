"""Arrays of the host that say they are on a GPU, as DLPack hands tensors from one library to another."""
import ctypes

import numpy as np

CUDA = 2  # kDLCUDA
# DLDataTypeCode and bits
CODES = {"f32": (2, 32), "f64": (2, 64), "f16": (2, 16), "bf16": (4, 16), "e4m3": (10, 8), "e5m2": (12, 8),
         "ue8m0": (14, 8), "s32": (0, 32), "s64": (0, 64), "s8": (0, 8), "s16": (0, 16), "u8": (1, 8), "u32": (1, 32),
         "u64": (1, 64), "bool": (6, 8)}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_KEPT = []
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """Has __dlpack__; 'array' holds the bits, 'dtype' is a storage type as contracts name them."""

    def __init__(self, array, dtype, shape=None, strides=None, address=None):
        self.array, self.dtype = array, dtype
        self.shape = tuple(shape if shape is not None else array.shape)
        self.strides = tuple(strides if strides is not None
                             else (int(np.prod(self.shape[i + 1:])) for i in range(len(self.shape))))
        self.address = address if address is not None else array.ctypes.data

    def __dlpack_device__(self):
        return CUDA, 0

    def __dlpack__(self, **_):
        rank = len(self.shape)
        shape, strides = (ctypes.c_int64 * max(rank, 1))(*self.shape), (ctypes.c_int64 * max(rank, 1))(*self.strides)
        code, bits = CODES[self.dtype]
        managed = _Managed(_Tensor(self.address, CUDA, 0, rank, code, bits, 1, shape, strides, 0), None, None)
        _KEPT.append((managed, shape, strides, self.array))
        return _new(ctypes.addressof(managed), b"dltensor", None)


def tensor(memory, name, **more):
    return Tensor(memory.arrays[name], memory.buffers[name].dtype, **more)
