"""Sums, products and quotients; a saturated NaN is 0."""
import numpy as np


def reference(x, y):
    return x + y, x * y, x * y + x, np.nan_to_num(np.clip(x * y + y, 0, 1)), x / y
