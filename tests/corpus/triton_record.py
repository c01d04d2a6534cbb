"""Triton kernels of libraries: their host functions run over torch's tensors, and a launch becomes a case instead of
running. The compiler is as in triton_case."""
import types

import numpy as np
import torch
import triton
import triton.runtime.autotuner
import triton.runtime.jit
from triton.compiler import ASTSource

import foreign_torch
import formats
import recorder
import triton_case
from case import Buffer, Case
from triton_case import Pointer


class Driver:
    """What libraries ask Triton's driver."""

    def __getattr__(self, name):
        if name == "utils":
            return types.SimpleNamespace(get_device_properties=lambda _: {
                "max_shared_mem": 232448, "multiprocessor_count": 148, "warpSize": 32, "max_num_regs": 65536,
                "sm_clock_rate": 1965000, "mem_clock_rate": 1, "mem_bus_width": 1})
        answers = {"get_current_target": triton_case.TARGET, "get_current_device": 0, "get_current_stream": 0,
                   "get_active_torch_device": foreign_torch.GPU, "is_active": True, "get_device_interface": torch.cuda,
                   "get_device_capability": divmod(triton_case.TARGET.arch, 10)}
        return lambda *_: answers.get(name)


triton.runtime.driver.set_active(Driver())
launches = []
COMPILER_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
TYPES = {**triton_case.TRITON_TYPES, "bool": "i1", "s16": "i16"}


def _run(self, *args, grid, warmup=False, **options):
    names = self.arg_names
    given = dict(zip(names, args))
    given.update({name: options.pop(name) for name in list(options) if name in names})
    for parameter in self.params:
        if parameter.name not in given and parameter.has_default:
            given[parameter.name] = parameter.default
    grid = grid(given) if callable(grid) else grid
    launches.append((self, tuple(grid) + (1,) * (3 - len(grid)), given, options))


def _tune(self, *args, **options):
    """The first configuration that fits."""
    first = self.configs[0]
    self.fn.run(*args, **{**options, **first.all_kwargs()})


triton.runtime.jit.JITFunction.run = _run
triton.runtime.autotuner.Autotuner.run = _tune


def case(name, producer, call, buffers, expected=None, which=0):
    """'call' gets torch's tensors by name and returns those that it makes, by name; 'expected' has what must be in them:
    values, relative and absolute tolerance. Its launch number 'which' is the case."""
    memory = recorder.Memory(dict(buffers))
    tensors = {each: foreign_torch.tensor(memory.arrays[each], b.dtype) for each, b in buffers.items()}
    launches.clear()
    with foreign_torch.OnHost():
        made_by_call = call(**tensors) or {}
    kernel, grid, given, options = launches[which]
    arguments, constants = {}, {}
    constexprs = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    for parameter, value in given.items():
        if isinstance(value, torch.Tensor):
            place = memory.find(value.data_ptr())
            if place is None:
                storage = foreign_torch.bits(value)
                place = (f"made{len(memory.arrays)}", value.data_ptr() - storage.ctypes.data)
                memory.arrays[place[0]] = storage
                dtype = foreign_torch.NAMES[value.dtype]
                bits = storage.view(formats.STORAGE.get(dtype, np.uint8))
                memory.buffers[place[0]] = Buffer("u8" if dtype == "bool" else dtype, bits.copy(),
                                                  poison=storage.ctypes.data in foreign_torch.EMPTY)
            if place[1]:
                raise NotImplementedError("a pointer into a buffer")
            arguments[parameter] = Pointer(place[0])
        elif parameter not in constexprs and isinstance(value, (int, float)) and not isinstance(value, bool):
            arguments[parameter] = value
        else:
            constants[parameter] = value
    for each, (want, rtol, atol) in (expected or {}).items():
        buffer = memory.buffers[memory.find(made_by_call[each].data_ptr())[0]]
        buffer.expected, buffer.rtol, buffer.atol = np.asarray(want).reshape(buffer.bits.shape), rtol, atol
    used = {str(value) for value in arguments.values() if isinstance(value, Pointer)}
    buffers = {each: b for each, b in memory.buffers.items() if each in used}
    known = {each: options[each] for each in COMPILER_OPTIONS if options.get(each)}
    made = triton_case.case(name, kernel, grid, arguments, constants, buffers, **known)
    made.producer = producer
    return made


def kernels(operation, call, known):
    """The launches of kernels that 'known' does not have, until the operation ends or wants what a GPU computes."""
    launches.clear()
    try:
        with foreign_torch.OnHost():
            call()
    except Exception as problem:  # whatever a library throws when numbers are not what its kernels would have left
        print(f"{operation}: {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}")
    for kernel, _, given, options in list(launches):
        if kernel.fn.__name__ not in known:
            known.add(kernel.fn.__name__)
            yield kernel, given, options


def described(kernel, given):
    """Signature, constants and what 16 divides, from the values of a launch."""
    signature, constants, divisible = {}, {}, {}
    for index, parameter in enumerate(kernel.params):
        value = given[parameter.name]
        if parameter.is_constexpr or value is None or isinstance(value, (bool, str)) or callable(value):
            signature[parameter.name] = "constexpr"
            constants[(index,)] = value
        elif isinstance(value, torch.Tensor):
            signature[parameter.name] = "*" + TYPES[foreign_torch.NAMES[value.dtype]]
            divisible[(index,)] = [["tt.divisibility", 16]]
        else:
            signature[parameter.name] = "fp32" if isinstance(value, float) else "i32"
            if isinstance(value, int) and value % 16 == 0:
                divisible[(index,)] = [["tt.divisibility", 16]]
    return signature, constants, divisible


def compiled(producer, recorded):
    """A case without a launch for each kernel."""
    for kernel, given, options in recorded:
        name = kernel.fn.__name__
        known = {each: options[each] for each in COMPILER_OPTIONS if options.get(each)}
        try:
            ptx, metadata = triton_case.compile_to_ptx(ASTSource(kernel, *described(kernel, given)), known)
        except Exception as problem:  # whatever a foreign compiler throws
            print(f"{name}: does not compile: {str(problem).strip().splitlines()[-1][:200]}")
            continue
        yield Case(f"{producer}_{name}", producer, ptx, metadata["name"], None, 0, [], {})
