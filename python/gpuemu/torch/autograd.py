"""Makes the autograd engine of a CPU build of torch work with gradients on `cuda`: it asks compiled code which accelerator exists.
That code is compiled when the first operator gets a tensor that requires a gradient."""

from __future__ import annotations

import torch

from gpuemu.torch.compiled import load

_done = False


def prepare() -> None:
    """Sets torch's hooks, once in a process. Raises RuntimeError without a compiler."""
    global _done
    if _done:
        return
    _done = True
    if torch.backends.cuda.is_built():
        return  # Torch has its own hooks.
    load("hooks.cc", "a gradient of cuda tensors").gpuemu_torch_set_hooks()
