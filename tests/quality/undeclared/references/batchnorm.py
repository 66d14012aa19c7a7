import numpy as np


def reference(x, w, b):
    normal = (x - x.mean(axis=(0, 2), keepdims=True)) / np.sqrt(x.var(axis=(0, 2), keepdims=True) + 1e-5)
    return normal * w[:, None] + b[:, None]
