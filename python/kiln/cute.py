"""Checks every kernel that the CuTe DSL of CUTLASS compiles in this process.

    import kiln.cute
    kiln.cute.enable()                         # before the first @cute.jit or @cute.kernel
    import cutlass.cute as cute

The DSL is asked to keep its PTX with lines (CUTE_DSL_KEEP, CUTE_DSL_LINEINFO), in a folder that is removed at the end unless
CUTE_DSL_DUMP_DIR names one. Findings name the line of Python. No GPU is needed: CUTE_DSL_ARCH says for which one to compile.
"""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import tempfile
from typing import Any, Callable, Optional

from ._checked import Checked, Replaced, checked, judge, name_of, never_breaks

__all__ = ["Checked", "checked", "disable", "enable"]

_compile = Replaced()


def prepare() -> None:
    """Asks the DSL, which reads its settings while it is imported, to keep its PTX."""
    kept = [word for word in os.environ.get("CUTE_DSL_KEEP", "").split(",") if word]
    if "ptx" not in kept and "all" not in kept:
        os.environ["CUTE_DSL_KEEP"] = ",".join([*kept, "ptx"])
    os.environ.setdefault("CUTE_DSL_LINEINFO", "1")
    if "CUTE_DSL_DUMP_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="kiln-cute-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["CUTE_DSL_DUMP_DIR"] = folder


def _text(ptx: str) -> str:
    """The DSL hands over the text, or the file that has it."""
    return ptx if "\n" in ptx else pathlib.Path(ptx).read_text(encoding="utf-8")


def enable(*, raise_errors: bool = False, budget: Optional[float] = None, lint: bool = False) -> None:
    """Checks kernels from now on. `budget` is the seconds that one may take, else $KILN_BUDGET or 0.1; `lint` adds notes on what
    costs time."""
    prepare()
    from cutlass.base_dsl.dsl import BaseDSL

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_and_cache(self: Any, *arguments: Any, **named: Any) -> Any:
            compiled = original(self, *arguments, **named)
            with never_breaks("cute"):
                artifacts = getattr(compiled, "artifacts", None)
                ptx = getattr(artifacts, "PTX", None)
                if ptx:
                    text = _text(ptx)
                    judge(name_of(text, "cute"), text, raise_errors=raise_errors, budget=budget, lint=lint)
            return compiled
        return compile_and_cache

    checked.clear()
    _compile.set(BaseDSL, "compile_and_cache", around)


def disable() -> None:
    """Ends what `enable` began; `checked` keeps what there was."""
    _compile.restore()
