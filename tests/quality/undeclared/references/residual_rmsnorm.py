import numpy as np


def reference(x, residual, w):
    s = x + residual
    return s, s / np.sqrt((s * s).mean(axis=1, keepdims=True) + 1e-6) * w
