"""dx = dy * (Phi(x) + x phi(x)) with the normal distribution Phi and its density phi."""
import math

import numpy as np

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def parts(x):
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    with np.errstate(invalid="ignore"):
        return 0.5 * _erfc(-x / math.sqrt(2.0)), np.where(density == 0, 0.0, x * density)


def reference(x, dy):
    share, moved = parts(x)
    return dy * (share + moved)


def error_scale(x, dy):
    # The rounding of x * x, magnified by exp.
    share, moved = parts(x)
    return np.abs(dy) * (share + np.abs(moved)) * (1.0 + np.where(np.isfinite(x), x, 0.0) ** 2)
