"""The other end of the row, with its tag."""
import numpy as np


def reference(a):
    r = a[:, ::-1]
    tag = np.arange(63, -1, -1, dtype=np.int32)
    return (r ^ (tag + r.astype(np.int16))).astype(np.int32)
