"""A TileLang kernel compiled without a GPU, as a case. Its compiler writes CUDA C++, which nvcc makes PTX; its host code
fills the parameters over the recorder."""
import os
import re
import subprocess

os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
import recorder  # before TileLang, which looks for a driver

RECORDER = recorder.Recorder()
import tilelang
import tvm_ffi
from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH

import foreign_tensor

TARGET = {"kind": "cuda", "arch": "sm_100a"}


@tvm_ffi.register_global_func("tilelang_callback_cuda_compile", override=True)
def to_ptx(code, target, pass_config=None):
    """In place of the function that makes a cubin."""
    folder = recorder.BUILD.parent / "tilelang"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"kernel{len(list(folder.glob('*.cu')))}"
    source, out = folder / f"{name}.cu", folder / f"{name}.ptx"
    source.write_text(code)
    subprocess.run([recorder.CUDA / "bin" / "nvcc", "-w", "-std=c++20", f"-I{TILELANG_TEMPLATE_PATH}",
                    f"-I{CUTLASS_INCLUDE_DIR}", "-arch=sm_100a", "-ptx", "-o", out, source], check=True)
    RECORDER.know(out.read_text())
    return bytearray(out.read_bytes() + b"\0")


def case(name, function, buffers, arguments=None, pass_configs=None, which=0):
    """'arguments' are names of buffers and scalars in the function's order; left out, all buffers in theirs."""
    memory = recorder.Memory(buffers)
    kernel = tilelang.compile(function, target=TARGET, pass_configs=pass_configs)
    recording = RECORDER.start()
    given = [tvm_ffi.from_dlpack(foreign_tensor.tensor(memory, each)) if isinstance(each, str) else each
             for each in (arguments or list(buffers))]
    kernel.adapter._get_executable()(*given)
    return recorder.case(name, "TileLang", RECORDER, recording, memory, which)
