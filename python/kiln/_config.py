"""kiln-config: where the parts of the wheel are, for a build system."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import List, Optional

from ._command import CommandError, command_path, version

ROOT = pathlib.Path(__file__).resolve().parent


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="kiln-config", description="Where the parts of Kiln are, one a line.")
    parser.add_argument("--cmakedir", action="store_true", help="the folder of the CMake package: cmake -Dkiln_DIR=...")
    parser.add_argument("--includedir", action="store_true", help="the headers of the DSL: -I")
    parser.add_argument("--systemincludedir", action="store_true", help="the headers of Boost.Hana that they use: -isystem")
    parser.add_argument("--command", action="store_true", help="the command")
    parser.add_argument("--version", action="store_true", help="the version of the command")
    asked = parser.parse_args(arguments)
    if not any(vars(asked).values()):
        parser.print_help()
        return 2
    if (asked.cmakedir or asked.includedir or asked.systemincludedir) and not (ROOT / "cmake").is_dir():
        print("kiln-config: error: the headers travel in the wheel, and this module was not installed from one",
              file=sys.stderr)
        return 1
    try:
        for wanted, value in ((asked.cmakedir, lambda: ROOT / "cmake"), (asked.includedir, lambda: ROOT / "include/kiln"),
                              (asked.systemincludedir, lambda: ROOT / "include"), (asked.command, command_path),
                              (asked.version, version)):
            if wanted:
                print(value())
    except CommandError as error:
        print(f"kiln-config: error: {error}", file=sys.stderr)
        return 1
    return 0
