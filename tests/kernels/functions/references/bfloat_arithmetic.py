"""Sums, products and the larger of two."""
import numpy as np


def reference(x, y):
    return x + y, x * y, x * y + x, np.maximum(x * y + y, 0), np.fmax(-x, np.abs(y))
