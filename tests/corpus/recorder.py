"""Launches of foreign host code, recorded without a GPU. The code runs over a CUDA driver and runtime of our own
(device/), whose memory is the host's: what it passes to a launch becomes a case's contract."""
import ctypes
import pathlib
import re
import struct
import subprocess
from dataclasses import dataclass, field

import numpy as np

from case import Case

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "corpus" / "recorder"
CUDA = pathlib.Path("/usr/local/cuda")
SWIZZLES = ["none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B", "128B_atom_64B"]  # CUtensorMapSwizzle
# CUtensorMapDataType, where it is not the buffer's
MAP_TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32", "tf32", "tf32", "e2m1", "e2m1",
             "e2m3"]
SCALAR_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass
class Launch:
    image: int
    kernel: str
    grid: tuple
    block: tuple
    cluster: tuple
    shared: int
    values: list  # the parameters' bytes
    dependent: bool


@dataclass
class Map:
    rank: int
    type: int | None  # left open by a map that the driver did not write
    address: int
    dims: list
    strides: list
    box: list
    steps: list
    interleave: int
    swizzle: int
    fill: int


@dataclass
class Recording:
    launches: list = field(default_factory=list)
    maps: list = field(default_factory=list)
    images: list = field(default_factory=list)


def parameter_sizes(ptx, kernel):
    """Bytes of each parameter of an entry."""
    entry = re.search(r"\.entry\s+" + re.escape(kernel) + r"\s*\(([^)]*)\)", ptx)
    sizes = []
    for line in (entry[1].split(",\n") if entry else []):
        found = re.search(r"\.param\s+((?:\.\w+\s+(?:\d+\s+)?)*)\s*([\w$]+)(?:\[(\d+)\])?", line)
        if found:
            scalar = re.search(r"\.[busf](8|16|32|64)\b", found[1])
            sizes.append(int(found[3] or 1) * SCALAR_BYTES[scalar[1]])
    return sizes


LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_uint,
                          ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)
MAP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                       ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint32),
                       ctypes.POINTER(ctypes.c_uint32), ctypes.c_int, ctypes.c_int, ctypes.c_int)
IMAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Recorder:
    """The driver and runtime, loaded under the names that other libraries ask for."""

    def __init__(self, archives=()):
        BUILD.mkdir(parents=True, exist_ok=True)
        self.path = BUILD / "libcuda.so.1"
        whole = ["-Wl,--whole-archive", *map(str, archives), "-Wl,--no-whole-archive"] if archives else []
        subprocess.run(["cc", "-O1", "-w", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", f"-I{CUDA}/include", "-o",
                        self.path, *sorted((HERE / "device").glob("*.c")), *whole, "-ldl"], check=True)
        self.library = ctypes.CDLL(str(self.path), mode=ctypes.RTLD_GLOBAL)
        self.hooks = (LAUNCH(self._launched), MAP(self._mapped), IMAGE(self._loaded))
        self.library.recorder_set_hooks(*self.hooks)
        self.recording = Recording()
        self.ptx = {}  # text by kernel

    def know(self, ptx):
        """Kernels that may be launched."""
        for kernel in re.findall(r"\.entry\s+([\w$]+)", ptx):
            self.ptx[kernel] = ptx

    def start(self):
        self.recording = Recording()
        return self.recording

    def _launched(self, image, kernel, extents, shared, values, dependent):
        kernel = kernel.decode()
        e = [extents[i] for i in range(9)]
        sizes = parameter_sizes(self.ptx.get(kernel, ""), kernel)
        read = [ctypes.string_at(values[i], size) for i, size in enumerate(sizes)]
        self.recording.launches.append(Launch(image or 0, kernel, tuple(e[:3]), tuple(e[3:6]), tuple(e[6:]), shared, read,
                                              bool(dependent)))

    def _mapped(self, at, type_, rank, address, dims, strides, box, steps, interleave, swizzle, fill):
        marker = f"TENSOR_MAP_{len(self.recording.maps)}".encode() + b"\0"
        ctypes.memmove(at, marker, len(marker))
        self.recording.maps.append(Map(rank, type_, address, dims[:rank], strides[:rank - 1], box[:rank], steps[:rank],
                                       interleave, swizzle, fill))

    def _loaded(self, image):
        head = ctypes.string_at(image, 4)
        if head != b"\x7fELF":
            try:
                text = ctypes.string_at(image).decode()
            except UnicodeDecodeError:
                return
            self.know(text)
        self.recording.images.append(image)


