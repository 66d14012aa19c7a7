"""What stays after the early return."""
import numpy as np


def reference(a):
    v = a & 63
    return np.where(v < 5, -7, np.where(v < 20, v + 100, v)).astype(np.int32)
