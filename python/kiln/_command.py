"""The command `kiln` as a child process."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import List, NamedTuple, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


class CommandError(Exception):
    """The command could not do what was asked for."""


class InputError(CommandError, ValueError):
    """What was given cannot be used: a file, an option, a launch contract."""


class InternalError(CommandError, RuntimeError):
    """A mistake of Kiln, or a command that is not there or was ended by a signal."""


class Output(NamedTuple):
    """How the command ended and what it wrote."""

    code: int
    out: str
    err: str


def command_path() -> str:
    """The command that every function starts: $KILN, the one that was installed with this module, or that of $PATH."""
    chosen = os.environ.get("KILN")
    if chosen:
        return chosen
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable),
               sysconfig.get_path("scripts", f"{os.name}_user")]
    for folder in folders:
        candidate = pathlib.Path(folder or ".") / "kiln"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("kiln")
    if not found:
        raise InternalError("the command kiln is neither beside this Python nor on PATH; $KILN may name it")
    return found


def run(arguments: Sequence[str], text: Optional[str] = None) -> Output:
    """Starts the command and waits. Raises InputError for its exit code 2, and InternalError when it breaks."""
    try:
        done = subprocess.run([command_path(), *arguments], input=None if text is None else text.encode(),
                              stdin=subprocess.DEVNULL if text is None else None, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise InternalError(f"kiln cannot be started: {error}") from error
    output = Output(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))
    if output.code == 2:
        raise InputError(_message(output.err))
    if output.code not in (0, 1, 3):
        raise InternalError(_message(output.err) or f"kiln ended with {output.code}")
    return output


def _message(err: str) -> str:
    lines = err.strip().splitlines()
    return "\n".join(line[len("error: "):] if line.startswith("error: ") else line for line in lines)


def version() -> str:
    """The version of the command: "0.1.0"."""
    return run(["--version"]).out.split()[-1]


def options(**values: object) -> List[str]:
    """Options of the command by name: True is a flag, None and False are left out, a sequence repeats the option."""
    words: List[str] = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            for one in value:
                words += [option, str(one)]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words
