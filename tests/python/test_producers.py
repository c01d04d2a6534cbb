"""kiln.cute and kiln.tilelang with the packages themselves, where they are installed. Each compiles without a GPU; in a process of
its own, since they read their settings once."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import kiln

HERE = pathlib.Path(__file__).resolve().parent

PROGRAM = """
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
    print("RAISED" if "tcgen05-alloc-leak" in str(error) else f"OTHER {{error}}")
"""


def compile_with(hook, kernels, **environment):
    paths = [str(pathlib.Path(kiln.__file__).parents[1]), str(HERE), os.environ.get("PYTHONPATH", "")]
    with tempfile.TemporaryDirectory() as folder:
        variables = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), KILN=kiln.command_path(), **environment)
        done = subprocess.run([sys.executable, "-B", "-c", PROGRAM.format(hook=hook, kernels=kernels)], cwd=folder,
                              capture_output=True, text=True, env=variables)
    result = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    assert result, done.stdout + done.stderr
    found, said = json.loads(result[len("RESULT "):])
    return found, said, done.stdout


class Producers(unittest.TestCase):
    def finds_the_leak_alone(self, found, said, output):
        self.assertEqual(len(found), 2, found)
        self.assertEqual([slug for slug in found[0][1]], [], said)
        self.assertIn("tcgen05-alloc-leak", found[1][1])
        self.assertIn("[tcgen05-alloc-leak]", said)
        self.assertIn("RAISED", output)
        self.assertNotIn("NOTHING RAISED", output)

    @unittest.skipUnless(importlib.util.find_spec("cutlass"), "no CuTe DSL")
    def test_cute(self):
        found, said, output = compile_with("cute", "cute_kernels", CUTE_DSL_ARCH="sm_100a", CUTE_DSL_DISABLE_FILE_CACHING="1")
        self.finds_the_leak_alone(found, said, output)
        self.assertRegex(said, r"cute_kernels\.py:\d+: error: ")

    @unittest.skipUnless(importlib.util.find_spec("tilelang") and shutil.which("nvcc"), "no TileLang with nvcc")
    def test_tilelang(self):
        self.finds_the_leak_alone(*compile_with("tilelang", "tilelang_kernels", TILELANG_DISABLE_CACHE="1"))


if __name__ == "__main__":
    unittest.main()
