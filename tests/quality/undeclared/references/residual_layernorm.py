import numpy as np


def reference(x, residual, w):
    s = x + residual
    return s, (s - s.mean(axis=1, keepdims=True)) / np.sqrt(s.var(axis=1, keepdims=True) + 1e-5) * w
