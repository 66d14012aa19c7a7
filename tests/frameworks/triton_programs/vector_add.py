"""Adds two vectors. `vector_add.py unmasked` loads one of them without a mask."""
import sys

import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda", 0)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=inside), mask=inside)


@triton.jit
def unmasked_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets)  # Without a mask.
    tl.store(out_ptr + offsets, x + y, mask=inside)


def added(kernel, x, y):
    assert x.device == y.device == DEVICE
    out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](x, y, out, out.numel(), BLOCK=256)
    return out


torch.manual_seed(0)
x, y = torch.rand(1000, device=DEVICE), torch.rand(1000, device=DEVICE)
made = added(unmasked_kernel if "unmasked" in sys.argv else add_kernel, x, y)
print("difference", (made - (x + y)).abs().max().item())
