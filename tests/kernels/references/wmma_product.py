"""Matrix product."""
import numpy as np


def reference(a, b):
    return np.asarray(a, np.float64) @ np.asarray(b, np.float64)


def error_scale(a, b):
    return np.abs(np.asarray(a, np.float64)) @ np.abs(np.asarray(b, np.float64))
