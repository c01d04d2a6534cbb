"""Kernels of Kiln's on this machine's GPU among PyTorch's: buffers, launches, and times by turns. For bench alone."""
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile

import torch

cuda = ctypes.CDLL("libcuda.so.1")
TYPES = {"e4m3": 0, "u32": 2, "f32": 7, "bf16": 9}  # of CUtensorMapDataType
AS_IT_IS = {"u32": torch.int32, "u8": torch.uint8, "f32": torch.float32}
SWIZZLE = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
L2_256B = 3
WARM_UP = 5


def must(code, what):
    if code:
        sys.exit(f"{sys.argv[0]}: error: {what}: CUDA error {code}")


def array(kind, values):
    return (kind * len(values))(*values)


def encoded(m, buffers):
    """A tensor map of the contract, 128 bytes at a multiple of 64."""
    raw = (ctypes.c_char * 256)()
    at = (ctypes.addressof(raw) + 63) // 64 * 64
    must(cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), TYPES[m["dtype"]], len(m["dims"]), ctypes.c_void_p(buffers[m["buffer"]].data_ptr()),
        array(ctypes.c_uint64, m["dims"]), array(ctypes.c_uint64, m["strides"]), array(ctypes.c_uint32, m["box"]),
        array(ctypes.c_uint32, m["element_strides"]), 0, SWIZZLE[m["swizzle"]], L2_256B, 0), "cuTensorMapEncodeTiled")
    return raw, at


def filled(b):
    """A buffer of the contract: its values, bf16 and e4m3 at random, f32 in the range that it says, else zeros."""
    init = b["init"] if isinstance(b["init"], dict) else {}
    if "values" in init:
        return torch.tensor(init["values"], dtype=AS_IT_IS[b["dtype"]], device="cuda").reshape(b["shape"])
    if b["dtype"] == "bf16":
        return torch.randn(b["shape"], device="cuda", dtype=torch.bfloat16)
    if b["dtype"] == "e4m3":
        return torch.randn(b["shape"], device="cuda", dtype=torch.bfloat16).to(torch.float8_e4m3fn)
    if "uniform" in init:
        low, high = init["uniform"]
        return torch.rand(b["shape"], device="cuda") * (high - low) + low
    return torch.zeros(b["shape"], dtype=AS_IT_IS[b["dtype"]], device="cuda")


def emitted(kiln, kernel, sizes):
    """A kernel's contract, and its cubin."""
    emit = [kiln, "emit", kernel] + [word for name, value in sizes.items() for word in (f"--{name}", value)]
    contract = json.loads(subprocess.run([*emit, "--format", "json"], check=True, capture_output=True).stdout)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        subprocess.run([*emit, "--format", "cubin", "-o", file.name], check=True)
        return contract, open(file.name, "rb").read()


class Launch:
    """A kernel with its parameters over buffers that are there."""

    def __init__(self, cubin, contract, buffers):
        self.kept, addresses = [], []
        for p in contract["params"]:
            (kind, value), = p.items()
            if kind == "tensor_map":
                raw, at = encoded(contract["tensor_maps"][value], buffers)
            else:
                raw = ctypes.c_void_p(buffers[value].data_ptr()) if kind == "buffer" else ctypes.c_uint32(value)
                at = ctypes.addressof(raw)
            self.kept.append(raw)
            addresses.append(at)
        self.params = array(ctypes.c_void_p, addresses)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        must(cuda.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
        entry = contract["entry"]
        must(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, entry.encode()), entry)
        self.bytes = contract["dynamic_smem"]
        must(cuda.cuFuncSetAttribute(self.function, 8, self.bytes), "dynamic shared memory")
        self.grid, self.block = contract["grid"], contract["block"]

    def __call__(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        must(cuda.cuLaunchKernel(self.function, *self.grid, *self.block, self.bytes, stream, self.params, None),
             "launch")


def medians(ways, rounds, before=lambda: None):
    """Milliseconds of each, by turns; before each `before` is called."""
    times = {name: [] for name in ways}
    for turn in range(rounds + WARM_UP):
        for name, run in ways.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before()
            torch.cuda._sleep(2_000_000)  # a millisecond, in which the host is done with what follows
            begin.record()
            run()
            end.record()
            end.synchronize()
            if turn >= WARM_UP:
                times[name].append(begin.elapsed_time(end))
    return {name: statistics.median(t) for name, t in times.items()}
