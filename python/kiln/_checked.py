"""Every kernel that a hook of this module saw compiled, and what was found: what `kiln.triton` and its like share."""

from __future__ import annotations

import functools
import pathlib
import re
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Union

from ._calls import check
from ._command import CommandError
from ._report import Report


class Checked(NamedTuple):
    """A kernel that was checked."""

    name: str
    report: Report


checked: List[Checked] = []
"""Every kernel that was checked since a hook was enabled, in order."""


def judge(name: str, ptx: Union[str, pathlib.Path], *, assume: Sequence[str] = (), raise_errors: bool = False,
          **settings: object) -> Optional[Report]:
    """Checks a kernel, says on stderr what is wrong, and notes it in `checked`. A failure of Kiln is said and is no exception:
    the program that compiles goes on."""
    try:
        report = check(ptx, assume=assume, **settings)  # type: ignore[arg-type]
    except CommandError as error:
        print(f"kiln: {name}: not checked: {error}", file=sys.stderr)
        return None
    checked.append(Checked(name, report))
    if report.findings:
        wrong = Report(report.errors + report.portability).grouped()
        print((wrong + "\n" if wrong else "") + f"kiln: {name}: {report.summary}", file=sys.stderr)
    if raise_errors:
        report.raise_for_errors()
    return report


def name_of(ptx: str, unnamed: str) -> str:
    """The first kernel of a text; `unnamed` where there is none."""
    entry = re.search(r"\.entry\s+([\w$]+)", ptx)
    return entry[1] if entry else unnamed


class Replaced:
    """A function of a package that compiles, with one of this module around it."""

    def __init__(self) -> None:
        self._owner: Any = None
        self._name = ""
        self._original: Any = None

    def set(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Puts what `around` makes of the function in its place; one that was replaced before is itself again first."""
        self.restore()
        self._owner, self._name, self._original = owner, name, getattr(owner, name)
        setattr(owner, name, functools.wraps(self._original)(around(self._original)))

    def restore(self) -> None:
        if self._owner is not None:
            setattr(self._owner, self._name, self._original)
            self._owner = self._original = None
