"""A kernel scales a block whose end nothing wrote. `padding`: the program reads what is defined alone; else all of it, and changes it `in place`."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def double(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) + tl.load(x + at))


x, out, again = (torch.empty(256, device="cuda") for _ in range(3))
x[:200] = torch.arange(200.0)
scale[(1,)](x, out, B=256)
double[(1,)](out, again, B=256)
if sys.argv[1:] == ["in place"]:
    again.add_(1)  # Changed
elif sys.argv[1:] == ["padding"]:
    again[200:].zero_()
    again[:200].mul_(1)
    out[:].copy_(out[:200].sum())
    rows = again.view(16, 16)[:12, :]  # Rows of 16: 192 elements.
    print((rows + 1).sum().item(), again[:200].cpu()[199].item(), again[:200:3].max().item())
else:
    print(again.max().item() is not None)  # Read
