"""Rounded in a direction: within one unit of the nearest."""
import numpy as np


def reference(x, y):
    return x + y, x * y, x * y + 1, np.abs(x), x / y
