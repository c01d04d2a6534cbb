"""Checks every kernel that TileLang compiles in this process.

    import kiln.tilelang
    kiln.tilelang.enable()

TileLang has nvcc make a binary of the CUDA C++ that it writes. Kiln has nvcc make PTX of the same text first, with the same
options, and checks that. Findings name lines of the CUDA C++. TileLang compiles no kernel whose binary is in its cache, so such a
kernel is not checked: TILELANG_DISABLE_CACHE=1 has each compiled anew. No GPU is needed.
"""

from __future__ import annotations

from typing import Any, Callable

from ._checked import Checked, Replaced, checked, judge, name_of

__all__ = ["Checked", "checked", "disable", "enable"]

_compile = Replaced()


def _parameter(position: int, name: str, arguments: "tuple[Any, ...]", named: "dict[str, Any]") -> Any:
    return arguments[position] if len(arguments) > position else named.get(name)


def _with_format(arguments: "tuple[Any, ...]", named: "dict[str, Any]") -> "tuple[tuple[Any, ...], dict[str, Any]]":
    """The call for PTX: without a file to write, and without options for ptxas, which is not called."""
    code = _parameter(0, "code", arguments, named)
    options = _parameter(3, "options", arguments, named)
    if isinstance(options, str):
        options = options.split()
    kept = [option for option in options or [] if not option.startswith(("--ptxas-options", "-Xptxas"))]
    return (code, "ptx", _parameter(2, "arch", arguments, named)), {"options": kept}


def enable(*, raise_errors: bool = False, budget: float = 1.0, lint: bool = False) -> None:
    """Checks kernels from now on. `budget` is the seconds that one may take; `lint` adds notes on what costs time."""
    from tilelang.contrib import nvcc

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_cuda(*arguments: Any, **named: Any) -> Any:
            is_ptx = _parameter(1, "target_format", arguments, named) in (None, "ptx")
            if is_ptx:
                made = original(*arguments, **named)
                text = bytes(made).decode()
            else:
                call, options = _with_format(arguments, named)
                text = bytes(original(*call, **options)).decode()
            judge(name_of(text, "tilelang"), text, raise_errors=raise_errors, budget=budget, lint=lint)
            return made if is_ptx else original(*arguments, **named)
        return compile_cuda

    checked.clear()
    _compile.set(nvcc, "compile_cuda", around)


def disable() -> None:
    """Ends what `enable` began; `checked` keeps what there was."""
    _compile.restore()
