#!/usr/bin/env python3
"""Calls the kernel on PyTorch's tensors and stream: from_pytorch.py PATH/libcopy.so"""
import ctypes
import sys

try:
    import torch
except ImportError:
    print("SKIPPED: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("SKIPPED: no GPU")
    sys.exit(77)
if len(sys.argv) != 2:
    sys.exit(__doc__)

library = ctypes.CDLL(sys.argv[1])
library.copy.argtypes = [ctypes.c_uint64] * 4
library.copy_scratch_bytes.restype = ctypes.c_uint64

source = torch.randn(1000, 1000, device="cuda").to(torch.bfloat16)
result = torch.empty_like(source)
scratch = torch.empty(library.copy_scratch_bytes(), dtype=torch.uint8, device="cuda")
stream = torch.cuda.current_stream()
status = library.copy(result.data_ptr(), source.data_ptr(), scratch.data_ptr(), stream.cuda_stream)
if status != 0:
    sys.exit(f"from_pytorch.py: error: the driver answers {status}")
# Any library that speaks DLPack sees the result without a copy.
seen = torch.from_dlpack(result)
torch.cuda.synchronize()
if not torch.equal(seen, source):
    sys.exit("from_pytorch.py: error: the copy differs")
print(f"copied {source.numel()} elements on {torch.cuda.get_device_name()}")
