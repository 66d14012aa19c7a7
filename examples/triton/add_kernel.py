"""A Triton kernel and how to get its PTX on a machine without a GPU: pip install triton; python add_kernel.py"""
import pathlib

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    sums = tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask)
    tl.store(out + at, sums, mask=mask)


if __name__ == "__main__":
    source = ASTSource(add_kernel, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                       {"BLOCK": 256})
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
    pathlib.Path("add_kernel.ptx").write_text(compiled.asm["ptx"])
    print("threads per block:", compiled.metadata.num_warps * 32, "shared bytes:", compiled.metadata.shared)
