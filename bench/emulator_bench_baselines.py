"""What emulator_bench compares with: NumPy, and numba's CUDA simulator at a smaller size.

Prints "tool operation seconds scale" per line: the time of the whole operation is seconds * scale.
Without numba a line says so.
"""
import math
import os
import statistics
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
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

N, ROWS, COLS, SIDE = 1 << 20, 512, 1024, 128


def median(work, runs=5):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def numpy_baselines():
    x = (np.arange(N) % 97 * 0.0625 - 3).astype(np.float32)
    y = x[::-1].copy()
    table = x[: ROWS * COLS].reshape(ROWS, COLS)
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
        print("numpy", name, median(work), 1)


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
        print("numba-simulator", name, median(work, 2), scale)


numpy_baselines()
sys.stdout.flush()
simulator_baselines()
