"""c = a @ b."""
import numpy as np


def reference(a, b):
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b


def error_scale(a, b):
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(a) @ np.abs(b)
