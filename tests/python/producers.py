"""The packages whose kernels are checked, where they are installed: in this Python, or in one that $KILN_PYTHONS lists.

A test without its package says so in a line that scripts/skipped counts.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys

import kiln

HERE = pathlib.Path(__file__).resolve().parent
MODULE = pathlib.Path(kiln.__file__).resolve().parent


@functools.lru_cache(maxsize=None)
def _has(python, packages):
    program = f"import importlib.util as u, sys; sys.exit(not all(u.find_spec(p) for p in {packages!r}))"
    return subprocess.run([python, "-c", program], stderr=subprocess.DEVNULL).returncode == 0


def skip(test, reason):
    print(f"\nSKIPPED: package: {reason}", flush=True)
    test.skipTest(reason)


def python_with(test, *packages):
    """A Python that has these packages; else the test is skipped."""
    if "tilelang" in packages or "tilus" in packages:
        if not shutil.which("nvcc"):
            skip(test, f"no nvcc for {packages[0]}")
    for python in [sys.executable, *filter(None, os.environ.get("KILN_PYTHONS", "").split(os.pathsep))]:
        if _has(python, packages):
            return python
    return skip(test, f"{' and '.join(packages)} not installed (KILN_PYTHONS lists Pythons that may have it)")


def variables(folder, **more):
    """The environment of a program that finds this module, these tests and, as where the wheel is installed, the hooks.

    The producers keep their caches in `folder`.
    """
    start = pathlib.Path(folder) / "start"
    start.mkdir(exist_ok=True)
    pth = next(path for path in (MODULE.parent / "kiln_hooks.pth", MODULE.parents[1] / "python/kiln_hooks.pth") if path.exists())
    shutil.copy(pth, start)
    (start / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(start)!r})\n")
    paths = [str(start), str(MODULE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
    named = {name: value for name, value in os.environ.items() if not name.startswith("KILN_")}
    return {**named, "PYTHONPATH": os.pathsep.join(paths), "KILN": kiln.command_path(), "TRITON_CACHE_DIR": str(folder),
            "TILELANG_DISABLE_CACHE": "1", "TILELANG_CACHE_DIR": f"{folder}/tilelang", "CUTE_DSL_ARCH": "sm_100a",
            "CUTE_DSL_DISABLE_FILE_CACHING": "1", **more}
