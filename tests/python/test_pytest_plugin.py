"""pytest --kiln over tests of its own: with kernels that are compiled as Triton tells of them, and with Triton where there is
one."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import kiln
import producers
from test_kiln import BAD, CLEAN

HERE = pathlib.Path(__file__).resolve().parent


def run_pytest(program, *options, python=sys.executable, **environment):
    """The output of pytest over one file, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "test_kernels.py"
        path.write_text(program)
        paths = [str(pathlib.Path(kiln.__file__).parents[1]), str(HERE), os.environ.get("PYTHONPATH", "")]
        variables = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), KILN=kiln.command_path(),
                         PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TRITON_CACHE_DIR=folder, **environment)
        done = subprocess.run([python, "-B", "-m", "pytest", "-p", "kiln.pytest_plugin", "-p", "no:cacheprovider",
                               "-v", *options, str(path)], capture_output=True, text=True, env=variables, cwd=folder)
    return done.stdout + done.stderr, done.returncode


# A module that tells of kernels as Triton does.
FAKE = f"""
import pathlib, sys, types
BAD = {BAD!r}
CLEAN = {CLEAN!r}
import kiln._checked

def test_clean():
    kiln._checked.judge("clean", CLEAN)

def test_bad():
    kiln._checked.judge("bad", BAD)

def test_without_kernels():
    pass

def test_failing():
    kiln._checked.judge("bad", BAD)
    assert False, "its own mistake"
"""


class Plugin(unittest.TestCase):
    def test_a_test_fails_for_the_errors_of_its_kernels(self):
        said, code = run_pytest(FAKE, "--kiln", python=producers.python_with(self, "pytest"))
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"test_clean PASSED")
        self.assertNotIn("Warning", said)
        self.assertRegex(said, r"test_bad FAILED")
        self.assertRegex(said, r"test_without_kernels PASSED")
        self.assertIn("bad: 1 error", said)
        self.assertIn("[tcgen05-alloc-columns]", said)
        self.assertIn("its own mistake", said)  # is not replaced
        self.assertIn("kiln: 3 kernels checked: 2 error; 0 launches simulated", said)

    def test_without_the_option_nothing_is_judged(self):
        said, code = run_pytest(FAKE, python=producers.python_with(self, "pytest"))
        self.assertRegex(said, r"test_bad PASSED")
        self.assertNotIn("kernels checked", said)


TRITON = """
import numpy as np
import pytest
from kiln.simulated_gpu import Array
from triton_kernels import doubled, leaking

def run(kernel, x, y, n):
    kernel[(3,)](Array(x), Array(y), n, block=128)

def test_right():
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    run(doubled, x, y, 300)
    assert (y == 2 * x).all()

def test_outside():
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    run(doubled, x, y, 384)

def test_leak():
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    run(leaking, x, y, 300)
"""


class Triton(unittest.TestCase):
    """The package itself: kernels are compiled, checked and, where there is no GPU, simulated on arrays."""

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "launches run on the GPU here")
    def test_launches_are_simulated(self):
        said, code = run_pytest(TRITON, "--kiln", python=producers.python_with(self, "triton", "pytest"))
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"test_right PASSED", said)
        self.assertRegex(said, r"test_outside FAILED")
        self.assertRegex(said, r"test_leak FAILED")
        self.assertIn("[memory-bounds]", said)
        self.assertIn("[tcgen05-alloc-leak]", said)
        self.assertRegex(said, r"triton_kernels\.py:\d+: error: ")
        self.assertIn("3 kernels checked: 1 error", said)
        self.assertIn("3 launches simulated", said)
        self.assertNotIn("PluggyTeardownRaisedWarning", said)


if __name__ == "__main__":
    unittest.main()
