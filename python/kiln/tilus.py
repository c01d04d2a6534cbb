"""Checks every kernel that Tilus compiles in this process.

    import kiln.tilus
    kiln.tilus.enable()

Tilus has nvcc make a library of the CUDA C++ that it writes, and nvcc is asked to keep the PTX of that. Findings name lines of the
CUDA C++, which stays in the cache of Tilus. A kernel of that cache is not compiled and so not checked.
"""

from __future__ import annotations

import tempfile
from typing import Any, Callable, Optional

from ._checked import Checked, Replaced, checked, judge_folder, keep_options

__all__ = ["Checked", "checked", "disable", "enable"]

_compile = Replaced()


def enable(*, raise_errors: bool = False, budget: Optional[float] = None, lint: bool = False) -> None:
    """Checks kernels from now on. `budget` is the seconds that one may take, else $KILN_BUDGET or 0.1; `lint` adds notes on what
    costs time."""
    from tilus.hidet.backend.build import NVCC

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def run_compile_command(self: Any, command: str, *arguments: Any, **named: Any) -> Any:
            with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
                asked = command if "--keep" in command.split() else " ".join([command, *keep_options(folder)])
                made = original(self, asked, *arguments, **named)
                judge_folder(folder, "tilus", raise_errors=raise_errors, budget=budget, lint=lint)
            return made
        return run_compile_command

    checked.clear()
    _compile.set(NVCC, "run_compile_command", around)


def disable() -> None:
    """Ends what `enable` began; `checked` keeps what there was."""
    _compile.restore()
