"""A kernel of Tilus with a mistake that ptxas does not find, and one without."""
import tempfile
from unittest import mock

import tilus
import tilus.target
from tilus import drivers, float32, int32
from tilus.ir.prog import Program
from tilus.lang.transpiler import Transpiler


class Doubled(tilus.Script):
    def __call__(self, n: int32, x_ptr: ~float32):
        self.attrs.blocks = [1]
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        self.store_global(x, self.load_global(x, offsets=[0], shape=[128]) * 2.0, offsets=[0])


class Leaking(tilus.Script):
    def __call__(self, n: int32, x_ptr: ~float32):
        self.attrs.blocks = [1]
        self.attrs.warps = 4
        full = self.mbarrier.alloc(counts=[1])
        self.mbarrier.wait(full, phase=0)  # nobody arrives
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        self.store_global(x, self.load_global(x, offsets=[0], shape=[128]) * 2.0, offsets=[0])




doubled, leaking = Doubled, Leaking


def compile_kernel(kernel):
    """Without a GPU, which Tilus asks torch for and does not use."""
    tilus.target.set_current_target(tilus.target.nvgpu_sm100a)
    script = object.__new__(kernel)
    kernel.__init__(script)
    function = Transpiler().transpile(script, name2consts={}, name2divisibility={}).with_name(kernel.__name__.lower())
    with tempfile.TemporaryDirectory() as cache, mock.patch("torch.cuda.is_available", lambda: True):
        tilus.option.cache_dir(cache)
        drivers.build_program(Program.create(functions={function.name: function}))
