"""Kernels that ask for optimization at link time, one of them with a device function."""
import numpy as np
from numba import cuda


@cuda.jit(device=True, lto=True)
def twice(x):
    return x + x


@cuda.jit(lto=True)
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = twice(x[i])


@cuda.jit("void(float32[:])", lto=True)
def negate(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = -x[i]


x = cuda.to_device(np.arange(100, dtype=np.float32))
double[1, 128](x)
negate[1, 128](x)
assert (x.copy_to_host() == -2 * np.arange(100)).all()
print("passed")
