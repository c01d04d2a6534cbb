"""Every kernel that a hook of this module saw compiled, and what was found: what `kiln.triton` and its like share."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import sys
import threading
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, Union

from ._calls import check
from ._command import InputError
from ._report import CheckError, Finding, Note, Place, Report


class Checked(NamedTuple):
    """A kernel that was checked."""

    name: str
    report: Report


checked: List[Checked] = []
"""Every kernel that was checked since a hook was enabled, in order."""


def budget_of(given: Optional[float] = None) -> float:
    """Seconds that the check of a kernel may take: as given, else $KILN_BUDGET, else what `kiln ptxas` takes."""
    if given is not None:
        return given
    text = os.environ.get("KILN_BUDGET") or "0.1"
    try:
        budget = float(text)
    except ValueError:
        budget = 0.0
    if not budget > 0:
        raise InputError(f"KILN_BUDGET: must be a number of seconds above 0; got '{text}'")
    return budget


def judge(name: str, ptx: Union[str, pathlib.Path], *, assume: Sequence[str] = (), raise_errors: bool = False,
          budget: Optional[float] = None, lint: bool = False) -> None:
    """Checks a kernel, says what is wrong, and notes it in `checked`."""
    def check_now() -> None:
        with never_breaks(name):
            report = at_lines_of_python(check(ptx, assume=assume, budget=budget_of(budget), lint=lint))
            checked.append(Checked(name, report))
            if report.findings:
                say(overview(name, report, ptx))
            if raise_errors:
                report.raise_for_errors()

    if _background is None or raise_errors:
        check_now()
    else:
        _background.start(check_now)


class _Background:
    """Calls in threads of their own, a few at once. Python waits for them before it ends."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)  # the threads that hold a slot stay in the parent

    def _renew(self) -> None:
        self._slots = threading.Semaphore(max(1, (os.cpu_count() or 1) // 2))

    def start(self, call: Callable[[], None]) -> None:
        slots = self._slots

        def run() -> None:
            with slots:
                call()

        threading.Thread(target=run, name="kiln").start()


_background: Optional[_Background] = None


def check_in_background() -> None:
    """From now on, kernels are checked while the program goes on, unless errors are to be raised."""
    global _background
    _background = _background or _Background()


@contextlib.contextmanager
def never_breaks(name: str) -> Iterator[None]:
    """A failure of Kiln is said in one line and is no exception: the program that compiles goes on."""
    try:
        yield
    except CheckError:
        raise
    except Exception as error:  # of what is around Kiln, too: a package that has changed, a full disk
        say(f"kiln: {name}: not checked: " + " ".join(str(error).split() or [type(error).__name__]))


_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+\s+\d+\s+\d+)(?:\s*,\s*function_name\s+[^,\n]+,\s*inlined_at\s+(\d+\s+\d+\s+\d+))?")


def at_lines_of_python(report: Report) -> Report:
    """The report with the line of Python that called what was inlined: a producer that writes CUDA C++ has functions of its own
    there."""
    text = report.text or ""
    files = {number: name for number, name in _FILE.findall(text) if name.endswith(".py")}
    if not files:
        return report
    calls = {tuple(at.split()): tuple(call.split()) for at, call in _LOC.findall(text) if call}

    def moved(finding: Finding) -> Finding:
        place, source = finding.place, finding.source
        if place is None or source is None or source.file.endswith(".py"):
            return finding
        before = _LOC.findall("\n".join(text.split("\n")[:place.line]))
        call = tuple(before[-1][1].split()) if before else ()
        for _ in calls:
            if not call or call[0] in files:
                break
            call = calls.get(call, ())
        if not call or call[0] not in files:
            return finding
        here = Note("in what is called here", source)
        return dataclasses.replace(finding, source=Place(files[call[0]], int(call[1])), notes=(here, *finding.notes))

    return Report(tuple(moved(f) for f in report.findings), report.text)


def overview(name: str, report: Report, ptx: Union[str, pathlib.Path]) -> str:
    """Errors in full, and one line for all else, which says how each is shown; with KILN_SHOW=all each is."""
    shows_all = os.environ.get("KILN_SHOW") == "all"
    lines = [str(f) for f in (report.findings if shows_all else report.errors)]
    last = f"kiln: {name}: {report.summary_by_rule}"
    if len(lines) < len(report):
        how = f"kiln check {ptx}" if isinstance(ptx, pathlib.Path) else "KILN_SHOW=all"
        last += f"; {how} shows each"
    return "\n".join([*lines, last])


def say(text: str) -> None:
    """To stderr, and to the file that $KILN_CHECK_LOG names."""
    print(text, file=sys.stderr)
    log = os.environ.get("KILN_CHECK_LOG")
    if log:
        try:
            with open(log, "a", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            print(f"kiln: KILN_CHECK_LOG: {log}: {error.strerror}", file=sys.stderr)


def keep_options(folder: str) -> List[str]:
    """What has nvcc leave the PTX in a folder, where `judge_folder` finds it."""
    return ["--keep", f"--keep-dir={folder}"]


def judge_folder(folder: Union[str, pathlib.Path], unnamed: str, **settings: Any) -> None:
    """Checks the PTX files with kernels that a compiler kept in a folder."""
    with never_breaks(unnamed):
        for path in sorted(pathlib.Path(folder).glob("*.ptx")):
            text = path.read_text(encoding="utf-8")
            if ".entry" in text:
                judge(name_of(text, unnamed), text, **settings)


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
