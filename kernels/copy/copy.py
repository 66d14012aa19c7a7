"""y = x."""
import numpy as np

RAW = True  # uint64 does not fit into int64.


def reference(**inputs):
    return inputs["x"]


def error_scale(x):
    return np.zeros(x.shape)
