import numpy as np


def reference(x):
    scale = np.abs(x).max(axis=1, keepdims=True) / 127
    return np.where(scale > 0, np.rint(x / np.where(scale > 0, scale, 1)), 0)
