"""Running sums."""
import numpy as np


def reference(x):
    return np.cumsum(x, axis=1)


def error_scale(x):
    return np.cumsum(np.abs(x), axis=1)
