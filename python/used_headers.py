"""used_headers.py COMPILER SOURCE_DIR OUTPUT: copies the headers that a kernel in C++ needs. Those of the DSL as they are;
of Boost.Hana those that they include."""
import pathlib
import shutil
import subprocess
import sys

FOLDERS = ["dsl", "launch", "ptx/diag", "ptx/ir", "ptx/isa", "ptx/rules"]


def main():
    compiler, source, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(output, ignore_errors=True)
    ours = [path for folder in FOLDERS for path in sorted((source / folder).rglob("*")) if path.suffix in (".hpp", ".def")]
    for path in ours:
        target = output / "kiln" / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    program = "".join(f'#include "{path.relative_to(source)}"\n' for path in ours
                      if path.suffix == ".hpp" and path.parts[-2] != "diag")
    said = subprocess.run([compiler, "-std=c++20", "-M", f"-I{source}", "-x", "c++", "-"], input=program, text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    used = {pathlib.Path(word) for word in said.replace("\\\n", " ").split() if "/boost/" in word}
    for path in sorted(used):
        parts = path.parts
        target = output.joinpath(*parts[parts.index("boost"):])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    if not used:
        sys.exit("used_headers: the compiler names no header of Boost")


main()
