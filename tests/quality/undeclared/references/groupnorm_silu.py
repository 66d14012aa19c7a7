import numpy as np


def reference(x, w, b):
    groups = x.reshape(len(x), 4, -1)
    y = (groups - groups.mean(axis=2, keepdims=True)) / np.sqrt(groups.var(axis=2, keepdims=True) + 1e-5)
    y = y.reshape(x.shape) * w[:, None] + b[:, None]
    return y / (1 + np.exp(-y))
