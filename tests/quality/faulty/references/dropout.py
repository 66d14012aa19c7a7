import numpy as np


def scrambled(v):
    v = (v ^ v >> 16) * 0x7feb352d & 0xffffffff
    v = (v ^ v >> 15) * 0x846ca68b & 0xffffffff
    return v ^ v >> 16


def reference(x, seed):
    keep = scrambled(np.arange(x.size, dtype="uint64") + np.uint64(seed)) & 1
    return np.where(keep != 0, 2 * x, 0)
