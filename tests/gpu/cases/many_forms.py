"""What the generators of cases about numbers share: many forms of instructions, each over the same operands."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
PTXAS = os.environ.get("KILN_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
HEAD = "// Made by {maker}. {what}\n.version 8.8\n.target sm_90a\n.address_size 64\n"
FORMS_PER_ENTRY = 12
THREADS = 256
STORE = {16: "u16", 32: "u32", 64: "u64"}


class Form:
    """An instruction: `text` with {d}, and {x} {y} {z} (words), {xh} {yh} {zh} (their low halves). With `memory`, what
    counts is not d but what {m}, the address of the result, holds then."""

    def __init__(self, text, bits=32, name=None, memory=False):
        self.text, self.bits, self.memory = text, bits, memory
        self.name = name or text.split(" ")[0].rstrip(";")

    def written(self, number):
        place = {"d": f"%d{number}", "p": f"%q{number}", "m": f"%m{number}"}
        place |= {v: f"%{v}" for v in ("x", "y", "z", "xh", "yh", "zh", "xl", "yl")}
        return self.text.format(**place)


def body(forms, width, exhaustive):
    """The instructions of an entry: operands, forms, stores."""
    names = [f"p{i}" for i in range(len(forms) + (0 if exhaustive else 3))]
    text = ".reg .b64 %p<{}>, %at;\n.reg .b32 %i, %n, %t;\n.reg .b16 %xh, %yh, %zh, %hi;\n".format(len(names))
    text += ".reg .pred " + ", ".join(f"%q{i}" for i in range(len(forms))) + ";\n"
    text += "".join(f".reg .b{f.bits} %d{i};\n" for i, f in enumerate(forms))
    text += f".reg .b{width} %x, %y, %z;\n.reg .b32 %xl, %yl;\n"
    text += "".join(f"ld.param.u64 %p{i}, [{n}];\n" for i, n in enumerate(names))
    text += f"mov.u32 %i, %tid.x;\nmov.u32 %n, %ctaid.x;\nmad.lo.u32 %i, %n, {THREADS}, %i;\n"
    if exhaustive:  # the low half counts up, the high half goes through all words in another order
        text += (
            "mad.lo.u32 %y, %i, 40503, 12345;\nshl.b32 %y, %y, 16;\nor.b32 %x, %i, %y;\nmov.b32 %y, %x;\n"
            "mov.b32 %z, %x;\n"
        )
    else:
        for i, v in enumerate("xyz"):
            text += f"mad.wide.u32 %at, %i, {width // 8}, %p{i};\nld.global.b{width} %{v}, [%at];\n"
    if width == 32:
        text += "".join(f"mov.b32 {{%{v}h, %hi}}, %{v};\n" for v in "xyz")
        text += "mov.b32 %xl, %x;\nmov.b32 %yl, %y;\n"
    else:
        text += "".join(f"cvt.u32.u64 %{v}l, %{v};\n" for v in "xy")
    for i, f in enumerate(forms):
        if f.memory:
            text += f".reg .b64 %m{i};\nmad.wide.u32 %m{i}, %i, {f.bits // 8}, %p{i + len(names) - len(forms)};\n"
    if any("%slot" in f.text for f in forms):
        text += (
            ".shared .align 16 .b8 slots[4096];\n.reg .b32 %slot;\nmov.u32 %slot, slots;\nmov.u32 %t, %tid.x;\n"
            "mad.lo.u32 %slot, %t, 16, %slot;\n"
        )
    for i, f in enumerate(forms):
        text += f.written(i) + "\n"
    for i, f in enumerate(forms):
        if f.memory:
            continue
        text += f"mad.wide.u32 %at, %i, {f.bits // 8}, %p{i + len(names) - len(forms)};\n"
        text += f"st.global.b{f.bits} [%at], %d{i};\n"
    return names, text


def prepare(width, count, edges, masks):
    """Fills x, y and z: a quarter pairs of edge words, a quarter random words, a quarter for each (and, or) mask."""
    quarter, reg = count // 4, f"b{width}"
    text = (
        ".visible .entry prepare(.param .u64 r, .param .u64 e, .param .u64 px, .param .u64 py, .param .u64 pz)\n{\n"
        f".reg .b64 %r, %e, %x, %at;\n.reg .b32 %i, %n, %q, %k, %h;\n.reg .{reg} %w;\n.reg .pred %p0, %p2, %p3;\n"
        "ld.param.u64 %r, [r];\nld.param.u64 %e, [e];\nmov.u32 %i, %tid.x;\nmov.u32 %n, %ctaid.x;\n"
        f"mad.lo.u32 %i, %n, {THREADS}, %i;\ndiv.u32 %q, %i, {quarter};\nsetp.eq.u32 %p0, %q, 0;\n"
        "setp.eq.u32 %p2, %q, 2;\nsetp.eq.u32 %p3, %q, 3;\nmul.lo.u32 %h, %i, 2654435761;\nshr.u32 %h, %h, 16;\n"
    )
    pick = {"x": "mov.u32 %k, %i;", "y": f"div.u32 %k, %i, {edges};", "z": "mov.u32 %k, %h;"}
    for n, v in enumerate("xyz"):
        text += (
            f"add.u32 %n, %i, {n * count};\nmad.wide.u32 %at, %n, {width // 8}, %r;\nld.global.{reg} %w, [%at];\n"
            f"@%p2 and.{reg} %w, %w, {masks[0][0]};\n@%p2 or.{reg} %w, %w, {masks[0][1]};\n"
            f"@%p3 and.{reg} %w, %w, {masks[1][0]};\n@%p3 or.{reg} %w, %w, {masks[1][1]};\n"
            f"{pick[v]}\nrem.u32 %k, %k, {edges};\nmad.wide.u32 %at, %k, {width // 8}, %e;\n"
            f"@%p0 ld.global.{reg} %w, [%at];\nld.param.u64 %x, [p{v}];\nmad.wide.u32 %at, %i, {width // 8}, %x;\n"
            f"st.global.{reg} [%at], %w;\n"
        )
    return text + "ret;\n}\n"


def refused(text):
    """The lines of a PTX text that ptxas refuses."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "k.ptx")
        path.write_text(text)
        said = subprocess.run(
            [PTXAS, "-arch=sm_90a", "-o", "/dev/null", str(path)], capture_output=True, text=True
        ).stderr
    return {int(line) for line in re.findall(r"line (\d+); error", said)}


