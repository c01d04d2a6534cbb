"""The text tests of Kiln. Run through ctest, or one file at a time: lit -v build/lit/verify/<file>.ptx

  %kiln        the command, or KILN_COMMAND    %FileCheck   FileCheck (also on PATH, as is `not`)
  %ptxas       ptxas of CUDA 13               %gxx         g++ that only checks a file against the headers of Kiln
  %at_most N   passes its input on, and fails  %clangxx    clang++, the same
               when that has more than N lines  %build_with_gxx  g++ that makes a program
  %two_mistakes  the command over Inputs/two_mistakes.cpp of lit/command
  %forms       the examples of tests/forms     %unnumbered  takes the numbers off registers: %r12 becomes %r
  %sarif FILE  judges SARIF (tests/data/sarif)
  REQUIRES: ptxas | gpu | clang
"""
import os
import subprocess
import sys

import lit.formats

if not hasattr(config, "kiln_source_dir"):
    lit_config.fatal("run lit on the build tree: lit -v build/lit/<suite>/<file>")

config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cpp"] if config.name == "compile_fail" else [".ptx", ".test"]
config.excludes = ["Inputs"]

# FileCheck's own folder comes along: the unversioned FileCheck, not, split-file and count live there.
llvm_bin = os.path.dirname(os.path.realpath(config.kiln_filecheck))
config.environment["PATH"] = os.pathsep.join([llvm_bin, os.environ["PATH"]])
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["KILN_CACHE"] = "/dev/null"  # nothing is kept: each test judges
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "CCACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# A run must not depend on what the machine calls ptxas: the one that CMake found, or the one that the user names.
ptxas = os.environ.get("KILN_PTXAS", config.kiln_ptxas)
if ptxas:
    config.environment["KILN_PTXAS"] = ptxas
    config.available_features.add("ptxas")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("gpu")
if config.kiln_clangxx:
    config.available_features.add("clang")


def flags(*first_folders):
    words = ["-std=c++20", "-Wall", "-Wextra", *(f"-I{folder}" for folder in first_folders), f"-I{config.kiln_source_dir}"]
    for folder in dict.fromkeys(config.kiln_include_dirs.split(";")):
        if folder and folder not in (config.kiln_source_dir, "/usr/include"):
            words += ["-isystem", folder]
    return words


def precompile(compiler, header, output):
    """Parses a header once for all tests of the suite. It is done at each start, so it is never older than the header."""
    os.makedirs(os.path.dirname(output), exist_ok=True)
    source = os.path.join(config.kiln_source_dir, header)
    subprocess.run([compiler, *flags(), "-w", "-x", "c++-header", source, "-o", output],
                   check=True)


def syntax_check(compiler):
    """A command that compiles a file against Kiln's headers as a user would, without writing anything."""
    return " ".join([compiler, "-fsyntax-only", *flags()])


# Most files of compile_fail include dsl/warp.hpp first. g++ takes DIR/dsl/warp.hpp.gch for that #include; clang++ is given
# its own on the command line, and the #include then finds the header read.
gxx, clangxx = syntax_check(config.kiln_gxx), syntax_check(config.kiln_clangxx or "clang++-not-found")
if config.name == "compile_fail":
    precompiled = os.path.join(config.test_exec_root, "precompiled")
    precompile(config.kiln_gxx, "dsl/warp.hpp", f"{precompiled}/dsl/warp.hpp.gch")
    gxx = " ".join([config.kiln_gxx, "-fsyntax-only", *flags(precompiled)])
    if config.kiln_clangxx:
        precompile(config.kiln_clangxx, "dsl/warp.hpp", f"{precompiled}/warp.pch")
        clangxx += f" -include-pch {precompiled}/warp.pch"


config.substitutions += [
    ("%kiln", os.environ.get("KILN_COMMAND", config.kiln_command)),
    ("%forms", config.kiln_forms),
    ("%two_mistakes", config.kiln_two_mistakes),
    ("%unnumbered", r"sed -E 's/%(rd|rq|[rfhpb])[0-9]+/%\1/g'"),
    ("%ptxas", ptxas or "ptxas-not-found"),
    ("%FileCheck", config.kiln_filecheck),
    ("%gxx", gxx),
    ("%build_with_gxx", f"{config.kiln_gxx} -std=c++17 -Wall -Wextra -Werror"),
    ("%clangxx", clangxx),
    # Debian's own Python has jsonschema (scripts/bootstrap test).
    ("%sarif", f"/usr/bin/python3 -B {config.kiln_source_dir}/tests/data/sarif/check"),
    ("%at_most", f"{sys.executable} -B {config.kiln_source_dir}/tools/at_most"),
    ("%scoreboard", f"{sys.executable} -B {config.kiln_source_dir}/bench/scoreboard"),
    ("%gpu_table", f"{sys.executable} -B {config.kiln_source_dir}/bench/gpu_table"),
]
