"""dx = dy * (1 - y * y) of y = tanh(x)."""
import numpy as np


def reference(y, dy):
    return dy * (1.0 - y * y)


def error_scale(y, dy):
    return np.abs(dy) * (1.0 + y * y)
