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


@triton.jit
def softmax_2d(x, y, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, BLOCK)[None, :]
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(y + row * columns + at, e / tl.sum(e, axis=1)[:, None], mask=at < columns)


@triton.jit
def two_steps(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def joined(mean, squares, count, mean_2, squares_2, count_2):
    apart, total = mean_2 - mean, count + count_2
    part = tl.where(total == 0.0, 0.0, count_2 / total)
    return mean + apart * part, squares + squares_2 + apart * apart * count * part, total


@triton.jit
def normed(x, y, means, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    here = (at < columns)[None, :] & (row >= 0)[:, None]
    place = row[:, None] * columns + at[None, :]
    v = tl.load(x + place, mask=here, other=0.0)
    mean, squares, count = tl.reduce((v, tl.zeros((ROWS, BLOCK), tl.float32), here.to(tl.float32)), 1, joined)
    tl.store(means + row, mean)
    tl.store(y + place, (v - mean[:, None]) * tl.rsqrt(squares / count + 1e-5)[:, None], mask=here)


@triton.jit
def reversed_wrong(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1)
    tl.store(y + at, tl.load(x + BLOCK - 1 - at))  # FAULT reversed_wrong x


@triton.jit
def scattered_wrong(x, index, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + tl.load(index + at), tl.load(x + at))  # FAULT scattered_wrong y


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

# Threads that repeat the work of others: few elements for many warps.
for name, kernel, grid, columns, options in [("softmax in place", softmax, 7, 20, {"BLOCK": 32}),
                                             ("rows in place", softmax_2d, 2, 3, {"BLOCK": 4, "ROWS": 4})]:
    rows = RNG.standard_normal((8, columns)).astype(np.float32)
    wanted = np.exp(rows.astype(np.float64))
    wanted /= wanted.sum(axis=1, keepdims=True)
    done = grid * options.get("ROWS", 1)
    launched = gpuemu.triton(kernel)
    launched[(grid,)](rows, rows, columns, **options, num_warps=8)
    saw[name] = error(rows[:done], wanted[:done])
    saw["notes of " + name] = sorted({one.kind for one in launched.report.findings})
few = x[:20].copy()
launched = gpuemu.triton(two_steps)
launched[(1,)](few, 20, BLOCK=32, num_warps=4)
saw["two steps in place"] = error(few, (x[:20] + 1) * 2)
saw["notes of two steps in place"] = sorted({one.kind for one in launched.report.findings})
rows, means = RNG.standard_normal((8, 50)).astype(np.float32), np.zeros(8, np.float32)
launched = gpuemu.triton(normed)
launched[(2,)](rows, np.zeros_like(rows), means, 50, ROWS=4, BLOCK=64, num_warps=4)
saw["welford"] = error(means, rows.mean(axis=1, dtype=np.float64))
saw["notes of welford"] = sorted({one.kind for one in launched.report.findings})
some, others = x[:256].copy(), np.zeros(256, np.float32)
saw["reversed_wrong"] = found("reversed_wrong", lambda: gpuemu.triton(reversed_wrong)[(1,)](some, others, BLOCK=256))
saw["scattered_wrong"] = found("scattered_wrong", lambda: gpuemu.triton(scattered_wrong)[(1,)](
    some, np.repeat(np.arange(128, dtype=np.int32), 2), others, BLOCK=256))

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
