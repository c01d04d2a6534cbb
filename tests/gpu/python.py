#!/usr/bin/env python3
"""kiln.gpu and kiln.gemm on a GPU, against the simulator, and what they make of tensors there.

    tests/gpu/python.py     the command: $KILN, then build/kiln
"""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.path.exists("/dev/nvidiactl"):
    print("SKIPPED: gpu: there is no /dev/nvidiactl here")
    sys.exit(77)
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("KILN", str(ROOT / "build/kiln"))
import numpy as np

import kiln

try:
    import torch
except ImportError:
    torch = None

TARGET = os.environ.get("KILN_GPU_TARGET", "sm_90a")
N = 1000
# D[i] = A[i], in words of 2 or 4 bytes.
COPY = """.version 8.0
.target {target}
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 d)
{{
  .reg .b32 %i; .reg .b{bits} %v; .reg .b64 %a, %d, %o;
  ld.param.u64 %a, [a]; ld.param.u64 %d, [d]; mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, {bytes}; add.u64 %a, %a, %o; add.u64 %d, %d, %o;
  ld.global.b{bits} %v, [%a]; st.global.b{bits} [%d], %v;
  ret;
}}
"""


def copy(a, d, words=None, count=N):
    """Copies one buffer to another on the GPU. `words`: of what type, where numpy has none."""
    size = 2 if words == "bf16" else 4
    launch = {"entry": "copy", "block": [count], "params": [{"buffer": "A"}, {"buffer": "D"}]}
    if words:
        launch["buffers"] = {name: {"dtype": words, "shape": [count]} for name in "AD"}
    ptx = COPY.format(target=TARGET, bits=8 * size, bytes=size)
    kiln.gpu(ptx, launch, {"A": a, "D": d}).raise_for_errors()


class Gpu(unittest.TestCase):
    def test_a_gemm_is_bit_for_bit_that_of_the_simulator(self):
        random = np.random.default_rng(1)
        a, b = random.normal(size=(256, 128)), random.normal(size=(512, 128))
        simulated, run = (kiln.gemm(a, b, target=TARGET, on_gpu=on_gpu) for on_gpu in (False, True))
        self.assertEqual((simulated.ran, run.ran), ("simulated on the CPU", "run on a GPU"))
        self.assertEqual(int((simulated.d != run.d).sum()), 0)

    def test_arrays_of_numpy_change_in_place(self):
        a, d = np.arange(N, dtype=np.uint32), np.zeros(N, np.uint32)
        copy(a, d)
        self.assertTrue((d == a).all())

    def test_a_failure_is_an_exception_or_a_finding(self):
        with self.assertRaises(kiln.InputError):
            kiln.gpu("no PTX", {"entry": "copy", "block": [1], "params": []})


@unittest.skipUnless(torch and torch.cuda.is_available(), "torch is not here: its tensors were not tried")
class Tensors(unittest.TestCase):
    def on_gpu(self, count=N):
        return torch.arange(count, dtype=torch.int32, device="cuda")

    def test_they_change_in_place(self):
        a, d = self.on_gpu(), torch.zeros(N, dtype=torch.int32, device="cuda")
        address = d.data_ptr()
        copy(a, d)
        self.assertTrue(bool((d == a).all()))
        self.assertEqual(d.data_ptr(), address)

    def test_tensors_of_the_cpu_and_of_the_gpu_go_together(self):
        d = torch.zeros(N, dtype=torch.int32)
        copy(self.on_gpu(), d)
        self.assertTrue(bool((d == torch.arange(N)).all()))

    def test_of_a_slice_nothing_else_changes(self):
        whole = torch.full((3 * N,), -1, dtype=torch.int32, device="cuda")
        copy(self.on_gpu(), whole[N:2 * N])
        self.assertTrue(bool((whole[N:2 * N] == self.on_gpu()).all()))
        self.assertTrue(bool((whole[:N] == -1).all()) and bool((whole[2 * N:] == -1).all()))

    def test_strides_are_not_seen(self):
        a = self.on_gpu(960).reshape(32, 30).t()
        d = torch.zeros(60, 32, dtype=torch.int32, device="cuda")[::2]
        copy(a, d, count=960)
        self.assertTrue(bool((d == a).all()))

    def test_types_that_numpy_lacks_are_words(self):
        a = torch.randn(N, device="cuda").to(torch.bfloat16)
        d = torch.zeros(N, dtype=torch.bfloat16, device="cuda")
        copy(a, d, words="bf16")
        self.assertTrue(bool((d == a).all()))

    def test_what_waits_in_a_stream_is_waited_for(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            big = torch.randn(4096, 4096, device="cuda")
            for _ in range(20):
                big = big @ big / 64
            a = (big[0, :N] * 0 + 7).nan_to_num(7).to(torch.int32)
            d = torch.zeros(N, dtype=torch.int32, device="cuda")
            copy(a, d)
            self.assertTrue(bool((d == 7).all()))

    def test_a_tensor_with_a_gradient_is_refused(self):
        d = torch.zeros(N, device="cuda", requires_grad=True)
        with self.assertRaisesRegex(kiln.InputError, "arrays: D"):
            copy(self.on_gpu(), d)

    def test_what_has_no_way_to_the_cpu_is_refused(self):
        class Foreign:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

            def __dlpack__(self, **named):
                return self.tensor.__dlpack__(**named)

        with self.assertRaisesRegex(kiln.InputError, "arrays: D: a tensor on a GPU must have cpu"):
            copy(self.on_gpu(), Foreign(self.on_gpu()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
