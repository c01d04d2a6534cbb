"""A GPU for Triton that is the simulator: a launch on arrays of the CPU runs there, and what hardware would punish is an
exception at the launch.

    import kiln.simulated_gpu
    kiln.simulated_gpu.enable()                # GPUTarget("cuda", 100, 32)
    kernel[grid](x, y, n, BLOCK=128)           # x and y: tensors of torch on the CPU, or kiln.simulated_gpu.Array

The kernel is compiled as for the GPU and its PTX is simulated, with races, deadlocks and memory that is read before it is
written. Each argument is a buffer of the launch, and changes in place. A launch that is larger than the simulator can follow
within `max_steps` is incomplete, which is an exception too.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy

from ._calls import Simulation, sim
from ._command import InputError

__all__ = ["Array", "disable", "enable", "launches"]


class Launched(NamedTuple):
    """A launch that was simulated."""

    name: str
    simulation: Simulation


launches: List[Launched] = []
"""Every launch that was simulated since `enable`, in order."""


class Incomplete(Exception):
    """A launch met something that the simulator does not model: nothing is known of the rest."""


class Array:
    """An array of numpy as Triton takes tensors: with an address and a type."""

    def __init__(self, array: "numpy.ndarray") -> None:
        if not array.flags.c_contiguous:
            raise InputError("an array for a kernel must be contiguous")
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def numpy(self) -> "numpy.ndarray":
        return self.array


def _bytes_of(tensor: Any) -> "Tuple[int, numpy.ndarray]":
    """Where the memory of a tensor begins, and all of it as bytes. Tensors that are views of one memory share it."""
    if hasattr(tensor, "untyped_storage"):  # torch
        if tensor.device.type != "cpu":
            raise InputError(f"a launch is simulated on tensors of the CPU; got one on {tensor.device}")
        import torch

        memory = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
        return int(memory.data_ptr()), memory.numpy()
    array = tensor.numpy()
    owner = array
    while isinstance(owner.base, numpy.ndarray) and owner.base.flags.c_contiguous:
        owner = owner.base
    return int(owner.ctypes.data), owner.reshape(-1).view(numpy.uint8)


_SCALARS = {"i1": "u8", "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64"}
_PARAMETER = re.compile(r"\.param\s+[^,()]+")


def _scalar(kind: str, value: Any) -> Dict[str, Any]:
    if re.fullmatch(r"[iu]\d+", kind) and kind != "i1":
        bits = int(kind[1:])
        return {f"u{bits}": int(value) % (1 << bits)}
    if kind not in _SCALARS:
        raise InputError(f"an argument of type {kind} cannot be simulated")
    return {_SCALARS[kind]: int(value) if kind == "i1" else float(value)}


class _Parameters:
    """The parameters of a launch, with the memory that they point into as buffers."""

    def __init__(self) -> None:
        self.words: List[Dict[str, Any]] = []
        self.arrays: Dict[str, "numpy.ndarray"] = {}
        self._names: Dict[int, str] = {}

    def add(self, kind: str, value: Any) -> None:
        if isinstance(value, tuple):
            for one_kind, one in zip(kind, value):
                self.add(one_kind, one)
        elif kind == "constexpr":
            return
        elif not kind.startswith("*"):
            self.words.append(_scalar(kind, value))
        elif value is None:
            self.words.append({"u64": 0})
        else:
            self._add_pointer(value)

    def _add_pointer(self, tensor: Any) -> None:
        begin, memory = _bytes_of(tensor)
        name = self._names.setdefault(begin, f"argument{len(self.words)}")
        self.arrays[name] = memory
        self.words.append({"buffer": name, "offset": int(tensor.data_ptr()) - begin})


class _Launcher:
    """What Triton calls for each launch of one kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        from triton.runtime.cache import get_cache_manager

        self.kinds = list(src.signature.values())
        self.metadata = metadata
        files = get_cache_manager(metadata.hash).get_group(f"{src.name[:150]}.json") or {}
        path = next((p for p in files.values() if p.endswith(".ptx")), None)
        if path is None:
            raise InputError(f"{metadata.name}: Triton keeps no PTX of this kernel")
        self.ptx = pathlib.Path(path)

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, packed: Any, launch_metadata: Any,
                 enter_hook: Any, exit_hook: Any, *arguments: Any) -> None:
        if enter_hook is not None:
            enter_hook(launch_metadata)
        _simulate(self.metadata, self.kinds, (x, y, z), self.ptx, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)


def _simulate(metadata: Any, kinds: List[Any], grid: Tuple[int, int, int], ptx: pathlib.Path,
              arguments: Tuple[Any, ...]) -> None:
    parameters = _Parameters()
    for kind, argument in zip(kinds, arguments):
        parameters.add(kind, argument)
    text = ptx.read_text(encoding="utf-8")
    entry = text[text.index(".entry"):]
    declared = len(_PARAMETER.findall(entry[:entry.index(")")]))
    scratch = declared - len(parameters.words)  # Triton's own, at the end
    if scratch < 0 or metadata.global_scratch_size or metadata.profile_scratch_size:
        raise InputError(f"{metadata.name}: has scratch memory or parameters that cannot be simulated")
    ctas = metadata.num_ctas
    required = re.search(r"\.reqntid\s+(\d+)", entry)
    launch = {"entry": metadata.name, "grid": [grid[0] * ctas, grid[1], grid[2]], "cluster": [ctas, 1, 1],
              "block": [int(required[1]) if required else 32 * metadata.num_warps],
              "dynamic_smem": metadata.shared, "params": parameters.words + scratch * [{"u64": 0}]}
    simulation = sim(ptx, launch, parameters.arrays, **_settings)
    launches.append(Launched(metadata.name, simulation))
    simulation.raise_for_errors()
    if simulation.verdict == "incomplete":
        raise Incomplete(str(simulation.report) or f"{metadata.name}: the simulation is incomplete")


class _Utils:
    """What Triton asks of a device besides launches."""

    @staticmethod
    def get_device_properties(device: int) -> Dict[str, int]:
        return {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 148, "warpSize": 32,
                "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 8192}

    @staticmethod
    def load_binary(name: str, kernel: Any, shared: int, device: int) -> Tuple[Any, Any, int, int, int]:
        return None, None, 0, 0, 1024

    @staticmethod
    def unload_module(module: Any) -> None:
        pass


_settings: Dict[str, Any] = {}
_before: Optional[Any] = None


def enable(capability: int = 100, **settings: Any) -> None:
    """Makes the simulator Triton's GPU from now on. `settings` are those of kiln.sim: seed, schedule, max_steps."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime.driver import driver

    class Driver(DriverBase):  # type: ignore[misc]
        utils = _Utils
        launcher_cls = _Launcher

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", capability, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int) -> int:
            return 0

        def get_active_torch_device(self) -> Any:
            import torch
            return torch.device("cpu")

        def get_device_interface(self) -> Any:
            raise InputError("the simulator is no device of torch")

        def get_benchmarker(self) -> Any:
            raise InputError("the simulator does not measure time; kiln.time predicts it")

    disable()
    launches.clear()
    _settings.clear()
    _settings.update(settings)
    global _before
    _before = driver.__dict__.get("_active")
    driver.set_active(Driver())


def disable() -> None:
    """Gives Triton its own GPU back; `launches` keeps what there was."""
    from triton.runtime.driver import driver

    if type(driver.__dict__.get("_active")).__module__ == __name__:
        driver.set_active(_before)
