#!/usr/bin/env python3
"""kiln.gpu and kiln.gemm on a GPU, against the simulator.

    tests/gpu/python.py     the command: $KILN, then build/kiln
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.path.exists("/dev/nvidiactl"):
    print("SKIPPED: gpu: there is no /dev/nvidiactl here")
    sys.exit(77)
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("KILN", str(ROOT / "build/kiln"))
import numpy as np

import kiln

target = os.environ.get("KILN_GPU_TARGET", "sm_90a")
random = np.random.default_rng(1)
a, b = random.normal(size=(256, 128)), random.normal(size=(512, 128))
simulated, run = (kiln.gemm(a, b, target=target, on_gpu=on_gpu) for on_gpu in (False, True))
assert (simulated.ran, run.ran) == ("simulated on the CPU", "run on a GPU")
different = int((simulated.d != run.d).sum())
assert different == 0, f"{different} of {run.d.size} elements differ"
try:
    import torch
except ImportError:
    print("torch is not here: its tensors were not tried")
else:
    n = 1000
    ptx = (f".version 8.0\n.target {target}\n.address_size 64\n.visible .entry copy(.param .u64 a, .param .u64 d)\n{{\n"
           ".reg .b32 %i, %v; .reg .b64 %a, %d, %o;\nld.param.u64 %a, [a]; ld.param.u64 %d, [d]; mov.u32 %i, %tid.x;\n"
           "mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; add.u64 %d, %d, %o; ld.global.b32 %v, [%a]; st.global.b32 [%d], %v; ret;\n}\n")
    tensors = {"A": torch.arange(n, dtype=torch.int32, device="cuda"), "D": torch.zeros(n, dtype=torch.int32, device="cuda")}
    kiln.gpu(ptx, {"entry": "copy", "block": [n], "params": [{"buffer": "A"}, {"buffer": "D"}]}, tensors).raise_for_errors()
    assert bool((tensors["D"] == tensors["A"]).all())
print("pass")
