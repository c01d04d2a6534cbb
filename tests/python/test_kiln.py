"""The Python module over the command that $KILN names, or over the wheel that is installed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import kiln
import numpy as np
import producers

BAD = """.version 8.6
.target sm_100a
.address_size 64
.file 1 "program.py"
.visible .entry k()
{
  .shared .align 4 .b32 slot;
  .loc 1 7 3
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;
  ret;
}
"""
CLEAN = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 d)
{
  .reg .b32 %i, %v;
  .reg .b64 %a, %d, %o;
  ld.param.u64 %a, [a];
  ld.param.u64 %d, [d];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 4;
  add.u64 %a, %a, %o;
  add.u64 %d, %d, %o;
  ld.global.b32 %v, [%a];
  st.global.b32 [%d], %v;
  ret;
}
"""
LAUNCH = {"entry": "copy", "block": [32], "params": [{"buffer": "A"}, {"buffer": "D"}],
          "expect": {"D": {"copy": "A"}}}


def arrays(dtype=np.uint32):
    return {"A": np.arange(32).astype(dtype), "D": np.zeros(32, dtype)}


class Check(unittest.TestCase):
    def test_a_finding_has_its_parts(self):
        report = kiln.check(BAD)
        self.assertEqual((len(report), report.ok, report.summary), (1, False, "1 error"))
        (finding,) = report.errors
        self.assertEqual((finding.severity, finding.slug), ("error", "tcgen05-alloc-columns"))
        self.assertIn("got 48", finding.message)
        self.assertEqual((finding.place.line, finding.place.column), (9, 67))
        self.assertEqual((finding.source.file, finding.source.line), ("program.py", 7))
        self.assertEqual(finding.reference, "tcgen05.alloc")

    def test_a_fixit_repairs_the_text(self):
        report = kiln.check(BAD)
        (edit,) = report.findings[0].fixits
        repaired = report.text[:edit.begin] + edit.text + report.text[edit.end:]
        self.assertNotIn("tcgen05-alloc-columns", [f.slug for f in kiln.check(repaired)])

    def test_a_report_prints_as_the_command_does(self):
        said = subprocess.run([kiln.command_path(), "check", "-"], input=BAD, capture_output=True, text=True).stderr
        drawn = [line for line in said.splitlines() if not line.strip() == "64"]  # fix-its are not drawn
        self.assertEqual(str(kiln.check(BAD)).splitlines(), drawn)

    def test_errors_are_exceptions_on_demand(self):
        with self.assertRaises(kiln.CheckError) as raised:
            kiln.check(BAD).raise_for_errors()
        self.assertIn("[tcgen05-alloc-columns]", str(raised.exception))
        self.assertEqual(len(raised.exception.report.errors), 1)
        report = kiln.check(CLEAN)
        self.assertIs(report.raise_for_errors(), report)
        self.assertEqual((report.ok, str(report)), (True, "clean"))

    def test_findings_that_are_alike_are_one(self):
        def alike(severity, n):
            return [kiln.Finding(severity, "slug", "message", kiln.Place("k.ptx", line, 1)) for line in range(1, n + 1)]
        grouped = kiln.Report(tuple(alike("portability", 4) + alike("error", 4))).grouped().splitlines()
        self.assertEqual(grouped[0], "k.ptx:1:1: portability: message [slug]")
        self.assertEqual(grouped[1], "portability: the same rule at 3 more places: lines 2, 3, 4 [slug]")
        self.assertEqual([line[:8] for line in grouped[2:]], [f"k.ptx:{n}:" for n in (1, 2, 3, 4)])
        self.assertEqual(len(kiln.Report(tuple(alike("portability", 3))).grouped().splitlines()), 3)

    def test_the_short_summary_names_the_rules_of_what_is_no_error(self):
        def found(*findings):
            return kiln.Report(tuple(kiln.Finding(severity, slug, "message", None) for severity, slug in findings))
        self.assertEqual(found().summary_by_rule, "clean")
        self.assertEqual(found(("error", "a"), ("error", "a"), ("portability", "b"), ("portability", "c"), ("portability", "b"),
                               ("incomplete", "")).summary_by_rule, "2 errors, 3 portability (b x2, c x1), 1 incomplete")

    def test_text_and_files_and_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "k.ptx"
            path.write_text(CLEAN)
            for ptx in (path, str(path)):
                self.assertTrue(kiln.check(ptx).ok)
        buffers = {"A": {"dtype": "u32", "shape": [32]}, "D": {"dtype": "u32", "shape": [32]}}
        self.assertEqual(kiln.check(CLEAN, {**LAUNCH, "buffers": buffers}).errors, ())
        misfit = kiln.check(CLEAN, {**LAUNCH, "buffers": buffers, "entry": "other"})
        self.assertIn("other", misfit.errors[0].message)

    def test_what_cannot_be_used_is_an_input_error(self):
        for call in (lambda: kiln.check("none.ptx"), lambda: kiln.check(CLEAN, "none.json"),
                     lambda: kiln.check(CLEAN, assume=["block"]), lambda: kiln.emit("gemm_bf17"),
                     lambda: kiln.lower(CLEAN, target="sm_1")):
            with self.assertRaises(kiln.InputError):
                call()

    def test_html_is_escaped(self):
        shown = kiln.check(BAD.replace("program.py", "<b>.py"))._repr_html_()
        self.assertIn("tcgen05-alloc-columns", shown)
        self.assertIn("&lt;b&gt;.py:7", shown)
        self.assertNotIn("<b>.py", shown)


