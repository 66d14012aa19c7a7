"""y = a - b, with broadcasting. Integers wrap in their own type."""
import numpy as np

RAW = True  # The types that the kernel sees.


def wide(x):
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def reference(a, b):
    return wide(a) - wide(b)


def error_scale(a, b):
    return np.abs(reference(a, b).astype(np.float64))