def accepted(forms, width):
    """The forms that ptxas takes for sm_90a."""
    forms = list({f.name: f for f in forms}.values())
    kept = []
    for start in range(0, len(forms), 200):
        some = forms[start : start + 200]
        while some:
            names, text = body(some, width, False)
            params = ", ".join(f".param .u64 {n}" for n in names)
            text = HEAD.format(maker="", what="") + f".visible .entry k({params})\n{{\n{text}ret;\n}}\n"
            lines, bad = text.split("\n"), refused(text)
            words = {lines[n - 1] for n in bad}
            left = [f for i, f in enumerate(some) if not any(f.written(i) == w for w in words)]
            if len(left) == len(some):
                if bad:
                    raise SystemExit(f"ptxas refuses {sorted(words)}")
                break
            some = left
        kept += some
    return kept


def write(name, what, maker, forms, width=32, count=16384, edges=None, masks=None):
    """One case. Without `edges`, the operands are all words of 16 bits."""
    exhaustive = edges is None
    forms = accepted(forms, width)
    if exhaustive:
        count = 65536
    text, buffers, launches = HEAD.format(maker=maker, what=what), {}, []
    grid = [count // THREADS]
    if not exhaustive:
        text += prepare(width, count, len(edges), masks)
        words = "".join((e & (1 << width) - 1).to_bytes(width // 8, "little").hex() for e in edges)
        buffers["random"] = {
            "dtype": "u32",
            "shape": [3 * count * width // 32],
            "init": {"integers": [0, 2**32 - 1], "seed": len(forms)},
        }
        buffers["edges"] = {"dtype": STORE[width], "shape": [len(edges)], "init": {"hex": words}}
        buffers |= {v: {"dtype": STORE[width], "shape": [count], "init": "zeros"} for v in "xyz"}
        launches.append(
            {
                "entry": "prepare",
                "grid": grid,
                "block": [THREADS],
                "params": [{"buffer": b} for b in ("random", "edges", "x", "y", "z")],
            }
        )
    for start in range(0, len(forms), FORMS_PER_ENTRY):
        some = forms[start : start + FORMS_PER_ENTRY]
        names, inside = body(some, width, exhaustive)
        entry = f"k{start // FORMS_PER_ENTRY:03}"
        params = ", ".join(f".param .u64 {n}" for n in names)
        text += f".visible .entry {entry}({params})\n{{\n{inside}ret;\n}}\n"
        buffers |= {f.name: {"dtype": STORE[f.bits], "shape": [count], "init": "zeros"} for f in some}
        order = ([] if exhaustive else list("xyz")) + [f.name for f in some]
        launches.append({"entry": entry, "grid": grid, "block": [THREADS], "params": [{"buffer": n} for n in order]})
    (FOLDER / f"{name}.ptx").write_text(text)
    rows = ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in buffers.items())
    runs = ",\n  ".join(json.dumps(launch) for launch in launches)
    (FOLDER / f"{name}.json").write_text(f'{{"buffers": {{\n  {rows}}},\n "launches": [\n  {runs}]}}\n')
    print(f"{name}: {len(forms)} forms")
