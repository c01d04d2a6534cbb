"""The Python that docs/adopt.md shows runs as it stands, in a folder with the files that it names; the commands and options
that it and docs/agents.md show exist. What wants Triton runs where it is installed."""
import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

import kiln
import producers
from test_kiln import BAD, CLEAN

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "adopt.md"


# What stands around the blocks ```python triton of the page.
TRITON = """
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def compile_kernel():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    source = ASTSource(kernel, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128})
    return triton.compile(source, target=GPUTarget("cuda", 100, 32))

"""


def help_of(command):
    return subprocess.run([kiln.command_path(), *command, "--help"], capture_output=True, text=True, check=True).stdout


class Page(unittest.TestCase):
    def test_the_examples_run(self):
        text = PAGE.read_text()
        blocks = [(text.count("\n", 0, m.start(1)), m[1]) for m in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]
        self.assertTrue(blocks)
        before = os.getcwd()
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            pathlib.Path("theirs.ptx").write_text(BAD)
            pathlib.Path("copy.ptx").write_text(CLEAN)
            for line, code in blocks:
                # The lines of the page, for messages.
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile("\n" * line + code, str(PAGE), "exec"), names)
            os.chdir(before)

    def test_the_examples_with_triton_run(self):
        python = producers.python_with(self, "triton", "numpy")
        hook, simulated = re.findall(r"^```python triton\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        programs = {"hook": hook.replace("\n...\n", "\ncompile_kernel()\n") + "assert len(kiln.triton.checked) == 1\n",
                    "simulated": simulated + "assert (y == 2 * x).all()\n"}
        for name, program in programs.items():
            if name == "simulated" and os.path.exists("/dev/nvidiactl"):
                continue  # launches run on the GPU there
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / f"{name}.py"
                path.write_text(TRITON + program)
                done = subprocess.run([python, "-B", str(path)], cwd=folder, capture_output=True, text=True,
                                      env=producers.variables(folder))
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_commands_and_options_exist(self):
        commands = set(re.findall(r"^  (\S+) ", help_of([]), re.M))
        seen = 0
        for page in (PAGE, DOCS / "agents.md"):
            for shown in re.findall(r"`(kiln [^`]+)`", page.read_text()):
                words = shlex.split(shown)[1:]
                if words[0].startswith("-") or words[0] == "COMMAND":
                    continue
                self.assertIn(words[0], commands, shown)
                kernel = words[1:2] if words[0] == "emit" else []
                options = re.findall(r"--[a-z-]+", help_of([words[0], *kernel]))
                for option in (w for w in words[1:] if w.startswith("--")):
                    self.assertIn(option, options, shown)
                seen += 1
        self.assertGreater(seen, 15)


if __name__ == "__main__":
    unittest.main()
