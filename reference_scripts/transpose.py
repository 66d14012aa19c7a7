"""y = x transposed."""
import numpy as np


def reference(x):
    return np.ascontiguousarray(x.T)


def error_scale(x):
    return np.zeros(x.T.shape)
