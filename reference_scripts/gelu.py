"""gelu(x) = x / 2 * erfc(-x / sqrt(2)), 0 at minus infinity."""
import math

import numpy as np

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def reference(x):
    with np.errstate(invalid="ignore"):
        y = 0.5 * x * _erfc(-x / math.sqrt(2.0))
    return np.where(np.isneginf(x), -0.0, y)


def error_scale(x):
    return np.maximum(np.abs(reference(x)), np.abs(x))