class Memory:
    """Buffers of a case where foreign host code sees them: arrays at their addresses."""

    def __init__(self, buffers):
        self.buffers = buffers
        self.arrays = {}
        for name, buffer in buffers.items():
            raw = np.zeros(buffer.bits.nbytes + 1024, np.uint8)
            skip = -raw.ctypes.data % 1024
            view = raw[skip:skip + buffer.bits.nbytes].view(buffer.bits.dtype).reshape(buffer.bits.shape)
            view[...] = buffer.bits
            self.arrays[name] = view

    def address(self, name):
        return self.arrays[name].ctypes.data

    def find(self, address):
        for name, array in self.arrays.items():
            if array.ctypes.data <= address < array.ctypes.data + max(1, array.nbytes):
                return name, address - array.ctypes.data
        return None


def raw_map(value, memory):
    """A map that host code wrote itself, without the driver (the CuTe DSL): what the words of the 128 bytes hold, found by
    comparing maps; None if it is no tiled map of a buffer."""
    if len(value) != 128 or not memory.find(struct.unpack_from("<Q", value)[0]):
        return None
    kind = struct.unpack_from("<I", value, 8)[0]
    rank = (kind >> 4 & 7) + 1
    if kind & 15 != 2 or rank > 5:
        return None
    high = struct.unpack_from("<I", value, 28)[0]  # of strides: four bits each
    strides = [(stride | (high >> 4 * i & 15) << 32) * 16 for i, stride in enumerate(struct.unpack_from("<4I", value, 12))]
    dims = [extent + 1 for extent in struct.unpack_from("<5I", value, 32)]
    steps = struct.unpack_from("<I", value, 52)[0]
    box = [extent + 1 for extent in value[55:60]]
    return Map(rank, None, struct.unpack_from("<Q", value)[0], dims[:rank], strides[:rank - 1], box[:rank],
               [(steps >> 3 * i & 7) + 1 for i in range(rank)], 0, kind >> 13 & 3, 0)


def parameter(value, recording, memory, used):
    """A parameter of a contract from its bytes."""
    fields, at = [], 0
    raw = raw_map(value, memory)
    if raw:
        recording.maps.append(raw)
        used.add(len(recording.maps) - 1)
        return {"tensor_map": f"map{len(recording.maps) - 1}"}
    while at < len(value):
        marker = re.match(rb"TENSOR_MAP_(\d+)\0", value[at:at + 32])
        place = memory.find(struct.unpack_from("<Q", value, at)[0]) if at % 8 == 0 and len(value) - at >= 8 else None
        if marker:
            used.add(int(marker[1]))
            fields.append(({"tensor_map": f"map{int(marker[1])}"}, at, 128))
            at += 128
        elif place:
            fields.append(({"buffer": place[0], **({"offset": place[1]} if place[1] else {})}, at, 8))
            at += 8
        else:
            size = min(8, len(value) - at)
            if fields and "hex" in fields[-1][0] and fields[-1][1] + fields[-1][2] == at:
                text, begin, length = fields.pop()
                fields.append(({"hex": text["hex"] + value[at:at + size].hex()}, begin, length + size))
            else:
                fields.append(({"hex": value[at:at + size].hex()}, at, size))
            at += size
    if len(fields) == 1:
        return fields[0][0]
    return {"struct": [{"at": begin, **text} for text, begin, _ in fields], "size": len(value)}


def tensor_map(map_, memory):
    name, offset = memory.find(map_.address)
    text = {"buffer": name, "dims": map_.dims, "strides": map_.strides, "box": map_.box,
            "swizzle": SWIZZLES[map_.swizzle]}
    if any(step != 1 for step in map_.steps):
        text["element_strides"] = map_.steps
    if offset:
        text["offset"] = offset
    if map_.fill:
        text["oob"] = "nan"
    buffers = memory.buffers[name].dtype
    dtype = buffers if map_.type is None else MAP_TYPES[map_.type]
    if dtype != buffers and not (dtype == "u8" and buffers in ("e4m3", "e5m2", "ue8m0", "ue4m3", "s8")):
        text["dtype"] = dtype
    return text


def case(name, producer, recorder, recording, memory, which=0):
    """The case of a recorded launch."""
    launch = recording.launches[which]
    used = set()
    params = [parameter(value, recording, memory, used) for value in launch.values]
    maps = {f"map{i}": tensor_map(recording.maps[i], memory) for i in sorted(used)}
    return Case(name, producer, recorder.ptx[launch.kernel], launch.kernel, launch.grid, launch.block, params,
                memory.buffers, maps, launch.shared, launch.cluster)
