"""Descriptors that the host or the kernel makes: tensor maps on sm_90, pointers before. Tiles at ragged ends, several dtypes, and operands of tl.dot."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def double_kernel(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    tile = x.load([row, column])
    out.store([row, column], tile + tile)


@triton.jit
def matmul_kernel(a, b, out, depth, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(0, depth, STEP):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    out.store([row, column], total.to(tl.float16))


@triton.jit
def made_here_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    described = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    into = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    tile = described.load([row, column])
    into.store([row, column], tile + tile)


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8):
    x = (torch.arange(50 * 64) % 60).to(dtype).reshape(50, 64).cuda()
    out = torch.empty_like(x)
    double_kernel[(4, 2)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(out, [16, 32]), 16, 32)
    assert torch.equal(out, x + x), dtype
    out = torch.zeros_like(x)
    made_here_kernel[(4, 2)](x, out, 50, 64, 16, 32)
    assert torch.equal(out, x + x), dtype
for step in (32, 64):
    a, b = (torch.randn(shape, dtype=torch.float16, device="cuda") for shape in ((128, 128), (128, 64)))
    out = torch.empty(128, 64, dtype=torch.float16, device="cuda")
    described = (TensorDescriptor.from_tensor(one, tile) for one, tile in ((a, [64, step]), (b, [step, 64]), (out, [64, 64])))
    matmul_kernel[(2, 1)](*described, 128, 64, 64, step)
    torch.testing.assert_close(out, a @ b, atol=1e-1, rtol=1e-2)
print("right")
