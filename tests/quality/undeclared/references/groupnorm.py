import numpy as np


def reference(x, w, b):
    normal = (x - x.mean(axis=(2, 3), keepdims=True)) / np.sqrt(x.var(axis=(2, 3), keepdims=True) + 1e-5)
    return normal * w[None, :, :, None] + b[None, :, :, None]