class Simulate(unittest.TestCase):
    def test_arrays_change_in_place(self):
        data = arrays()
        result = kiln.sim(CLEAN, LAUNCH, data)
        self.assertEqual(result.verdict, "pass")
        self.assertTrue((data["D"] == np.arange(32)).all())

    def test_types_that_numpy_lacks_travel_as_words(self):
        data = {"A": np.arange(64).astype(np.uint16), "D": np.zeros(64, np.uint16)}
        launch = {**LAUNCH, "buffers": {name: {"dtype": "bf16", "shape": [64]} for name in data}}
        kiln.sim(CLEAN, launch, data).raise_for_errors()
        self.assertTrue((data["D"] == data["A"]).all())

    def test_floats_and_views(self):
        whole = np.zeros((32, 2), np.float32)
        data = {"A": np.linspace(0, 1, 32, dtype=np.float32), "D": whole[:, 1]}
        kiln.sim(CLEAN, LAUNCH, data).raise_for_errors()
        self.assertTrue((whole[:, 1] == data["A"]).all())
        self.assertFalse(whole[:, 0].any())

    def test_tensors_with_dlpack_change_in_place(self):
        class Tensor:
            """Of a library that shares its memory and nothing else."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **named):
                return self.array.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        data = {"A": np.arange(32, dtype=np.uint32), "D": np.zeros(32, np.uint32)}
        try:
            kiln.sim(CLEAN, LAUNCH, {name: Tensor(array) for name, array in data.items()}).raise_for_errors()
            self.assertTrue((data["D"] == data["A"]).all())
        except kiln.InputError as error:  # numpy before 2.4 may give no memory of others that can be written, or none at all
            self.assertLess(tuple(int(n) for n in np.__version__.split(".")[:2]), (2, 4))
            self.assertRegex(str(error), "cannot be written|from_dlpack")
        with self.assertRaises(kiln.InputError):
            kiln.sim(CLEAN, LAUNCH, {"A": [1, 2], "D": data["D"]})

    def test_an_init_of_the_launch_is_kept(self):
        data = arrays()
        launch = {**LAUNCH, "buffers": {"A": {"dtype": "u32", "shape": [32], "init": {"integers": [7, 7]}}}}
        kiln.sim(CLEAN, launch, data).raise_for_errors()
        self.assertTrue((data["D"] == 7).all() and (data["A"] == 7).all())

    def test_a_wrong_result_and_a_trap(self):
        wrong = kiln.sim(CLEAN.replace("mul.wide.u32 %o, %i, 4", "mul.wide.u32 %o, 0, 4"), LAUNCH, arrays())
        self.assertEqual(wrong.verdict, "fail")
        outside = kiln.sim(CLEAN.replace("%i, 4", "%i, 4000"), LAUNCH, arrays())
        with self.assertRaises(kiln.CheckError):
            outside.raise_for_errors()


def words_of(values):
    """Numbers that bf16 has, as its words."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


