import numpy as np


def reference(x):
    y = x.copy()
    for c in range(1, x.shape[1]):
        y[:, c] = 0.1 * x[:, c] + 0.9 * y[:, c - 1]
    return y
