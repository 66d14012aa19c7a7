"""Sums of everything up to an element."""
import numpy as np


def reference(a):
    return np.cumsum(a & 1023, axis=1).astype(np.int32)
