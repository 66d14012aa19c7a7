import numpy as np


def reference(x):
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def error_scale(x):
    return np.broadcast_to(np.abs(x).max(axis=1, keepdims=True) + 1 + np.log(x.shape[1]), x.shape)
