"""Checks every kernel that Triton compiles in this process.

    import kiln.triton
    kiln.triton.enable()

Triton tells of a kernel after it has compiled it or found it in its cache, so kernels of the cache are checked too. Findings
go to stderr, with the line of Python that an instruction comes from; `enable(raise_errors=True)` makes errors exceptions of
the launch. No GPU is needed beyond what Triton itself asks for.
"""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._checked import Checked, checked, judge, never_breaks

__all__ = ["Checked", "checked", "disable", "enable"]


class _Listener:
    """What Triton calls, in place of a listener that was there before, which is called too."""

    def __init__(self, before: Optional[Callable[..., None]], raise_errors: bool, settings: Dict[str, Any]) -> None:
        self.before = before
        self.raise_errors = raise_errors
        self.settings = settings
        self.seen: "set[str]" = set()

    def __call__(self, *, src: Any, metadata: Mapping[str, Any], metadata_group: Mapping[str, str], times: Any,
                 cache_hit: bool) -> None:
        if self.before:
            self.before(src=src, metadata=metadata, metadata_group=metadata_group, times=times, cache_hit=cache_hit)
        name = str(metadata.get("name"))
        with never_breaks(name):
            path = next((p for p in metadata_group.values() if str(p).endswith(".ptx")), None)
            if path is None or path in self.seen:
                return
            self.seen.add(path)
            judge(name, pathlib.Path(path), assume=_facts(pathlib.Path(path), metadata), raise_errors=self.raise_errors,
                  **self.settings)


def _facts(path: pathlib.Path, metadata: Mapping[str, Any]) -> List[str]:
    """What Triton knows of the launch and the PTX does not say."""
    facts = []
    ctas, shared = metadata.get("num_ctas"), metadata.get("shared")
    if ctas:
        facts.append(f"cluster={ctas}")
    if shared:
        facts.append(f"smem={shared}")
    if ".reqntid" not in path.read_text(encoding="utf-8") and metadata.get("num_warps"):
        facts.append(f"block={32 * metadata['num_warps']}")
    return facts


def enable(*, raise_errors: bool = False, budget: Optional[float] = None, lint: bool = False) -> None:
    """Checks kernels from now on. `budget` is the seconds that one may take, else $KILN_BUDGET or 0.1; `lint` adds notes on what
    costs time."""
    import triton

    disable()
    checked.clear()
    triton.knobs.compilation.listener = _Listener(triton.knobs.compilation.listener, raise_errors,
                                                  {"budget": budget, "lint": lint})


def disable() -> None:
    """Ends what `enable` began; `checked` keeps what there was."""
    import triton

    listener = triton.knobs.compilation.listener
    if isinstance(listener, _Listener):
        triton.knobs.compilation.listener = listener.before
