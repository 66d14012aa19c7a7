"""Kernels of Triton and Numba on arrays with strides, which must be read and written where they lie. Prints one JSON object:
the largest error of each case, and what Triton specialises a call for."""
import json
import warnings

import gpuemu
import numpy as np
import triton
import triton.language as tl
from numba import cuda

saw = {}


@triton.jit
def twice(x, y, m, n, x0, x1, y0, y1, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask = (i < m) & (j < n)
    tl.store(y + i * y0 + j * y1, 2 * tl.load(x + i * x0 + j * x1, mask=mask), mask=mask)


@gpuemu.numba
def doubled(x, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = 2 * x[i, j]


@gpuemu.numba
def filled(x):
    x[()] = 7


launch = gpuemu.triton(twice)


def steps(array):
    return [one // array.itemsize for one in array.strides]


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


VIEWS = {
    "transposed": lambda: numbers(5, 7).T,
    "steps": lambda: numbers(20, 21)[1::3, 2::5],
    "backwards": lambda: numbers(6, 8)[::-1, ::-2],
    "broadcast": lambda: np.broadcast_to(numbers(1, 7), (5, 7)),
    "windows": lambda: np.lib.stride_tricks.sliding_window_view(numbers(12), 5),
    "middle": lambda: numbers(10, 10)[4:7, 3:8],
}  # fmt: skip
warnings.filterwarnings("error", message="the kernel changed")
for name, make in VIEWS.items():
    for language in ("triton", "numba"):
        x, storage = make(), np.full((20, 40), -1, np.float32)
        y = storage[18 : 18 - x.shape[0] : -1, 2 : 2 + 3 * x.shape[1] : 3]
        if language == "triton":
            launch[(1,)](x, y, *x.shape, *steps(x), *steps(y), M=32, N=32)
        else:
            doubled[(2, 2), (16, 16)](x, y)
        wrong = float(np.abs(y - 2 * x).max())
        y[...] = -1
        saw[f"{language} {name}"] = wrong + float((storage != -1).sum())

halves = numbers(8, 32)
before = halves.copy()
launch[(1,)](halves[:, :16], halves[:, 16:], 8, 16, 32, 1, 32, 1, M=32, N=32)
saw["triton halves"] = float(np.abs(halves[:, 16:] - 2 * before[:, :16]).max() + np.abs(halves - before)[:, :16].max())
doubled[(1, 2), (16, 16)](halves[:, 16:], halves[:, :16])
saw["numba halves"] = float(np.abs(halves[:, :16] - 4 * before[:, :16]).max())

alone = np.zeros(3, np.float32)
filled[1, 1](alone[1:2].reshape(()))
saw["numba no axes"] = float(np.abs(alone - [0, 7, 0]).max())

saw["specialised"] = {}
for name, x, y in (("packed", numbers(16, 16), numbers(16, 16)), ("transposed", numbers(16, 16).T, numbers(16, 16)),
                   ("an element behind", numbers(300)[1:257].reshape(16, 16), numbers(16, 16)),
                   ("16 bytes behind", numbers(300)[4:260].reshape(16, 16), numbers(16, 16))):  # fmt: skip
    launch[(1,)](x, y, 16, 16, *steps(x), *steps(y), M=16, N=16)
    expected = 2 * x
    assert np.array_equal(y, expected), name
    key = list(launch._compiled)[-1] if name == "packed" else next(one for one, kept in launch._compiled.items() if kept[0].ptx is launch.ptx)
    saw["specialised"][name] = {"ones": sorted(one for one, kind in key[0] if kind == "constexpr" and one not in "MN"),
                                "aligned": [key[0][i][0] for i in key[2]]}  # fmt: skip
print(json.dumps(saw))
