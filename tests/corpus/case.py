"""What a foreign kernel needs to run in the simulator, and what must come out."""
import json
import pathlib
from dataclasses import dataclass, field

import numpy as np

import formats


@dataclass
class Buffer:
    """Memory of a launch: bits that go in, and the values that must come out (absent: not compared)."""
    dtype: str
    bits: np.ndarray
    expected: np.ndarray | None = None
    rtol: float = 0.0
    atol: float = 0.0
    poison: bool = False  # nothing goes in, so reading what was never written is an error

    def shape(self):
        shape = list(self.bits.shape)
        if self.dtype == "e2m1":
            shape[-1] *= 2
        return shape


def given(values, dtype):
    """An input."""
    return Buffer(dtype, formats.encode(values, dtype))


def wanted(expected, dtype, rtol=0.0, atol=0.0, first=None):
    """An output: poisoned, unless the kernel updates what is there first."""
    bits = np.zeros(expected.shape, formats.STORAGE[dtype]) if first is None else formats.encode(first, dtype)
    return Buffer(dtype, bits, np.asarray(expected), rtol, atol, first is None)


@dataclass
class Case:
    name: str
    producer: str
    ptx: str
    entry: str
    grid: tuple
    block: int | tuple
    params: list
    buffers: dict
    tensor_maps: dict = field(default_factory=dict)
    dynamic_smem: int = 0
    cluster: tuple = (1, 1, 1)
    wrong: str = ""  # what is truly wrong with the kernel, so that an error is right

    def write(self, folder: pathlib.Path):
        """PTX, contract and inputs; the contract's path."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.ptx").write_text(self.ptx)
        block = list(self.block) if isinstance(self.block, tuple) else [self.block, 1, 1]
        contract = {"entry": self.entry, "grid": list(self.grid), "block": block,
                    "cluster": list(self.cluster), "dynamic_smem": self.dynamic_smem,
                    "buffers": {name: self._buffer(folder, name, b) for name, b in self.buffers.items()},
                    "tensor_maps": self.tensor_maps, "params": self.params}
        path = folder / "launch.json"
        path.write_text(json.dumps(contract, indent=1) + "\n")
        return path

    def _buffer(self, folder, name, buffer):
        text = {"dtype": buffer.dtype, "shape": buffer.shape()}
        if buffer.poison:
            text["init"] = "poison"
        else:
            np.save(folder / f"{name}.in.npy", buffer.bits)
            text["init"] = {"npy": f"{name}.in.npy"}
        if buffer.expected is not None:
            text["out"] = f"{name}.out.npy"
        return text

    def judge(self, folder: pathlib.Path):
        """'right', 'no reference', or what is wrong."""
        outputs = {name: b for name, b in self.buffers.items() if b.expected is not None}
        for name, buffer in outputs.items():
            path = folder / f"{name}.out.npy"
            if not path.exists():
                return f"{name} was not written"
            got = formats.decode(np.load(path).reshape(buffer.bits.shape), buffer.dtype).astype(np.float64)
            expected = buffer.expected.astype(np.float64)
            wrong = ~np.isclose(got, expected, buffer.rtol, buffer.atol, equal_nan=True)
            if wrong.any():
                at = tuple(int(i) for i in np.argwhere(wrong)[0])
                return f"{name}: {int(wrong.sum())} of {wrong.size} wrong, {list(at)} is {got[at]}, not {expected[at]}"
        return "right" if outputs else "no reference"
