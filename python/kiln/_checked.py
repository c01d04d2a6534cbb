"""Every kernel that a hook of this module saw compiled, and what was found: what `kiln.triton` and its like share."""

from __future__ import annotations

import pathlib
import sys
from typing import List, NamedTuple, Optional, Sequence, Union

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
