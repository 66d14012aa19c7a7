"""A kernel that forgets to compare its index with the size of the array."""
import numpy as np
from numba import cuda


@cuda.jit
def add_one(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + 1  # fault


def main():
    x = cuda.to_device(np.zeros(100, np.float32))  # allocated
    out = cuda.device_array_like(x)
    add_one[1, 128](x, out)  # launched
    cuda.synchronize()


main()
