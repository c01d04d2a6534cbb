"""CUTLASS C++ kernels, compiled by nvcc from our own instantiation and the headers that PyPI's nvidia-cutlass carries."""
import json
import pathlib
import re
import shutil
import subprocess

import cutlass_library
import numpy as np

import formats
from case import Case, given, wanted

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "cutlass_gemm.cu"
BUILD = HERE.parents[1] / "build" / "corpus" / "cutlass"
HEADERS = pathlib.Path(cutlass_library.__file__).parent / "source"
CPP = {"bf16": "cutlass::bfloat16_t", "f16": "cutlass::half_t", "f32": "float", "e4m3": "cutlass::float_e4m3_t"}
ADDRESSES = {0xA00000000: "a", 0xB00000000: "b", 0xD00000000: "d"}  # as the program has them
SWIZZLES = ["none", "32B", "64B", "128B"]  # CUtensorMapSwizzle


def build(name, definitions):
    """The folder with the program and its PTX; compiled once."""
    folder = BUILD / name
    program = folder / "launch"
    if program.exists() and program.stat().st_mtime > SOURCE.stat().st_mtime:
        return folder
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([nvcc, "-std=c++17", "-w", "-O2", "--expt-relaxed-constexpr", "-I", HEADERS / "include", "-I",
                    HEADERS / "tools/util/include", "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1",
                    *(f"-D{key}={value}" for key, value in definitions.items()), "-gencode",
                    "arch=compute_100a,code=compute_100a", "--keep", "--keep-dir", folder, "-o", program, SOURCE],
                   check=True, capture_output=True, text=True)
    return folder


def parameters(blob, maps):
    """The kernel's one parameter: its bytes, with tensor maps and addresses where the program marked them."""
    fields, at = [], 0
    while at < len(blob):
        name = re.match(rb"TENSOR_MAP_(\d+)", blob[at:at + 32])
        address = int.from_bytes(blob[at:at + 8], "little")
        if name and int(name[1]) in maps:
            fields.append({"at": at, "tensor_map": f"map{int(name[1])}"})
            at += 128
        elif address in ADDRESSES:
            fields.append({"at": at, "buffer": ADDRESSES[address]})
            at += 8
        else:
            fields.append({"at": at, "hex": blob[at:at + 8].hex()})
            at += 8
    return {"struct": fields, "size": len(blob)}


def gemm(name, element, out, size, tile, cluster=1):
    m, n, k = size
    folder = build(name, {"ELEMENT": CPP[element], "OUT": CPP[out], "TILE_M": tile[0], "TILE_N": tile[1],
                          "CLUSTER_M": cluster})
    lines = subprocess.run([folder / "launch", *map(str, size)], check=True, capture_output=True, text=True).stdout
    *maps, launch = map(json.loads, lines.splitlines())
    maps = {each["map"]: each for each in maps}
    rng = np.random.default_rng(60)
    a, b = given(rng.normal(size=(m, k)), element), given(rng.normal(size=(n, k)), element)
    product = formats.decode(a.bits, element).astype(np.float64) @ formats.decode(b.bits, element).astype(np.float64).T
    tolerance = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[out]
    ptx = next(folder.glob("*.ptx")).read_text()
    tensor_maps = {f"map{i}": {"buffer": ADDRESSES[each["address"]], "dims": each["dims"], "strides": each["strides"],
                               "box": each["box"], "swizzle": SWIZZLES[each["swizzle"]]} for i, each in maps.items()}
    return Case(name, "CUTLASS C++", ptx, re.search(r"\.entry\s+(\w+)", ptx)[1], launch["grid"], launch["block"],
                [parameters(bytes.fromhex(launch["params"]), maps)],
                {"a": a, "b": b, "d": wanted(product, out, tolerance, tolerance)}, tensor_maps, launch["shared"],
                (cluster, 1, 1))


def cutlass_bf16():
    return gemm("cutlass_bf16", "bf16", "bf16", (256, 128, 256), (128, 128))


def cutlass_e4m3():
    return gemm("cutlass_e4m3", "e4m3", "f16", (128, 256, 256), (128, 128))


def cutlass_f16_pair():
    return gemm("cutlass_f16_pair", "f16", "f32", (256, 256, 256), (256, 128), 2)


CASES = [cutlass_bf16, cutlass_e4m3, cutlass_f16_pair]
