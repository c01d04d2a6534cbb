"""Checks every kernel that TileLang compiles in this process.

    import kiln.tilelang
    kiln.tilelang.enable()

TileLang has nvcc make a binary of the CUDA C++ that it writes. nvcc is asked to keep the PTX of that, and TileLang to write lines
(`tl.emit_line_directives`), so findings name the line of Python. TileLang compiles no kernel whose binary is in its cache, so such
a kernel is not checked: TILELANG_DISABLE_CACHE=1 has each compiled anew. No GPU is needed.
"""

from __future__ import annotations

import contextlib
import tempfile
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple, cast

from ._checked import Checked, Replaced, checked, judge, judge_folder, keep_options, name_of, never_breaks

__all__ = ["Checked", "checked", "disable", "enable"]

_compile = Replaced()  # a binary
_library = Replaced()  # a library with the binary and its launch
_codegen = Replaced()

_Call = Tuple[Tuple[Any, ...], Dict[str, Any]]


def _parameter(position: int, name: str, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    return arguments[position] if len(arguments) > position else named.get(name)


def _with_options(more: List[str], arguments: Tuple[Any, ...], named: Dict[str, Any]) -> _Call:
    """The call of compile_cuda with more options for nvcc."""
    position = 3
    options = _parameter(position, "options", arguments, named)
    given = [options] if isinstance(options, str) else list(options or [])
    if len(arguments) > position:
        return (*arguments[:position], given + more, *arguments[position + 1:]), named
    return arguments, {**named, "options": given + more}


def _line_context() -> ContextManager[Any]:
    """Where TileLang writes the lines of Python, if this TileLang can: its settings, and this one."""
    with never_breaks("tilelang: lines of Python"):
        from tilelang import tvm
        from tilelang.transform import PassConfigKey

        key, around = getattr(PassConfigKey, "TL_EMIT_LINE_DIRECTIVES", None), tvm.transform.PassContext.current()
        config = {str(name): value for name, value in around.config.items()}
        if key is not None and key.value not in config:
            return cast(ContextManager[Any], tvm.transform.PassContext(
                opt_level=around.opt_level, required_pass=around.required_pass, disabled_pass=around.disabled_pass,
                config={**config, key.value: True}))
    return contextlib.nullcontext()


def enable(*, raise_errors: bool = False, budget: Optional[float] = None, lint: bool = False) -> None:
    """Checks kernels from now on. `budget` is the seconds that one may take, else $KILN_BUDGET or 0.1; `lint` adds notes on what
    costs time."""
    from tilelang.backend.module import BackendContext
    from tilelang.contrib import nvcc
    from tilelang.jit.adapter.libgen import LibraryGenerator

    settings: Dict[str, Any] = {"raise_errors": raise_errors, "budget": budget, "lint": lint}

    def around_compile(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_cuda(*arguments: Any, **named: Any) -> Any:
            if _parameter(1, "target_format", arguments, named) in (None, "ptx"):
                made = original(*arguments, **named)
                with never_breaks("tilelang"):
                    text = bytes(made).decode()
                    judge(name_of(text, "tilelang"), text, **settings)
                return made
            with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
                arguments, named = _with_options(keep_options(folder), arguments, named)
                made = original(*arguments, **named)
                judge_folder(folder, "tilelang", **settings)
            return made
        return compile_cuda

    def around_library(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_lib(self: Any, *arguments: Any, **named: Any) -> Any:
            if self.target.kind.name != "cuda":
                return original(self, *arguments, **named)
            flags = self.compile_flags
            with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
                self.compile_flags = [*(flags or []), *keep_options(folder)]
                try:
                    made = original(self, *arguments, **named)
                finally:
                    self.compile_flags = flags
                judge_folder(folder, "tilelang", **settings)
            return made
        return compile_lib

    def around_codegen(original: Callable[..., Any]) -> Callable[..., Any]:
        def codegen_device(*arguments: Any, **named: Any) -> Any:
            with _line_context():
                return original(*arguments, **named)
        return codegen_device

    checked.clear()
    _compile.set(nvcc, "compile_cuda", around_compile)
    _library.set(LibraryGenerator, "compile_lib", around_library)
    _codegen.set(BackendContext, "codegen_device", around_codegen)


def disable() -> None:
    """Ends what `enable` began; `checked` keeps what there was."""
    for replaced in (_compile, _library, _codegen):
        replaced.restore()
