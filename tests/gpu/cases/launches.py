"""What the generators of cases about copies and barriers share: a few kernels, many launches of each."""

import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
HEAD = "// Made by {maker}. {what}\n.version 8.8\n.target sm_90a\n.address_size 64\n"
THREADS = 128
TILE = 16384  # bytes of shared memory that a copy may touch; barriers lie after them


class Case:
    """One PTX file with its contract."""

    def __init__(self, name, what, maker):
        self.name, self.text = name, HEAD.format(what=what, maker=maker)
        self.text += ".extern .shared .align 1024 .b8 tile[];\n"
        self.entries, self.launches, self.buffers, self.maps = set(), [], {}, {}

    def entry(self, name, params, body):
        """A kernel, written once. `params`: (type, name); all are loaded into registers of their names."""
        if name in self.entries:
            return
        self.entries.add(name)
        declared = ", ".join(".param .align 64 .b8 map[128]" if t == "map" else f".param .{t} {n}" for t, n in params)
        text = PRELUDE + "".join(
            (
                "mov.b64 %map, map;\ncvta.param.u64 %map, %map;\n"
                if t == "map"
                else f".reg .b{t[1:]} %{n};\nld.param.{t} %{n}, [{n}];\n"
            )
            for t, n in params
        )
        self.text += f".visible .entry {name}({declared})\n{{\n{text}{body}ret;\n}}\n"

    def buffer(self, name, dtype, shape, init="zeros"):
        self.buffers[name] = {"dtype": dtype, "shape": shape if isinstance(shape, list) else [shape], "init": init}
        return {"buffer": name}

    def launch(self, entry, params, grid=1, cluster=1, threads=THREADS, smem=TILE + 1024):
        row = {"entry": entry, "grid": [grid], "block": [threads]} | ({"cluster": [cluster]} if cluster > 1 else {})
        self.launches.append(row | {"dynamic_smem": smem, "params": params})

    def write(self):
        (FOLDER / f"{self.name}.ptx").write_text(self.text)
        rows = lambda table: ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items())
        text = f'{{"buffers": {{\n  {rows(self.buffers)}}},\n'
        if self.maps:
            text += f' "tensor_maps": {{\n  {rows(self.maps)}}},\n'
        launches = ",\n  ".join(json.dumps(launch) for launch in self.launches)
        (FOLDER / f"{self.name}.json").write_text(f'{text} "launches": [\n  {launches}]}}\n')
        print(f"{self.name}: {len(self.launches)} launches")


PRELUDE = (
    """.reg .b32 %t, %tile, %bar, %i, %s, %w, %n, %rank, %peer, %far, %v<8>;
.reg .b64 %map, %at, %state, %gen;
.reg .b16 %h<4>;
.reg .pred %first, %more, %done, %p<4>;
mov.u32 %t, %tid.x;
mov.u32 %tile, tile;
add.u32 %bar, %tile, """
    + str(TILE)
    + """;
setp.eq.u32 %first, %t, 0;
"""
)


def fill(source=None):
    """The CTA's tile: a pattern that shows what was not written, or what a buffer holds."""
    load = (
        f"mad.wide.u32 %at, %i, 4, %{source};\nld.global.b32 %w, [%at];\n"
        if source
        else "mad.lo.u32 %w, %i, 0x01010101, 0xA5A5A5A5;\n"
    )
    return (
        "{\n.reg .b32 %end;\nmov.u32 %i, %t;\n"
        f"$fill: {load}mad.lo.u32 %s, %i, 4, %tile;\nst.shared.b32 [%s], %w;\nadd.u32 %i, %i, {THREADS};\n"
        f"setp.lt.u32 %more, %i, {TILE // 4};\n@%more bra $fill;\n}}\n"
    ).replace("$", "L")


def dump(words="words", to="out"):
    """The tile's first words, CTA by CTA."""
    return (
        f"mov.u32 %i, %t;\nmov.u32 %n, %ctaid.x;\nmul.lo.u32 %n, %n, %{words};\n"
        f"DUMP: setp.ge.u32 %more, %i, %{words};\n@%more bra DUMPED;\n"
        "mad.lo.u32 %s, %i, 4, %tile;\nld.shared.b32 %w, [%s];\nadd.u32 %s, %i, %n;\n"
        f"mad.wide.u32 %at, %s, 4, %{to};\nst.global.b32 [%at], %w;\nadd.u32 %i, %i, {THREADS};\nbra DUMP;\nDUMPED:\n"
    )


def wait(parity=0):
    return (
        f"WAIT{parity}: mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], {parity};\n@!%done bra WAIT{parity};\n"
    )
