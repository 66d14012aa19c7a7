"""Sums and counts within groups of 32."""
import numpy as np


def reference(a):
    v = a & 7
    out = np.zeros((len(v), 4), np.int32)
    for begin in range(0, len(v), 32):
        w = v[begin:begin + 32]
        o = out[begin:begin + 32]
        o[:, 0] = w.sum()
        o[:, 1] = (w[:, None] == w[None, :]).sum(axis=1)
        o[:, 2] = (w & 1).sum()
        o[:16, 3], o[16:, 3] = (w[:16] > 3).sum(), (w[16:] > 3).sum()
    return out
