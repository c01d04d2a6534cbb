"""KILN_HOOKS: hooks in a program that does not know of Kiln.

`kiln_hooks.pth`, which Python reads as it starts, calls `install` where the variable is set. A hook is enabled right after the
package of its producer was imported, so a program pays for what it uses. Nothing here may stop the program.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # typing and importlib.machinery take longer than all else here
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Dict, List, Optional, Sequence

PRODUCERS: Dict[str, str] = {"triton": "triton", "cute": "cutlass", "tilelang": "tilelang", "tilus": "tilus"}
"""The hooks, modules of kiln, and the package that each waits for."""


def _say(text: str) -> None:
    print(f"kiln: KILN_HOOKS: {text}", file=sys.stderr)


def asked_for(value: str) -> List[str]:
    """The hooks that a value of KILN_HOOKS names: "1" and "all" are all of them, "0" is none."""
    words = [word.strip() for word in value.split(",") if word.strip()]
    if words in (["1"], ["all"]):
        return list(PRODUCERS)
    if words == ["0"]:
        return []
    for word in words:
        if word not in PRODUCERS:
            _say(f"no hook {word}; there are {', '.join(PRODUCERS)}")
    return [word for word in words if word in PRODUCERS]


def _try(step: Callable[[str], None], hook: str) -> None:
    try:
        step(hook)
    except Exception as error:
        _say(f"{hook}: not enabled: " + " ".join(str(error).split() or [type(error).__name__]))


def _prepare(hook: str) -> None:
    """What a hook does before its package is imported."""
    getattr(importlib.import_module(f"kiln.{hook}"), "prepare", lambda: None)()


def _enable(hook: str) -> None:
    importlib.import_module("kiln._checked").check_in_background()
    importlib.import_module(f"kiln.{hook}").enable(raise_errors=os.environ.get("KILN_CHECK") == "error")


class _Finder:
    """Finds nothing itself: what the other finders find for a package that a hook waits for gets a step after its import."""

    def __init__(self, hooks: Sequence[str]) -> None:
        self.waiting = {PRODUCERS[hook]: hook for hook in hooks}

    def find_spec(self, name: str, path: Optional[Sequence[Any]] = None,
                  target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = None if isinstance(finder, _Finder) else getattr(finder, "find_spec", None)
            spec: Optional[ModuleSpec] = find(name, path, target) if find else None
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:  # a namespace of some other packages, or an old loader
            return

        def exec_module(module: ModuleType) -> None:
            hook = self.waiting.get(spec.name)
            if hook is None:
                execute(module)
                return
            _try(_prepare, hook)
            execute(module)
            self.waiting.pop(spec.name, None)
            _try(_enable, hook)

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            _say(f"{spec.name}: cannot be followed: {error}")


def install() -> None:
    """Enables what $KILN_HOOKS names: at once where the package is imported already, else when it is."""
    if os.environ.get("KILN_CHECK") == "off" or any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    hooks = asked_for(os.environ.get("KILN_HOOKS", ""))
    for hook in hooks:
        if PRODUCERS[hook] in sys.modules:
            _try(_enable, hook)
    later = [hook for hook in hooks if PRODUCERS[hook] not in sys.modules]
    if later:
        sys.meta_path.insert(0, _Finder(later))
