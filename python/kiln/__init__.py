"""Kiln for Python: find what is wrong with NVIDIA PTX, run it on the CPU, predict its time, rewrite it.

    report = kiln.check(ptx)              # or a path
    report.raise_for_errors()

Functions that take PTX take its text, or the path of a file: a pathlib.Path, or a string without a line break. A launch contract
is a dict, as docs/launch-contract.md of Kiln describes it, or the path of a JSON file.
"""

from ._calls import Gemm, Maps, Prediction, Simulation, check, emit, gemm, gpu, launch_of, lower, maps, sim, time
from ._command import CommandError, InputError, InternalError, command_path, version
from ._report import CheckError, Edit, Finding, Note, Place, Report

__all__ = ["CheckError", "CommandError", "Edit", "Finding", "Gemm", "InputError", "InternalError", "Maps", "Note", "Place", "Prediction",
           "Report", "Simulation", "check", "command_path", "emit", "gemm", "gpu", "launch_of", "lower", "maps", "sim", "time", "version"]
