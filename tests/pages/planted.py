#!/usr/bin/env python3
"""A mistake in a block of each kind, and beside the blocks, is found by tools/check_blocks; without it nothing is.

    tests/pages/planted.py FOLDER      FOLDER is the build folder
"""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("check_blocks", str(ROOT / "tools" / "check_blocks"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_blocks", loader))
loader.exec_module(check)


def block(kind, text):
    return f"A page.\n\n```{kind}\n{text}```\n"


def shown(page, kind):
    """The text of the first block of a kind that a page has."""
    text = (ROOT / page).read_text()
    return next(found[2] for found in check.FENCE.finditer(text) if found[1] == kind)


# (page, what is right, what of it is replaced, by what, a part of what must be said)
PLANTED = [
    ("docs/a.md", block("sh", "kiln check --fix k.ptx\n"), "--fix", "--fixx", "kiln check has no option --fixx"),
    ("docs/a.md", block("sh", "kiln sim k.ptx | tail\n"), "sim", "simulate", "kiln has no command simulate"),
    ("docs/a.md", block("sh", "make demo\n"), "demo", "demos", "make has no target demos"),
    ("docs/a.md", block("sh", "if true; then kiln doctor; fi\n"), "; fi", "", "syntax error"),
    ("docs/a.md", block("sh", "scripts/bootstrap demo\n"), "bootstrap", "bootstraps", "there is no scripts/bootstraps"),
    ("docs/paths/check.md", block("sh", shown("docs/paths/check.md", "sh")), "kiln_ptx-", "kiln-ptx-", "the wheel is called"),
    ("docs/schedules.md", block("sh run", "kiln check k.ptx\n"), "k.ptx", "no.ptx", "ends with 2"),
    ("README.md", block("cmake", shown("README.md", "cmake")), "kiln 0.1", "kiln 9.1", "cmake ends with 1"),
    ("docs/first-kernel.md", block("cmake", shown("docs/first-kernel.md", "cmake")) + block("c++ file", "\n"), "add_kernels", "add_kernel", "cmake ends"),
    ("docs/adopt.md", block("yaml", shown("docs/adopt.md", "yaml")), "kiln-check", "kiln-chek", "Kiln has no such hook"),
    ("docs/adopt.md", block("yaml", shown("docs/adopt.md", "yaml")), "--baseline,", "--base-line,", "has no option --base-line"),
    ("docs/adopt.md", block("lua", shown("docs/adopt.md", "lua")), "vim.lsp.enable", "vim.lsp.start_all", "Neovim has no vim.lsp.start_all"),
    ("docs/adopt.md", block("lua", shown("docs/adopt.md", "lua")), '"lsp" }', '"lspd" }', "kiln has no command lspd"),
    ("docs/launch-contract.md", block("json", shown("docs/launch-contract.md", "json")), '"box": [64, 128]', '"bax": [64, 128]',
     "kiln check --launch ends with 2"),
    ("chips/README.md", block("json", shown("chips/README.md", "json")), '"unit": "count"', '"unit": "bytes"', "kiln time --chip"),
    ("docs/HACKING.md", block("diff", shown("docs/HACKING.md", "diff")), "9, 2,", "9, 3,", "the file has no line"),
    ("docs/a.md", block("ptx", shown("verifier/explore/README.md", "ptx")), "mbarrier.init", "mbarrier.start", "mbarrier.start"),
    ("docs/a.md", block("text", "x\n"), "text", "rust", "nothing judges a block of rust"),
    ("docs/a.md", block("text", "$ kiln map gemm_bf16\n"), "map", "maps", "kiln has no command maps"),
    ("docs/a.md", "Say `kiln check --strict`.\n", "--strict", "--stricter", "kiln check has no option --stricter"),
    ("docs/a.md", "Set `KILN_CHECK`.\n", "CHECK", "CHEKC", "nothing reads "),
]


def said(page, text, scratch, build, kiln, known):
    return [what for _, what in check.mistakes(page, text, scratch, build, kiln, known)]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    kiln, known = check.Command(build / "kiln"), check.variables()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for page, right, old, new, expected in PLANTED:
            assert old in right, (page, old)
            without, planted = (said(page, text, scratch, build, kiln, known) for text in (right, right.replace(old, new, 1)))
            if without or len(planted) != 1 or expected not in planted[0]:
                print(f"{page}: {old} -> {new}: expected \"{expected}\"; without it {without}, with it {planted}")
                wrong += 1
    print(f"{len(PLANTED)} mistakes planted, {wrong} not found as expected")
    sys.exit(wrong != 0)


main()
