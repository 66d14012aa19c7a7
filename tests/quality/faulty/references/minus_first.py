import numpy as np


def reference(x):
    return x - x[np.arange(x.size) // 32 * 32]


def error_scale(x):
    return np.abs(x) + np.abs(x[np.arange(x.size) // 32 * 32])
