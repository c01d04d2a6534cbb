"""Compiles an example of the CuTe DSL without a GPU: its tensors are the host's, and the process ends when the folder
CUTE_DSL_DUMP_DIR has its PTX (CUTE_DSL_KEEP=ptx, CUTE_DSL_ARCH). The first argument is the example, the others are its
own."""
import os
import pathlib
import runpy
import sys
import threading
import time

import foreign_torch

foreign_torch.pretend()
import cute_record  # noqa: E402, F401: the DSL's runtime, over a driver of ours


def end_with_ptx(folder):
    """What an example does next is to launch, or to compute its reference on the host."""
    while not any(path.stat().st_size for path in folder.glob("*.ptx")):
        time.sleep(0.5)
    time.sleep(1)
    os._exit(0)


folder = pathlib.Path(os.environ["CUTE_DSL_DUMP_DIR"])
threading.Thread(target=end_with_ptx, args=(folder,), daemon=True).start()
sys.argv = sys.argv[1:]
sys.path.insert(0, str(pathlib.Path(sys.argv[0]).resolve().parent))
with foreign_torch.OnHost():
    runpy.run_path(sys.argv[0], run_name="__main__")
