"""The hooks with the packages themselves, where they are installed. Each compiles without a GPU, in a process of its own: the
packages read their settings once."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import producers

HERE = pathlib.Path(__file__).resolve().parent

# What a user writes: nothing of Kiln.
UNMODIFIED = """
import sys
import {kernels}
{kernels}.compile_kernel(getattr({kernels}, sys.argv[1]))
"""

ENABLED = """
import contextlib, io, json, sys
import kiln
import kiln.{hook}
kiln.{hook}.enable()
import {kernels}
said = io.StringIO()
with contextlib.redirect_stderr(said):
    {kernels}.compile_kernel({kernels}.doubled)
    {kernels}.compile_kernel({kernels}.leaking)
kiln.{hook}.disable()
{kernels}.compile_kernel({kernels}.doubled)
found = [[k.name, [f.slug for f in k.report.findings]] for k in kiln.{hook}.checked]
print("RESULT", json.dumps([found, said.getvalue()]))
kiln.{hook}.enable(raise_errors=True)
try:
    {kernels}.compile_kernel({kernels}.leaking)
    print("NOTHING RAISED")
except Exception as error:  # what is between may wrap it
    print("RAISED" if "{slug}" in str(error) else f"OTHER {{error}}")
"""


def line_of(kernels, marked):
    """The line of a file of kernels that has a text."""
    lines = (HERE / f"{kernels}.py").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if marked in line)


class Producers(unittest.TestCase):
    """One row a producer: its package, its hook, its kernels, and the line that the finding names."""

    def run_program(self, python, program, *arguments, **environment):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(program)
            return subprocess.run([python, "-B", str(path), *arguments], cwd=folder, capture_output=True, text=True,
                                  env=producers.variables(folder, **environment))

    def finds_it_by_a_variable(self, python, hook, kernels, place, slug):
        program = UNMODIFIED.format(kernels=kernels)
        leaking = self.run_program(python, program, "leaking", KILN_HOOKS=hook)
        self.assertEqual(leaking.returncode, 0, leaking.stderr)
        self.assertRegex(leaking.stderr, rf"{place}: error: .*\[{slug}\]")
        doubled = self.run_program(python, program, "doubled", KILN_HOOKS="1")
        self.assertEqual(doubled.returncode, 0, doubled.stderr)
        said = [line for line in doubled.stderr.splitlines() if "kiln" in line or "error" in line or "portability" in line]
        self.assertLessEqual(len(said), 1, doubled.stderr)
        for line in said:
            self.assertRegex(line, r"^kiln: \w+: \d+ (notes?|portability|incomplete)\b")
        raised = self.run_program(python, program, "leaking", KILN_HOOKS=hook, KILN_CHECK="error")
        self.assertNotEqual(raised.returncode, 0)
        self.assertIn(f"[{slug}]", raised.stderr)

    def finds_it_where_it_is_enabled(self, python, hook, kernels, place, slug):
        done = self.run_program(python, ENABLED.format(hook=hook, kernels=kernels, slug=slug))
        result = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
        self.assertTrue(result, done.stdout + done.stderr)
        found, said = json.loads(result[len("RESULT "):])
        self.assertEqual(len(found), 2, found)
        self.assertNotIn(slug, found[0][1], said)
        self.assertIn(slug, found[1][1])
        self.assertRegex(said, rf"{place}: error: .*\[{slug}\]")
        self.assertIn("\nRAISED", done.stdout)

    def finds_it(self, python, hook, kernels, place, slug="tcgen05-alloc-leak"):
        self.finds_it_by_a_variable(python, hook, kernels, place, slug)
        self.finds_it_where_it_is_enabled(python, hook, kernels, place, slug)

    def test_triton(self):
        python = producers.python_with(self, "triton")
        line = line_of("triton_kernels", "v = tl.inline_asm_elementwise(")
        self.finds_it(python, "triton", "triton_kernels", rf"triton_kernels\.py:({line}|{line + 1})")

    def test_cute(self):
        python = producers.python_with(self, "cutlass")
        line = line_of("cute_kernels", "    leak()")
        self.finds_it(python, "cute", "cute_kernels", rf"cute_kernels\.py:{line}")

    def test_tilelang(self):
        python = producers.python_with(self, "tilelang")
        line = line_of("tilelang_kernels", 'T.call_extern("handle", "leak")')
        self.finds_it(python, "tilelang", "tilelang_kernels", rf"tilelang_kernels\.py:{line}")

    def test_tilus(self):
        python = producers.python_with(self, "tilus")
        self.finds_it(python, "tilus", "tilus_kernels", r"source\.cu:\d+", "mbarrier-unsignalled")


class Hooks(unittest.TestCase):
    """What KILN_HOOKS does to a program, without any of the packages."""

    def run_with(self, hooks, program, **packages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in packages.items():
                (pathlib.Path(folder) / f"{name}.py").write_text(text)
            variables = producers.variables(folder, KILN_HOOKS=hooks)
            variables["PYTHONPATH"] = folder + os.pathsep + variables["PYTHONPATH"]
            return subprocess.run([sys.executable, "-B", "-c", program], cwd=folder, capture_output=True, text=True, env=variables)

    def test_nothing_is_imported_without_the_variable(self):
        program = "import sys; print(sorted(m for m in sys.modules if 'kiln' in m), len(sys.meta_path))"
        without = self.run_with("", program)
        self.assertEqual((without.stdout[:2], without.stderr), ("[]", ""))
        self.assertTrue(self.run_with("1", program).stdout.startswith("['_kiln_hooks']"))

    def test_a_hook_is_enabled_when_its_package_is_imported_and_once(self):
        fake = "import types\nknobs = types.SimpleNamespace(compilation=types.SimpleNamespace(listener=None))\n"
        program = ("import sys; print('kiln.triton' in sys.modules)\nimport triton, importlib\n"
                   "print(type(triton.knobs.compilation.listener).__name__, triton.__spec__.loader.__class__.__name__)")
        done = self.run_with("triton", program, triton=fake)
        self.assertEqual((done.stdout, done.stderr), ("False\n_Listener SourceFileLoader\n", ""))
        self.assertIn("NoneType", self.run_with("cute", program, triton=fake).stdout)
        twice = self.run_with("triton", "import _kiln_hooks; _kiln_hooks.install()\n" + program, triton=fake)
        self.assertEqual(twice.stdout, done.stdout)

    def test_what_fails_is_one_line_and_the_program_goes_on(self):
        done = self.run_with("tilelang,helion,cute", "import tilelang, cutlass; print(tilelang.x, cutlass.y)", tilelang="x = 1",
                             cutlass="y = 2")
        self.assertEqual((done.stdout, done.returncode), ("1 2\n", 0))
        said = done.stderr.splitlines()
        self.assertEqual(len(said), 3, done.stderr)
        self.assertRegex(said[0], r"^kiln: KILN_HOOKS: no hook helion; there are triton, cute, tilelang, tilus$")
        self.assertRegex(said[1], r"^kiln: KILN_HOOKS: tilelang: not enabled: .*tilelang")
        self.assertRegex(said[2], r"^kiln: KILN_HOOKS: cute: not enabled: .*cutlass")

    def test_a_package_that_fails_to_import_fails_as_ever(self):
        done = self.run_with("1", "import triton", triton="raise ImportError('its own mistake')")
        self.assertIn("its own mistake", done.stderr)
        self.assertNotIn("kiln:", done.stderr)


if __name__ == "__main__":
    unittest.main()
