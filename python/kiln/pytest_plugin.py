"""pytest --kiln: each kernel that a test compiles is checked, and each launch without a GPU is simulated.

A test fails where one of its kernels has errors, and at a launch whose simulation finds some. What a test compiled and what was
found is a section of its report. Kernels come from the hooks of this module: Triton and what builds on it, the CuTe DSL, TileLang,
Tilus. Launches of Triton are simulated.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any, Dict, Generator, List

import pytest

from _kiln_hooks import PRODUCERS

from . import _checked
from ._report import Report

_HELP = {
    "--kiln": "check each kernel that a test compiles, and simulate launches where there is no GPU",
    "--kiln-budget": "seconds that the check of a kernel may take [1]",
    "--kiln-capability": "the GPU that kernels are compiled for where there is none: 90, 100, 103, 120 [100]",
    "--kiln-max-steps": "warp instructions of a CTA after which a simulated launch ends with an error",
}


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("kiln", "kernels on the GPU")
    group.addoption("--kiln", action="store_true", help=_HELP["--kiln"])
    group.addoption("--kiln-budget", type=float, default=1.0, metavar="SECONDS", help=_HELP["--kiln-budget"])
    group.addoption("--kiln-capability", type=int, default=100, metavar="SM", help=_HELP["--kiln-capability"])
    group.addoption("--kiln-max-steps", type=int, metavar="N", help=_HELP["--kiln-max-steps"])


def pytest_configure(config: Any) -> None:
    if config.getoption("--kiln"):
        config.pluginmanager.register(_Watcher(config), "kiln-watcher")


def _has_gpu() -> bool:
    return os.path.exists("/dev/nvidiactl")


class _Watcher:
    """What runs beside the tests."""

    def __init__(self, config: Any) -> None:
        self.budget: float = config.getoption("--kiln-budget")
        self.capability: int = config.getoption("--kiln-capability")
        self.max_steps = config.getoption("--kiln-max-steps")
        self.kernels: List[_checked.Checked] = []
        self.simulated = 0
        self.producers: List[Any] = []
        self.simulator: Any = None

    def pytest_sessionstart(self) -> None:
        _checked.checked.clear()
        for hook, package in PRODUCERS.items():
            if importlib.util.find_spec(package):
                producer = importlib.import_module(f"kiln.{hook}")
                with _checked.never_breaks(f"the hook {hook}"):
                    producer.enable(budget=self.budget)
                    self.producers.append(producer)
        if importlib.util.find_spec("triton") and not _has_gpu():
            from . import simulated_gpu

            simulated_gpu.enable(self.capability, max_steps=self.max_steps)
            self.simulator = simulated_gpu
            self.producers.append(simulated_gpu)

    def pytest_sessionfinish(self) -> None:
        for producer in reversed(self.producers):
            producer.disable()

    @pytest.hookimpl(hookwrapper=True)  # a new-style wrapper needs pluggy 1.2, which Debian 12 has not
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        before = len(_checked.checked)
        launches_before = self._launches()
        outcome = yield
        new = self._note(item, before, launches_before)
        wrong = next((kernel for kernel in new if not kernel.report.ok), None)
        if wrong is not None and outcome.excinfo is None:
            said = f"{wrong.name}: {wrong.report.summary}\n{Report(wrong.report.errors).grouped()}"
            failure = pytest.fail.Exception(said, pytrace=False)
            if not hasattr(outcome, "force_exception"):
                raise failure
            outcome.force_exception(failure)  # pluggy from 1.1 warns of wrappers that raise

    def _note(self, item: Any, before: int, launches_before: int) -> List[_checked.Checked]:
        """What a test compiled; what was found is a section of its report."""
        new = _checked.checked[before:]
        self.kernels += new
        self.simulated += self._launches() - launches_before
        wrong = [kernel for kernel in new if kernel.report.findings]
        if wrong:
            item.add_report_section("call", "kiln", "\n".join(f"{k.name}: {k.report.summary}\n{k.report.grouped()}"
                                                              for k in wrong))
        return new

    def _launches(self) -> int:
        return len(self.simulator.launches) if self.simulator else 0

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts: Dict[str, int] = {}
        for kernel in self.kernels:
            for finding in kernel.report.findings:
                counts[finding.severity] = counts.get(finding.severity, 0) + 1
        found = ", ".join(f"{n} {severity}" for severity, n in counts.items()) or "clean"
        terminalreporter.write_sep("-", f"kiln: {len(self.kernels)} kernels checked: {found}; "
                                        f"{self.simulated} launches simulated")
        if not self.producers:
            terminalreporter.write_line("kiln: no producer of kernels that it knows is installed (Triton, CuTe DSL, TileLang, Tilus)")