class Gemm(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.a = random.integers(-4, 5, (128, 64)).astype(np.float32)
        self.b = random.integers(-4, 5, (256, 64)).astype(np.float32)

    def test_it_is_simulated_and_says_so(self):
        done = kiln.gemm(self.a, self.b)
        self.assertEqual(done.ran, "simulated on the CPU")
        self.assertEqual((done.run.verdict, done.run.facts["backend"]), ("pass", "sim"))
        self.assertEqual(done.d.dtype, np.float32)
        exact = self.a.astype(np.float64) @ self.b.T.astype(np.float64)
        self.assertLessEqual(np.abs(done.d - exact).max(), np.abs(exact).max() * 2.0**-8)
        self.assertTrue((np.abs(exact) <= 256).any() and (done.d == exact)[np.abs(exact) <= 256].all())

    def test_words_and_numbers_are_one(self):
        done = kiln.gemm(words_of(self.a), words_of(self.b))
        self.assertTrue((done.d == kiln.gemm(self.a.astype(np.float64), self.b).d).all())

    def test_numbers_are_rounded_to_even(self):
        self.a[:], self.b[:] = 0, 0
        self.a[0, :4] = [1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.3895314e38, -(1 + 2.0**-8 + 2.0**-20)]
        self.b[:4, :4] = np.eye(4)
        done = kiln.gemm(self.a, self.b)
        self.assertEqual(list(done.d[0, :4]), [1, 1 + 2.0**-6, 3.3895313892515355e38, -(1 + 2.0**-7)])

    def test_what_is_no_gemm_is_refused(self):
        for call in (lambda: kiln.gemm(self.a, self.b[:, :32]), lambda: kiln.gemm(self.a[0], self.b),
                     lambda: kiln.gemm(self.a.astype(np.int32), self.b), lambda: kiln.gemm(self.a, self.b, kernel="copy_tma"),
                     lambda: kiln.gemm(self.a[:, :63], self.b[:, :63])):
            with self.assertRaises(kiln.InputError):
                call()


# Answers `kiln gpu` as the command does where there is a GPU: D becomes A.
GPU = """#!/usr/bin/env python3
import json, shutil, sys
assert sys.argv[1:4] == ["gpu", "-", "--json"] and sys.argv[6:] == ["--seed", "1", "--timeout", "60.0"], sys.argv
buffers = json.load(open(sys.argv[sys.argv.index("--launch") + 1]))["buffers"]
for name in "AD":
    shutil.copy(buffers["A"]["init"]["npy"], buffers[name]["out"])
print(json.dumps({"verdict": "finished", "diagnostics": [], "backend": "cuda"}))
"""


class Gpu(unittest.TestCase):
    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU here: tests/gpu/python.py")
    def test_without_a_gpu_the_reason_is_said(self):
        for call in (lambda: kiln.gpu(CLEAN, LAUNCH, arrays()), lambda: kiln.gemm(np.ones((128, 64)), np.ones((256, 64)), on_gpu=True)):
            with self.assertRaisesRegex(kiln.InputError, "no CUDA driver here|ptxas"):
                call()

    def test_arrays_go_to_the_command_and_come_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kiln"
            path.write_text(GPU)
            path.chmod(0o755)
            with mock.patch.dict(os.environ, {"KILN": str(path)}):
                data = arrays()
                self.assertEqual(kiln.gpu(CLEAN, LAUNCH, data).facts["backend"], "cuda")
                self.assertTrue((data["D"] == np.arange(32)).all())

                class OnGpu:
                    """A tensor of torch on a GPU, as far as it matters."""

                    def __init__(self, array):
                        self.array = array

                    def __dlpack_device__(self):
                        return 2, 0

                    def cpu(self):
                        return self.array.copy()

                    def copy_(self, array):
                        self.array = array.copy()

                tensors = {name: OnGpu(array) for name, array in arrays().items()}
                kiln.gpu(CLEAN, LAUNCH, tensors)
                self.assertTrue((tensors["D"].array == np.arange(32)).all())


class Types(unittest.TestCase):
    def test_the_module_is_typed(self):
        python = producers.python_with(self, "mypy")
        done = subprocess.run([python, "-m", "mypy", "--cache-dir", os.devnull, "--config-file", "pyproject.toml"],
                              cwd=pathlib.Path(__file__).resolve().parents[2], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Others(unittest.TestCase):
    def test_time_emit_lower_of_the_library(self):
        ptx = kiln.emit("gemm_bf16", m=256, n=256, k=128)
        self.assertIn(".target sm_100a", ptx)
        self.assertTrue(kiln.check(ptx).ok)
        self.assertIn("mma.sync", kiln.lower(ptx, "sm_90a"))
        launch = kiln.launch_of("gemm_bf16", m=256, n=256, k=128)
        prediction = kiln.time(ptx, launch)
        least, most = prediction.interval
        self.assertTrue(0 < least <= prediction.seconds <= most < 1)
        self.assertEqual(prediction.seconds, kiln.time("gemm_bf16", m=256, n=256, k=128).seconds)
        self.assertIn("predicted on b200", prediction._repr_html_())
        self.assertNotIn("iframe", prediction._repr_html_())

    def test_a_notebook_shows_timelines_and_maps(self):
        prediction = kiln.time("gemm_bf16", m=128, n=256, k=128, timeline=True)
        self.assertIn("<html", prediction.timeline)
        self.assertIn('<iframe srcdoc="&lt;', prediction._repr_html_())
        shown = kiln.maps("gemm_bf16", m=128, n=256, k=128)._repr_html_()
        self.assertIn("&lt;svg", shown)
        self.assertNotIn("<svg", shown)

    def test_other_threads_run_meanwhile(self):
        # Two calls at once end as two calls do: nothing is shared, and the interpreter is not held.
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(kiln.check, [BAD, CLEAN]))
        self.assertEqual([r.ok for r in reports], [False, True])

    def test_the_names_of_the_module(self):
        for name in kiln.__all__:
            self.assertTrue(getattr(kiln, name).__doc__, name)
        self.assertRegex(kiln.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    sys.exit(unittest.main())
