"""Answers of torch about the GPU that is not there: a B200. Import it before a library that asks."""
import types

import torch

PROPERTIES = types.SimpleNamespace(
    name="NVIDIA B200", major=10, minor=0, multi_processor_count=148, total_memory=180 << 30, warp_size=32,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024, regs_per_multiprocessor=65536,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472,
    L2_cache_size=132644864, gcnArchName="", uuid="0", clock_rate=1965000)


def pretend():
    torch.cuda.get_device_capability = lambda *_: (10, 0)
    torch.cuda.get_device_properties = lambda *_: PROPERTIES
    torch.cuda.get_device_name = lambda *_: PROPERTIES.name
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda._lazy_init = lambda: None
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_stream = lambda *_: types.SimpleNamespace(cuda_stream=0, device=torch.device("cuda:0"))


pretend()
