"""Kernels of Triton that several benchmarks launch. Needs the package triton."""
import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, 0.5 * value * (1 + tl.math.erf(value * 0.7071067811865476)), mask=at < n)


@triton.jit
def softmax(x, out, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * width + at, mask=at < width, other=-float("inf"))
    weights = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * width + at, weights / tl.sum(weights, axis=0), mask=at < width)
