"""The functions of the module: each is one call of the command."""

from __future__ import annotations

import json
import os
import html
import pathlib
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._command import InputError, Path, options, run
from ._report import Report, read_report

if TYPE_CHECKING:
    import numpy

Launch = Union[Mapping[str, Any], Path]


class _Text(NamedTuple):
    """PTX as the command takes it: a name, what goes to its stdin, and the text."""

    name: str
    given: Optional[str]
    text: str


def _text(ptx: Path) -> _Text:
    if isinstance(ptx, str) and "\n" in ptx:
        return _Text("-", ptx, ptx)
    try:
        return _Text(os.fspath(ptx), None, pathlib.Path(ptx).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{os.fspath(ptx)}: {error.strerror}") from error


def _contract(launch: Launch) -> Dict[str, Any]:
    """A launch contract as a dict of its own, whose paths are absolute."""
    contract: Dict[str, Any]
    if isinstance(launch, Mapping):
        contract, folder = json.loads(json.dumps(launch)), pathlib.Path.cwd()
    else:
        try:
            contract = json.loads(pathlib.Path(launch).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{os.fspath(launch)}: {error}") from error
        folder = pathlib.Path(launch).resolve().parent
    _make_absolute(contract, folder)
    return contract


def _make_absolute(node: Any, folder: pathlib.Path) -> None:
    if isinstance(node, list):
        for item in node:
            _make_absolute(item, folder)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("npy", "out") and isinstance(value, str):
                node[key] = str(folder / value)
            else:
                _make_absolute(value, folder)


def _write_contract(contract: Mapping[str, Any], folder: str) -> str:
    path = os.path.join(folder, "launch.json")
    pathlib.Path(path).write_text(json.dumps(contract), encoding="utf-8")
    return path


def check(ptx: Path, launch: Optional[Launch] = None, *, assume: Sequence[str] = (), budget: float = 10.0,
          quick: bool = False, lint: bool = False, strict: bool = False, profile: str = "isa") -> Report:
    """Finds what is wrong with PTX. Nothing is run, unless a launch is given and something cannot be followed.

    `assume` has what the PTX does not say: ["block=256", "cluster=2"]. `budget` is in seconds. `quick` looks at instructions
    alone. `lint` adds notes on what costs time. `strict` makes portability findings errors.
    """
    text = _text(ptx)
    with tempfile.TemporaryDirectory() as folder:
        path = None if launch is None else _write_contract(_contract(launch), folder)
        words = options(launch=path, assume=list(assume), budget=budget, quick=quick, lint=lint, strict=strict,
                        profile=profile)
        output = run(["check", text.name, "--json", *words], text.given)
    diagnostics = json.loads(output.out)["diagnostics"]
    for d in diagnostics:
        if strict and d["severity"] == "portability":
            d["severity"] = "error"
    return read_report(diagnostics, text.text)


class Simulation(NamedTuple):
    """What came of a run, on the CPU or on a GPU."""

    verdict: str  # "pass", "fail", "incomplete", or "finished" when nothing was expected of the result
    report: Report
    facts: Dict[str, Any]  # everything that `kiln sim --json` or `kiln gpu --json` prints

    def raise_for_errors(self) -> "Simulation":
        """Raises CheckError if the run found errors; returns the simulation."""
        self.report.raise_for_errors()
        return self

    def _repr_html_(self) -> str:
        return f"<p>run: <b>{self.verdict}</b></p>" + self.report._repr_html_()


# What numpy has no type for travels as words of its size: names of torch.
_WORDS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e8m0fnu": "uint8"}


def _as_numpy(name: str, given: Any) -> "numpy.ndarray[Any, Any]":
    """An array over the memory of what was given: an array of numpy, or a tensor on the CPU of any library with DLPack."""
    import numpy

    if isinstance(given, numpy.ndarray):
        return given
    if not hasattr(given, "__dlpack__"):
        raise InputError(f"arrays: {name}: must be an array of numpy or a tensor with DLPack; got {type(given).__name__}")
    word = _WORDS.get(str(getattr(given, "dtype", "")).rsplit(".", 1)[-1])
    if word is not None and hasattr(given, "view"):
        given = given.view(getattr(sys.modules[type(given).__module__.split(".")[0]], word))
    try:
        return numpy.from_dlpack(given)
    except (AttributeError, BufferError, RuntimeError, TypeError) as error:  # numpy has from_dlpack from 1.22
        raise InputError(f"arrays: {name}: no array of the CPU: {error}") from error


_CODES = {"f": "f", "u": "u", "i": "s"}


def _buffer_of(name: str, array: "numpy.ndarray[Any, Any]") -> Dict[str, Any]:
    if array.dtype.kind not in _CODES:
        raise InputError(f"arrays: {name}: the launch must say what a buffer of {array.dtype} is")
    return {"dtype": f"{_CODES[array.dtype.kind]}{8 * array.dtype.itemsize}", "shape": list(array.shape)}


def _raw(array: "numpy.ndarray[Any, Any]") -> "numpy.ndarray[Any, Any]":
    """As .npy carries it: types that numpy itself does not have, as words."""
    import numpy

    array = numpy.ascontiguousarray(array)
    return array if array.dtype.kind in "fiu" else array.view(f"u{array.dtype.itemsize}")


def _give_arrays(contract: Dict[str, Any], arrays: Mapping[str, "numpy.ndarray[Any, Any]"], folder: str) -> Dict[str, str]:
    """Puts arrays into a contract as what buffers begin with; returns the files that they come back in."""
    import numpy

    files: Dict[str, str] = {}
    buffers = contract.setdefault("buffers", {})
    for name, array in arrays.items():
        buffer = buffers.setdefault(name, _buffer_of(name, array) if name not in buffers else {})
        if "init" not in buffer:
            path = os.path.join(folder, f"in{len(files)}.npy")
            numpy.save(path, _raw(array))
            buffer["init"] = {"npy": path}
        files[name] = buffer["out"] = os.path.join(folder, f"out{len(files)}.npy")
    return files


def _take_arrays(arrays: Mapping[str, "numpy.ndarray[Any, Any]"], files: Mapping[str, str]) -> None:
    import numpy

    for name, path in files.items():
        if os.path.exists(path):
            words = numpy.load(path)
            target = arrays[name]
            same = target.dtype.itemsize == words.dtype.itemsize
            target[...] = (words.view(target.dtype) if same else words).reshape(target.shape)


def sim(ptx: Path, launch: Launch, arrays: Optional[Mapping[str, Any]] = None, *, seed: int = 1,
        arith: str = "exact", schedule: Optional[str] = None, max_steps: Optional[int] = None) -> Simulation:
    """Runs PTX on the CPU, with races and what hardware traps on as findings.

    `arrays` are buffers of the launch by name, and change in place: arrays of numpy, or tensors on the CPU of any library with
    DLPack, such as torch. A buffer begins as its array unless the launch gives its
    `init`, and need not be in the launch if numpy has its type.
    """
    return _run_launch("sim", ptx, launch, arrays or {}, seed=seed, arith=arith, schedule=schedule, max_steps=max_steps)


def _run_launch(command: str, ptx: Path, launch: Launch, arrays: Mapping[str, Any], **settings: object) -> Simulation:
    """`kiln sim` or `kiln gpu`, with arrays that change in place."""
    text = _text(ptx)
    contract = _contract(launch)
    given = {name: _as_numpy(name, array) for name, array in arrays.items()}
    for name, array in given.items():
        if not array.flags.writeable:
            raise InputError(f"arrays: {name}: cannot be written")
    with tempfile.TemporaryDirectory() as folder:
        files = _give_arrays(contract, given, folder)
        words = options(launch=_write_contract(contract, folder), **settings)
        output = run([command, text.name, "--json", *words], text.given)
        if not output.out.strip():
            raise InputError(output.err.strip())
        facts = json.loads(output.out)
        _take_arrays(given, files)
    return Simulation(facts["verdict"], read_report(facts["diagnostics"], text.text), facts)


class _Device(NamedTuple):
    """A tensor on a GPU, and the one on the CPU that goes to the command in its place."""

    tensor: Any
    host: Any


def _on_cpu(name: str, given: Any) -> _Device:
    kind = getattr(given, "__dlpack_device__", lambda: (1, 0))()[0]
    if kind == 1:
        return _Device(None, given)
    if not (hasattr(given, "cpu") and hasattr(given, "copy_")):
        raise InputError(f"arrays: {name}: a tensor on a GPU must have cpu() and copy_(), as those of torch have")
    return _Device(given, given.cpu())


def gpu(ptx: Path, launch: Launch, arrays: Optional[Mapping[str, Any]] = None, *, seed: int = 1,
        timeout: float = 60.0) -> Simulation:
    """Runs PTX on a GPU, as `kiln gpu` does: assembled by ptxas, with a limit of `timeout` seconds for each launch.

    `arrays` are as for `sim`, and change in place. They may be tensors of torch on a GPU; the command has a process and memory of
    its own, so they are copied there and back. Raises InputError without a GPU, a driver or a ptxas.
    """
    devices = {name: _on_cpu(name, array) for name, array in (arrays or {}).items()}
    done = _run_launch("gpu", ptx, launch, {name: each.host for name, each in devices.items()}, seed=seed, timeout=timeout)
    for each in devices.values():
        if each.tensor is not None:
            each.tensor.copy_(each.host)
    return done


class Gemm(NamedTuple):
    """What came of a GEMM. `ran` says where: "simulated on the CPU" or "run on a GPU"."""

    d: "numpy.ndarray[Any, Any]"
    ran: str
    run: Simulation

    def _repr_html_(self) -> str:
        return f"<p>D of shape {self.d.shape}, {html.escape(self.ran)}</p>" + self.run._repr_html_()


_FLOATS = {"f16": "float16", "f32": "float32", "tf32": "float32", "f64": "float64", "s32": "int32", "s8": "int8", "u8": "uint8"}
_BITS = {"bf16": 16, "e4m3": 8, "e5m2": 8}


def _encoded(name: str, array: "numpy.ndarray[Any, Any]", dtype: str) -> "numpy.ndarray[Any, Any]":
    """Numbers as the words of a buffer. Words of the right size stay as they are."""
    import numpy

    if dtype == "bf16" and array.dtype.kind == "f":
        words = array.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
        rounded = (words + 0x7fff + ((words >> 16) & 1)) >> 16
        return numpy.where(numpy.isnan(array), 0x7fff, rounded).astype(numpy.uint16)
    if dtype in _BITS and array.dtype.itemsize * 8 == _BITS[dtype] and array.dtype.kind != "f":
        return array
    if dtype in _FLOATS:
        return array.astype(_FLOATS[dtype])
    raise InputError(f"{name}: an array of {array.dtype} cannot become {dtype}; give its words")


def _decoded(words: "numpy.ndarray[Any, Any]", dtype: str) -> "numpy.ndarray[Any, Any]":
    import numpy

    return (words.astype(numpy.uint32) << 16).view(numpy.float32) if dtype == "bf16" else words


def gemm(a: Any, b: Any, *, kernel: str = "gemm_bf16", on_gpu: bool = False, target: Optional[str] = None,
         **options_of_kernel: Any) -> Gemm:
    """D = A * B^T by a GEMM of the library: A has the shape (M, K), B the shape (N, K).

    Simulated on the CPU, bit for bit as the hardware calculates; with `on_gpu` it runs on a GPU, and `ran` says which. A and B are
    arrays of numpy or tensors with DLPack, rounded to the kernel's types, or words of those types. D has the kernel's type, and
    float32 for bf16. Raises CheckError for errors of the run.
    """
    import numpy

    given = {"A": _as_numpy("a", a), "B": _as_numpy("b", b)}
    if any(each.ndim != 2 for each in given.values()) or given["A"].shape[1] != given["B"].shape[1]:
        raise InputError(f"gemm: A must be M x K and B N x K; got {given['A'].shape} and {given['B'].shape}")
    sizes = {"m": given["A"].shape[0], "n": given["B"].shape[0], "k": given["A"].shape[1], **options_of_kernel}
    contract = launch_of(kernel, target=target, **sizes)
    buffers = contract["buffers"]
    if not {"A", "B", "D"} <= set(buffers) or any(buffers[each]["shape"] != list(given[each].shape) for each in given):
        raise InputError(f"gemm: {kernel} is no GEMM of A (M x K) and B (N x K)")
    arrays = {each: numpy.ascontiguousarray(_encoded(each, given[each], buffers[each]["dtype"])).copy() for each in given}
    for each in arrays:
        buffers[each].pop("init", None)
    dtype = buffers["D"]["dtype"]
    arrays["D"] = numpy.zeros(buffers["D"]["shape"], f"uint{_BITS[dtype]}" if dtype in _BITS else _FLOATS[dtype])
    done = (gpu if on_gpu else sim)(emit(kernel, target=target, **sizes), contract, arrays)
    done.raise_for_errors()
    return Gemm(_decoded(arrays["D"], dtype), "run on a GPU" if on_gpu else "simulated on the CPU", done)


def _framed(page: str) -> str:
    """A whole page inside another one."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:40em;border:0"></iframe>'


class Prediction(Dict[str, Any]):
    """Everything that `kiln time --json` prints. `timeline` is a page with what each role did when, where it was asked for."""

    timeline: Optional[str] = None

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return float(self["seconds"]["value"])

    @property
    def interval(self) -> "tuple[float, float]":
        """The least and the most seconds, with every fact about the chip at the end of what is known of it."""
        return float(self["seconds"]["least"]), float(self["seconds"]["most"])

    def _repr_html_(self) -> str:
        least, most = self.interval
        return (f"<p><b>{1e6 * self.seconds:.3f} µs</b> ({1e6 * least:.3f} to {1e6 * most:.3f}) "
                f"predicted on {self['chip']} at {self['clock_ghz']} GHz</p>" + (_framed(self.timeline) if self.timeline else ""))


def _is_kernel(what: Path) -> bool:
    return isinstance(what, str) and what.isidentifier()


def _text_or_kernel(what: Path) -> _Text:
    return _Text(str(what), None, "") if _is_kernel(what) else _text(what)


def time(ptx_or_kernel: Path, launch: Optional[Launch] = None, *, chip: Optional[str] = None,
         clock: Optional[float] = None, what_if: Optional[Mapping[str, Any]] = None,
         timeline: bool = False, **sizes: Any) -> Prediction:
    """Predicts how long a kernel takes on a chip: PTX with a launch, or a kernel of the library with its sizes.

    kiln.time("gemm_v6", m=4096, n=4096, k=4096). `clock` is in GHz. With `timeline` a notebook shows what each
    role did when.
    """
    facts = [f"{name}={value}" for name, value in (what_if or {}).items()]
    with tempfile.TemporaryDirectory() as folder:
        path = None if launch is None else _write_contract(_contract(launch), folder)
        page = os.path.join(folder, "timeline.html") if timeline else None
        words = options(launch=path, chip=chip, clock=clock, what_if=facts, html=page, **sizes)
        text = _text_or_kernel(ptx_or_kernel)
        output = run(["time", text.name, "--json", *words], text.given)
        if not output.out:
            raise InputError(output.err.strip())
        prediction = Prediction(json.loads(output.out))
        if page is not None:
            prediction.timeline = pathlib.Path(page).read_text(encoding="utf-8")
    return prediction


class Maps(NamedTuple):
    """The tensor and shared memory that a kernel uses, as a page."""

    page: str

    def _repr_html_(self) -> str:
        return _framed(self.page)


def maps(kernel: str, *, target: Optional[str] = None, **sizes: Any) -> Maps:
    """Draws the memories that a kernel of the library uses: a notebook shows them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map.html")
        output = run(["map", kernel, *options(target=target, out=path, **sizes)])
        _refuse(output.code, output.err)
        return Maps(pathlib.Path(path).read_text(encoding="utf-8"))


def _refuse(output_code: int, err: str) -> None:
    if output_code != 0:
        raise InputError(err.strip())


def lower(ptx_or_kernel: Path, target: str = "sm_90a", *, image: Optional[str] = None, **sizes: Any) -> str:
    """PTX with tcgen05 as PTX for a target that has none. Raises InputError, which says why, for what is refused."""
    text = _text_or_kernel(ptx_or_kernel)
    output = run(["lower", text.name, *options(target=target, image=image, **sizes)], text.given)
    _refuse(output.code, output.err)
    return output.out


def emit(kernel: str, *, target: Optional[str] = None, **sizes: Any) -> str:
    """A kernel of the library as verified PTX: kiln.emit("gemm_bf16", m=1024)."""
    output = run(["emit", kernel, *options(target=target, **sizes)])
    _refuse(output.code, output.err)
    return output.out


def launch_of(kernel: str, *, target: Optional[str] = None, **sizes: Any) -> Dict[str, Any]:
    """The launch contract of a problem for a kernel of the library."""
    output = run(["emit", kernel, "--format", "json", *options(target=target, **sizes)])
    _refuse(output.code, output.err)
    contract: Dict[str, Any] = json.loads(output.out)
    return contract
