"""The baselines of emulator_bench: NumPy, numba's CUDA simulator at a smaller size, and Triton's
interpreter.

Prints "tool operation seconds scale" per line: the time of the whole operation is seconds * scale.
Without numba or triton it prints a line about that. Needs no GPU and no PyTorch.
"""
import math
import os
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed for this python: no baselines")
    sys.exit(0)

try:
    from numba import cuda, float32  # The simulator replaces the global `cuda` while a kernel runs.
except ImportError:
    cuda = None

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

N, ROWS, COLS, SIDE = 1 << 20, 512, 1025, 192


def least(work, runs):
    """Returns the processor time of the fastest run, measured like the emulator's."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def numpy_baselines():
    x = (np.arange(N) % 97 * 0.0625 - 3).astype(np.float32)
    y = x[::-1].copy()
    table = x[: ROWS * COLS].reshape(ROWS, COLS).copy()
    a, b = x[: SIDE * SIDE].reshape(SIDE, SIDE), y[: SIDE * SIDE].reshape(SIDE, SIDE)

    def gelu():
        inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
        return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))

    def softmax():
        e = np.exp(table - table.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    for name, work in [("vector_add", lambda: x + y), ("gelu", gelu), ("softmax", softmax),
                       ("matmul", lambda: a @ b)]:
        work()
        print("numpy", name, least(work, 50), 1)


def simulator_baselines():
    if cuda is None:
        print("numba is not installed for this python: the simulator is not run")
        return

    @cuda.jit
    def vector_add(a, b, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = a[i] + b[i]

    @cuda.jit
    def gelu(x, y):
        i = cuda.grid(1)
        if i < y.size:
            v = x[i]
            y[i] = 0.5 * v * (1.0 + math.tanh(0.7978845608 * (v + 0.044715 * v * v * v)))

    @cuda.jit
    def softmax(x, y):
        part = cuda.shared.array(64, float32)
        row, t = cuda.blockIdx.x, cuda.threadIdx.x
        most = -math.inf
        for i in range(t, x.shape[1], 64):
            most = max(most, x[row, i])
        part[t] = most
        cuda.syncthreads()
        for i in range(64):
            most = max(most, part[i])
        cuda.syncthreads()
        total = 0.0
        for i in range(t, x.shape[1], 64):
            total += math.exp(x[row, i] - most)
        part[t] = total
        cuda.syncthreads()
        total = 0.0
        for i in range(64):
            total += part[i]
        for i in range(t, x.shape[1], 64):
            y[row, i] = math.exp(x[row, i] - most) / total

    @cuda.jit
    def matmul(a, b, c):
        left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row, col = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
        total = 0.0
        for at in range(0, a.shape[1], 16):
            left[y, x] = a[row, at + x]
            right[y, x] = b[at + y, col]
            cuda.syncthreads()
            for i in range(16):
                total += left[y, i] * right[i, x]
            cuda.syncthreads()
        c[row, col] = total

    small = np.linspace(-3, 3, 1024, dtype=np.float32)
    out = np.zeros_like(small)
    table, rows = np.tile(small, (2, 1)), np.zeros((2, 1024), np.float32)
    tile = small.reshape(32, 32).copy()
    product = np.zeros_like(tile)
    for name, scale, work in [
            ("vector_add", N / 1024, lambda: vector_add[4, 256](small, small, out)),
            ("gelu", N / 1024, lambda: gelu[4, 256](small, out)),
            ("softmax", ROWS / 2, lambda: softmax[2, 64](table, rows)),
            ("matmul", (SIDE / 32) ** 3, lambda: matmul[(2, 2), (16, 16)](tile, tile, product))]:
        print("numba-simulator", name, least(work, 3), scale)


class HostTensor:
    """The parts of a PyTorch tensor that Triton's interpreter uses."""

    dtype = "fp32"

    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return (1,)

    def new_empty(self, *_, **__):
        return HostTensor(self.array)

    def set_(self, storage, *_):
        self.array = storage.array

    def copy_(self, other):
        """Does nothing, because the interpreter works on the same memory."""


def interpreter_baselines():
    if triton is None:
        print("triton is not installed for this python: its interpreter is not run")
        return
    from triton_kernels import gelu, softmax, vector_add

    @triton.jit
    def matmul(a, b, c, side: tl.constexpr, TILE: tl.constexpr):
        rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
        columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
        total = tl.zeros((TILE, TILE), dtype=tl.float32)
        for at in range(0, side, TILE):
            inner = at + tl.arange(0, TILE)
            left = tl.load(a + rows[:, None] * side + inner[None, :])
            right = tl.load(b + inner[:, None] * side + columns[None, :])
            total += tl.dot(left, right)
        tl.store(c + rows[:, None] * side + columns[None, :], total)

    def tensor(elements):
        return HostTensor((np.arange(elements) % 97 * 0.0625 - 3).astype(np.float32))

    x, y, out = tensor(N), tensor(N), tensor(N)
    for name, work in [
            ("vector_add", lambda: vector_add[(N // 1024,)](x, y, out, N, BLOCK=1024)),
            ("gelu", lambda: gelu[(N // 1024,)](x, out, N, BLOCK=1024)),
            ("softmax", lambda: softmax[(ROWS,)](x, out, COLS, BLOCK=2048)),
            ("matmul", lambda: matmul[(SIDE // 32, SIDE // 32)](x, y, out, SIDE, TILE=32))]:
        print("triton-interpreter", name, least(work, 3), 1)


numpy_baselines()
sys.stdout.flush()
simulator_baselines()
sys.stdout.flush()
interpreter_baselines()
