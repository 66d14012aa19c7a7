"""Kernels of Triton and Numba, right and with a planted fault each, through gpuemu.triton and gpuemu.numba. Prints one
JSON object: the largest error of each right one; kind, line and tensor of what was found in each wrong one. The
faulty line of each is marked FAULT."""
import json
import pathlib

import gpuemu
import numpy as np
import triton
import triton.language as tl
from numba import cuda, float64

RNG = np.random.default_rng(1)
HERE = pathlib.Path(__file__).read_text().splitlines()
saw = {}


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def add_wrong(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, mask=at < n)
    total += tl.load(y + at)  # FAULT add_wrong y
    tl.store(out + at, total, mask=at < n)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def softmax_wrong(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * columns + at, e / tl.sum(e, axis=0))  # FAULT softmax_wrong y


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        at = inner + start
        left = tl.load(a + row[:, None] * k + at[None, :], mask=(row[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + column[None, :], mask=(at[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def matmul_wrong(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        at = inner + start
        left = tl.load(a + row[:, None] * k + at[None, :])  # FAULT matmul_wrong a
        right = tl.load(b + at[:, None] * n + column[None, :], mask=(at[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=4), triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"])
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
@triton.heuristics({"HALF": lambda args: args["BLOCK"] // 2, "TWICE": lambda args: 4 * args["HALF"]})
@triton.jit
def ruled(x, y, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr, HALF: tl.constexpr, TWICE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < n) | EVEN
    tl.store(y + at, tl.load(x + at, mask=mask) * factor + (TWICE // HALF), mask=mask)


@gpuemu.numba
def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


@cuda.jit
def turned(x, y):
    tile = cuda.shared.array((16, 17), float64)
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[i, j]
    cuda.syncthreads()
    if i < x.shape[0] and j < x.shape[1]:
        y[j, i] = tile[cuda.threadIdx.y, cuda.threadIdx.x]


@gpuemu.numba
def saxpy_wrong(x, y, a):
    i = cuda.grid(1)
    if i <= y.size:
        y[i] += a * x[i]  # FAULT saxpy_wrong x


def error(actual, wanted):
    return float(np.max(np.abs(actual - wanted)))


def found(name, call):
    """[kind, whether at the marked line, whether in the marked tensor]"""
    line, text = next((i, text) for i, text in enumerate(HERE, 1) if f"# FAULT {name} " in text)
    try:
        call()
    except gpuemu.KernelError as problem:
        first = problem.findings[0]
        return [first.kind, first.line == line and first.file == __file__, first.tensor == text.split()[-1],
                HERE[line - 1].strip() in str(problem)]
    return []


x, y = RNG.standard_normal(1000).astype(np.float32), RNG.standard_normal(1000).astype(np.float32)
out = np.zeros(1000, np.float32)
gpuemu.triton(add)[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)
saw["add"] = error(out, x + y)
saw["add_wrong"] = found("add_wrong", lambda: gpuemu.triton(add_wrong)[(4,)](x, y, out, 1000, BLOCK=256))

rows = RNG.standard_normal((7, 100)).astype(np.float32)
made = np.zeros_like(rows)
gpuemu.triton(softmax)[(7,)](rows, made, 100, BLOCK=128)
wanted = np.exp(rows.astype(np.float64))
saw["softmax"] = error(made, wanted / wanted.sum(axis=1, keepdims=True))
saw["softmax_wrong"] = found("softmax_wrong", lambda: gpuemu.triton(softmax_wrong)[(7,)](rows, made, 100, BLOCK=128))

for arch in ("sm_80", "sm_90"):
    a, b = RNG.standard_normal((70, 50)).astype(np.float16), RNG.standard_normal((50, 90)).astype(np.float16)
    c = np.zeros((70, 90), np.float32)
    size = (triton.cdiv(70, 32), triton.cdiv(90, 32))
    gpuemu.triton(matmul, arch=arch)[size](a, b, c, 70, 90, 50, M=32, N=32, K=32, num_warps=4)
    saw["matmul " + arch] = error(c, a.astype(np.float64) @ b.astype(np.float64))
    wrong = gpuemu.triton(matmul_wrong, arch=arch)
    saw["matmul_wrong"] = found("matmul_wrong", lambda: wrong[size](a, b, c, 70, 90, 50, M=32, N=32, K=32))

out[:] = 0
gpuemu.triton(tuned)[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
saw["tuned"] = error(out, 2 * x)

gpuemu.triton(ruled)[lambda meta: (triton.cdiv(1000, 2 * meta["HALF"]),)](x, out, 1000, np.float64(0.1))
saw["ruled"] = error(out, x * np.float32(0.1) + 4)

@triton.jit
def narrowed(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < 1000).to(tl.float8e4nv).to(tl.float32), mask=at < 1000)


gpuemu.triton(narrowed, arch="sm_90")[(4,)](x, out, BLOCK=256)
saw["narrowed"] = error(out, x) / float(np.abs(x).max())
total = y.copy()
saxpy[4, 256](x, total, np.float32(3))
saw["saxpy"] = error(total, y + 3 * x)
square, turn = RNG.standard_normal((30, 40)), np.zeros((40, 30))
gpuemu.numba(turned)[(2, 3), (16, 16)](square, turn)
saw["turned"] = error(turn, square.T)
saw["saxpy_wrong"] = found("saxpy_wrong", lambda: saxpy_wrong[4, 256](x, total, 3.0))

for name, call in {"no array": lambda: gpuemu.triton(add)[(4,)]("x", y, out, 1000, BLOCK=256),
                   "left out": lambda: gpuemu.triton(add)[(4,)](x, y, out, BLOCK=256),
                   "left out, with rules": lambda: gpuemu.triton(ruled)[(8,)](x, out, factor=2.0),
                   "no kernel": lambda: gpuemu.triton(error)[(4,)](x, y),
                   "fp8": lambda: gpuemu.triton(narrowed)[(4,)](x, out, BLOCK=256),
                   "numba, left out": lambda: saxpy[4, 256](x, total)}.items():
    try:
        call()
        saw[name] = "raised nothing"
    except gpuemu.LaunchError as problem:
        saw[name] = str(problem)
print(json.dumps(saw))
