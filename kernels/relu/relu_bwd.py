"""dx = dy where x is above 0 or NaN, else 0."""
import numpy as np


def reference(x, dy):
    return np.where(x <= 0, 0.0, dy)


def error_scale(x, dy):
    return np.zeros(x.shape)
