import numpy as np


def reference(x):
    rows, cols = x.shape
    p = np.pad(x, ((0, rows % 2), (0, cols % 2)), constant_values=-np.inf)
    return p.reshape(p.shape[0] // 2, 2, p.shape[1] // 2, 2).max(axis=(1, 3))
